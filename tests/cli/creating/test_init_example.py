"""``cms init --example``: the bakery and a site side by side, which know each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.creating.example_site import Example
from tests.programs.command_line import Cms, in_process
from tests.server.dev.session import running


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("example", Example)
def test_workspace_and_site_are_put_side_by_side(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Example
) -> None:
    monkeypatch.chdir(tmp_path)
    made = cms("init", "--example", example)
    assert (made.status, made.out.splitlines()[2]) == (0, "cd bakery")
    [client] = re.findall(r"dev workspace --types (\S+) ", made.out)
    bakery = tmp_path / "bakery"
    assert "export class Client" in (bakery / client).read_text(encoding="utf-8")
    assert "dev" in json.loads((bakery / "site" / "package.json").read_text())["scripts"]
    assert {"node_modules/", ".env"} <= {*(bakery / "site" / ".gitignore").read_text().splitlines()}
    assert not [*bakery.rglob("README.md")]
    monkeypatch.chdir(bakery / "workspace")
    assert cms("check").out == "ja: 7 not translated\nNo problems\n"
    assert "preview_url: http://localhost:" in (bakery / "workspace" / "apis" / "journal.yaml").read_text()


def test_the_site_has_the_key_that_cms_dev_has_each_time(cms: Cms, tmp_path: Path) -> None:
    made = cms("init", "--example", "astro", str(tmp_path / "b"), "--json")
    listed = json.loads(made.out)["files"]
    assert {"site/.env", "site/.gitignore", "workspace/workspace.yaml"} <= {*listed}
    settings = tmp_path / "b" / "site" / ".env"
    assert settings.stat().st_mode & 0o777 == 0o600
    [key] = re.findall(r"^CMS_KEY=(pq_\w[\w-]+)$", settings.read_text(), re.MULTILINE)
    assert key not in made.out
    with running(tmp_path / "b" / "workspace", tmp_path / "log") as session:
        assert session.get("/v1/komugi/breads", **{"X-API-KEY": key}).status == 200
        assert key in session.text()


def test_nothing_is_overwritten(cms: Cms, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine").touch()
    refused = cms("init", "--example", "nuxt", str(tmp_path))
    assert refused.status == 1
    assert "site already exists. Choose another directory: `cms init --example nuxt DIR`." in refused.err
    assert [file.name for file in tmp_path.rglob("*")] == ["site", "mine"]


def test_an_example_is_not_of_a_site_and_has_to_be_there(cms: Cms, tmp_path: Path) -> None:
    assert "--example and --from exclude each other." in cms("init", "--example", "nuxt", "--from", str(tmp_path)).err
    assert "'hugo' is not one of 'astro', 'nextjs', 'nuxt', 'sveltekit'" in cms("init", "--example", "hugo").err
