"""``cms dev --types``: the typed client of an application, kept as the definitions are."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshots.store.store import open_store
from tests.programs.command_line import BLOG, Cms, entry, in_process, write_workspace
from tests.server.dev.session import Session, running
from tests.sites.served_site import eventually


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "language"), [("content.ts", "typescript"), ("content.py", "python")])
def test_it_is_what_the_command_prints_and_changes_with_the_definitions(
    tmp_path: Path, cms: Cms, name: str, language: str
) -> None:
    root = write_workspace(tmp_path / "site")
    file = tmp_path / name

    def printed() -> str:
        store = root / ".cms/.dev"
        assert open_store(store).workspaces() == ["site"]
        return cms("types", language, "--client", "--store", store).out

    with running(root, tmp_path / "output", "--types", str(file)) as session:
        eventually(lambda: said(session) == 1)
        assert file.read_text(encoding="utf-8") == printed()
        assert file.stat().st_mode & 0o777 == 0o644
        file.chmod(0o664)
        before = file.stat()

        session.save("content/blog/one.md", entry("Uno"))
        session.save("apis/blog.yaml", "kind: nonsense\n")
        session.save("apis/blog.yaml", BLOG.replace("id: rating", "id: stars"))
        eventually(lambda: said(session) == 2)
        assert "stars" in file.read_text(encoding="utf-8")
        assert file.read_text(encoding="utf-8") == printed()
        assert file.stat().st_mode == before.st_mode
        assert [found.name for found in tmp_path.iterdir() if found.name.startswith(".")] == []
        before = file.stat()
    with running(root, tmp_path / "output", "--types", str(file)) as session:
        assert file.stat() == before
        file.unlink()
        file.mkdir()
        session.save("content/blog/one.md", entry("Due"))
        eventually(lambda: "warning: The types are not written: cannot" in session.text())
        assert session.title() == "Due"


def said(session: Session) -> int:
    """How often it was said that the file was written."""
    return session.text().count("Wrote ")


def test_what_cannot_be_written_is_refused_at_the_start(tmp_path: Path, cms: Cms) -> None:
    root = write_workspace(tmp_path / "site")
    for file, why in (
        (tmp_path / "content.go", "its name has to end in .ts, .mts or .py"),
        (tmp_path / "nowhere/content.ts", "nowhere is no directory"),
        (tmp_path, "is a directory"),
    ):
        refused = cms("dev", root, "--types", file)
        assert refused.status == 2
        assert why in " ".join(refused.err.split())
    assert not (root / ".cms").exists()
