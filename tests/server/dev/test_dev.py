"""``cms dev``: a real process that builds on every save and serves, its page, and how it ends."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from unittest.mock import ANY
from urllib.parse import urljoin

import pytest

from cli.serving.dev import Screen
from engine.access.keys.access import AccessFile, issue_key
from server.dev.builds import Builds, Built
from server.dev.unpublished import unpublished
from snapshots.build.build import build
from snapshots.store.store import open_store
from tests.programs.command_line import BLOG, entry, write_workspace
from tests.server.dev.session import Session, running
from tests.sites.served_site import DEADLINE, Answer, eventually

NOW = 1_780_000_000_000
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    directory = tmp_path_factory.mktemp("dev")
    root = write_workspace(directory / "site")
    (root / "content/blog/odd.md").write_text(entry('"<script>alert(1)</script> & more"'), encoding="utf-8")
    for number in range(60):
        (root / f"content/authors/a{number:02}.yaml").write_text(f"name: A{number}\ncreatedAt: 2025-01-01\n")
    with running(root, directory / "output") as started:
        yield started


def test_a_save_is_served_a_mistake_is_shown_and_the_last_good_version_stays(session: Session) -> None:
    assert session.title() == "One"
    session.save("content/blog/one.md", entry("Uno"))
    assert session.title() == "Uno"

    session.save("content/blog/one.md", entry("Ein", "rating: many\n"))
    assert session.title() == "Uno"
    problem = "content/blog/one.md:4: error: rating: "
    eventually(lambda: problem in session.text())  # the page tells of a build before the terminal does
    page = session.page()
    assert "Not built" in page.css_first(".status").text()
    [shown] = [item.text(separator=" ") for item in page.css(".problems li")]
    assert shown.startswith("content/blog/one.md:4")
    assert "error" in shown

    session.save("content/blog/one.md", entry("Eins"))
    assert session.title() == "Eins"
    assert session.page().css_first(".problems") is None


def test_breaking_changes_are_served_and_shown_until_they_are_taken_back(session: Session) -> None:
    session.save("apis/blog.yaml", BLOG.replace(", required: true", ""))
    eventually(lambda: "apis/blog.yaml:7: breaking: blog: " in session.text())
    [shown] = [item.text(separator=" ") for item in session.page().css(".problems li")]
    assert "no longer required" in shown
    session.save("content/blog/two.md", entry("Two"))
    assert session.page().css_first(".badge.breaking") is not None
    session.save("apis/blog.yaml", BLOG)
    assert session.page().css_first(".badge.breaking") is None


def test_a_log_says_once_where_things_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    builds = Builds(tmp_path, open_store(tmp_path / "store"), lambda _: None)
    screen = Screen("site", "http://x", builds)
    failed, built = Built(), Built(workspace="site", failure="no room")
    for one in (failed, failed, built, failed, built):
        if one is built:
            builds.keys["site"] = "pq_key"
        screen.show(one)
    said = capsys.readouterr().out
    assert (said.count("Watching"), said.count("http://x/v1/site"), said.count("pq_key")) == (2, 1, 1)


def test_only_a_few_versions_are_kept(session: Session) -> None:
    for number in range(6):
        session.save("content/authors/mika.yaml", f"name: Mika {number}\ncreatedAt: 2026-01-01\n")
    place = unpublished(open_store(session.root / ".cms")).workspace("site")
    eventually(lambda: len(place.versions()) <= 4)
    assert [place.manifest(version).full for version in place.versions()] == [False] * len(place.versions())
    assert not any(place.verify(version) for version in place.versions())


def test_the_page_lists_states_and_links_what_they_are(session: Session) -> None:
    session.save("content/blog/two.md", entry("Two", "status: scheduled\npublishStart: 2126-01-01T00:00:00Z\n"))
    page = session.page("/?api=blog")
    rows = {
        (
            row.css_first("code").text(),
            row.css_first('[data-label="Language"]').text(),
            row.css_first(".badge").text(),
        ): row
        for row in page.css(".entries tbody tr")
    }
    assert set(rows) == {
        ("one", "en", "live"),
        ("one", "de", "live"),
        ("odd", "en", "live"),
        ("two", "en", "scheduled"),
        ("two", "en", "draft"),
    }
    assert rows["two", "en", "scheduled"].css_first("time").attributes["datetime"] == "2126-01-01T00:00:00.000Z"

    def answer(key: tuple[str, str, str]) -> Answer:
        link = rows[key].css_first('[data-label="Open"] a').attributes["href"]
        assert link is not None
        return session.get(link)

    assert answer(("one", "de", "live")).json["title"] == "Eins"
    assert answer(("two", "en", "draft")).json["title"] == "Two, rewritten"
    assert rows["two", "en", "scheduled"].css_first('[data-label="Open"] a') is None
    for query in (
        "state=draft&lang=en&id=TW",
        "q=REWRITTEN",
        "filters=title[contains]two[and]id[equals]two&state=draft",
    ):
        [only] = session.page(f"/?api=blog&{query}").css(".entries tbody tr")
        assert (only.css_first("code").text(), only.css_first(".badge").text()) == ("two", "draft")
    wrong = session.page("/?api=blog&filters=title[is]x")
    assert "title[is]x" in wrong.css_first("[role=alert]").text()
    assert len(wrong.css(".entries tbody tr")) == len(rows)


def test_content_is_text_on_the_page(session: Session) -> None:
    asked = session.page("/?api=blog&id=%3Cb%3E%22").css_first("input[name=id]")
    assert asked.attributes["value"] == '<b>"'
    body = session.get("/?api=blog").body
    assert b"&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in body
    assert b"<script>alert" not in body


def test_many_entries_come_in_pages(session: Session) -> None:
    first = session.page("/?api=authors")
    assert len(first.css(".entries tbody tr")) == 50
    [following] = [link.attributes["href"] for link in first.css(".pager a") if link.text() == "Next"]
    assert following is not None
    second = session.page(following)
    assert len(second.css(".entries tbody tr")) == 11
    assert "51 to 61 of 61" in second.css_first("caption").text()
    assert "51 to 61 of 61" in session.page("/?api=authors&page=999999").css_first("caption").text()
    for nonsense in ("page=0", "page=-1", "page=x", "page=9999999999", "state=x", "lang=x", "api=x", "a=%ff"):
        assert session.get(f"/?{nonsense}").status == 200


@pytest.mark.parametrize("path", ["/", "/_dev/state", "/_dev/v1/site/blog", "/v1/site/blog", "/healthz"])
def test_only_this_machine_is_answered(session: Session, path: str) -> None:
    """A page elsewhere can lead its own name to 127.0.0.1, and then sends that name."""
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "127.0.0.1@evil.example"):
        assert session.get(path, Host=host).status == 403
    for host in ("localhost", "LOCALHOST:1", "[::1]:8787", "127.0.0.1"):
        assert session.get(path, Host=host).status in (200, 401)


@pytest.mark.parametrize(
    "path", ["/", "/_dev/state", "/_dev/-/files/dev.js", "/_dev/v1/site/blog", "/_dev/v1/site/nothing"]
)
def test_no_other_site_may_read_or_embed(session: Session, path: str) -> None:
    answer = session.get(path, Origin="https://evil.example")
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"


def test_nothing_is_asked_of_elsewhere(session: Session) -> None:
    page = session.page("/?api=blog")
    for tag, attribute in (("link", "href"), ("script", "src"), ("img", "src"), ("form", "action")):
        for found in page.css(tag):
            assert urljoin("http://here/", found.attributes[attribute]).startswith(("http://here/", "data:"))
    for name in ("console.css", "dev.js", "frames.js"):
        body = session.get(f"/_dev/-/files/{name}").body
        assert len(body) > 500
        assert b"//" not in re.sub(rb"^\s*//.*$| // .*$", b"", body, flags=re.M)
    assert session.get("/_dev/-/files/../../site.py").status == 404
    assert session.get("/_dev/../site.py").status == 404
    assert session.get("/_dev/").status == 404
    assert session.get("/", "POST").status == 405


def tree(directory: Path) -> dict[str, bytes]:
    """Every file of a store but those that can be made again and those of ``cms dev``."""
    files = (file for file in directory.rglob("*") if file.is_file())
    return {str(file): file.read_bytes() for file in files if not {".cache", ".dev"} & set(file.parts)}


@pytest.mark.slow
def test_nothing_of_it_is_published(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "site")
    store = open_store(root / ".cms")
    place = store.workspace("site")
    versions = []
    for number, title in enumerate(("First", "Second", "Third")):
        (root / "content/blog/one.md").write_text(entry(title), encoding="utf-8")
        versions.append(build(root, store, now=NOW + number).version)
    issue_key(AccessFile(place.directory), name="app", scope=None, now=NOW, zone=UTC, validity="none")
    before = tree(root / ".cms")
    with running(root, tmp_path / "output") as session:
        assert session.title() == "Third"
        for number in range(5):
            session.save("content/blog/one.md", entry(f"Half a sent{number}"))
        assert session.title() == "Half a sent4"
        assert tree(root / ".cms") == before
        assert place.prune(2) == ([versions[0]], ANY)
        assert session.title() == "Half a sent4"
        assert place.rollback(by="test", now=NOW).version == versions[1]
        session.save("content/blog/one.md", entry("More"))
        assert session.title() == "More"
        assert place.versions() == versions[:0:-1]
    assert store.workspaces() == ["site"]
    with running(root, tmp_path / "output") as session:
        assert session.title() == "More"


def test_only_what_a_build_reads_makes_it_build(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "site")
    (root / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (root / "shared").mkdir()
    (root / "shared" / "linked.md").write_text(entry("Linked"), encoding="utf-8")
    (root / "content/blog/linked.md").symlink_to(root / "shared" / "linked.md")
    with running(root, root / "dev.json") as session:
        before = session.build_number()
        for name in (
            "notes.md",
            "dev.log",
            "content/blog/picture.png",
            "content/blog/.one.md.swp",
            "apis/old.txt",
            "x.yaml",
        ):
            (root / name).write_text(name, encoding="utf-8")
        (root / "elsewhere").mkdir()
        (root / "elsewhere" / "one.md").write_text(entry("No"), encoding="utf-8")
        time.sleep(1)
        assert session.build_number() == before
        (root / "elsewhere").rename(root / "content/blog/below")
        eventually(lambda: session.build_number() == before + 1)
        session.save("shared/linked.md", entry("Linked again"))
        (root / "content/blog/below/one.md").unlink()
        eventually(lambda: session.build_number() == before + 3)
        session.save("apis/blog.yaml", "kind: nonsense\n")
        session.save("apis/blog.yaml", BLOG)
        session.save("content/blog/three.fr.md", entry("Trois"))
        assert session.build_number() == before + 6


def test_a_file_that_a_text_names_makes_it_build(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "site")
    pictures = "uid: api_p\nendpoint: pictures\nkind: list\nfields: [{id: body, type: richtext}]\n"
    (root / "apis/pictures.yaml").write_text(pictures, encoding="utf-8")
    (root / "content/pictures").mkdir()
    with running(root, tmp_path / "output") as session:
        session.save("content/pictures/one.md", "---\ncreatedAt: 2026-01-01\n---\n![x](new.png)\n")
        before = session.build_number()
        for text in ("one", "two"):
            (root / "content/pictures/new.png").write_text(text, encoding="utf-8")
            before += 1
            eventually(lambda expected=before: session.build_number() == expected)


@pytest.mark.parametrize(
    "how", [signal.SIGINT, *(pytest.param(how, marks=pytest.mark.slow) for how in (signal.SIGTERM, signal.SIGHUP))]
)
def test_it_ends_cleanly_and_has_its_key_again_the_next_time(tmp_path: Path, how: signal.Signals) -> None:
    root = write_workspace(tmp_path / "site")
    (root / "apis/blog.yaml").write_text("kind: nonsense\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    place = root / ".cms/.dev/site"
    with running(root, tmp_path / "output", from_nothing=True) as session:
        page = session.page()
        assert "Nothing is served yet" in page.css_first(".status").text()
        assert "apis/blog.yaml" in page.css_first(".problems").text()
        session.save("apis/blog.yaml", BLOG)
        session.save("content/blog/one.md", entry("Again"))
        assert session.title() == "Again"
        assert (place / "key").read_text() == f"{session.key()}\n"
        assert (place / "key").stat().st_mode & 0o777 == 0o600
        ignored = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=root, capture_output=True, check=True)
        assert b".cms" not in ignored.stdout
        session.process.send_signal(how)
        assert session.process.wait(DEADLINE) == 0
        text = session.text()
        assert len(re.findall(r"pq_\w{12,}", text)) == 1
        assert "\x1b" not in text
        assert "Traceback" not in text
    key = session.key()
    (place / "key").chmod(0o644)
    with running(root, tmp_path / "output") as session:
        assert session.key() == key
        assert session.title() == "Again"
    assert (place / "key").stat().st_mode & 0o777 == 0o600
    (place / "key").write_bytes(b"\xff")
    with running(root, tmp_path / "output") as session:
        assert session.key() != key
        assert session.title() == "Again"
    keys = AccessFile(place).read()
    assert keys is not None
    assert [key.name for key in keys.keys] == ["cms dev"]


def test_what_has_errors_can_be_left_out(tmp_path: Path) -> None:
    root = write_workspace(tmp_path / "site")
    (root / "content/blog/one.md").write_text(entry("One", "rating: many\n"), encoding="utf-8")
    with running(root, tmp_path / "output", "--lenient") as session:
        rows = session.page("/?api=blog&lang=de").css(".entries tbody tr")
        assert [row.css_first("code").text() for row in rows] == ["one"]
        assert session.get("/_dev/entry?api=blog&id=one&lang=en").status == 404
        assert "content/blog/one.md:4: warning: rating: " in session.text()
        session.save("content/blog/one.md", entry("Mended"))
        assert session.title() == "Mended"
        eventually(lambda: "none new, 1 gone: no problems" in session.text())
        session.save("content/blog/two.md", entry("Two", "rating: more\n"))
        eventually(lambda: "content/blog/two.md:4: warning: rating: " in session.text())
        assert session.text().count("content/blog/one.md") == 1


@pytest.mark.slow
def test_a_browser_shows_the_next_build_by_itself(session: Session) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 390, "height": 844})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"http://{session.host}/?api=blog")
        session.save("content/blog/one.md", entry("Seen in the browser"))
        page.get_by_text("Seen in the browser").wait_for(timeout=DEADLINE * 1000)
        session.save("content/blog/one.md", entry("No", "rating: many\n"))
        page.get_by_text("Not built").first.wait_for(timeout=DEADLINE * 1000)
        session.save("content/blog/one.md", entry("Mended"))
        page.get_by_text("Mended").wait_for(timeout=DEADLINE * 1000)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name="Mended").click()
        page.get_by_role("heading", name="Mended").wait_for()
        session.save("content/blog/one.md", entry("Mended again"))
        page.get_by_role("heading", name="Mended again").wait_for(timeout=DEADLINE * 1000)
        page.get_by_label("JSON of one, en").click()
        assert "Mended again" in page.inner_text("body")
        assert complaints == []
        browser.close()


def test_the_log_says_how_far_languages_are_behind(session: Session) -> None:
    def said() -> list[int]:
        return [int(count) for count in re.findall(r"^de: ([0-9]+) not translated$", session.text(), re.MULTILINE)]

    [*_, before] = said()
    session.save("content/blog/three.md", entry("Three"))
    eventually(lambda: said()[-1] == before + 1)
    times = len(said())
    session.save("content/blog/three.md", entry("Three, again"))
    session.save("content/blog/three.de.md", entry("Drei"))
    eventually(lambda: said()[-1] == before)
    assert len(said()) == times + 1
