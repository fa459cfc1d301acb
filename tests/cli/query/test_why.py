"""``cms why``: each kind of reason by one command, as the server answers, and nothing that a key may not know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC
from pathlib import Path

import pytest

from engine.access.keys.access import AccessFile, issue_key
from snapshots.build.build import build
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms
from tests.programs.command_line import Cms, in_process
from tests.sites.served_site import serving

DEFINITIONS = {
    "workspace.yaml": "id: acme\ntimezone: Europe/Berlin\nlanguages: [en, de, ja]\n",
    "apis/posts.yaml": "uid: api_posts\nendpoint: posts\nkind: list\nmultilingual: true\n"
    "fields: [{id: title, type: text, required: true}]\n",
    "apis/people.yaml": "uid: api_people\nendpoint: people\nkind: list\nfields: [{id: title, type: text}]\n",
    "apis/site.yaml": "uid: api_site\nendpoint: site\nkind: object\nfields: [{id: title, type: text}]\n",
}
PUBLISHED = {
    "content/posts/hello.md": "",
    "content/posts/until.md": "publishEnd: 2099-01-10T09:00\n",
    "content/posts/launch.md": "status: scheduled\npublishStart: 2099-01-10T09:00\n",
    "content/posts/idea.md": "status: draft\n",
    "content/posts/sale.md": "publishEnd: 2026-07-01\n",
    "content/posts/hallo.de.md": "",
    "content/posts/both.md": "",
    "content/posts/both.de.md": "status: scheduled\npublishStart: 2099-03-28T09:00\n",
    "content/posts/gone.md": "",
    "content/people/mika.md": "",
}
"""Files, with what their front matter has beside a title and a date."""
LATER = {"content/posts/fresh.md": "", "content/posts/idea.md": "", "content/posts/broken.md": "status: Publishd\n"}
"""Files that are written after the build."""


def write(root: Path, files: dict[str, str]) -> None:
    for name, more in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        text = f"---\ntitle: T\ncreatedAt: 2026-01-01\n{more}---\ntext\n" if name.endswith(".md") else more
        (root / name).write_text(text, encoding="utf-8")


def git(root: Path, *command: str) -> None:
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    date = {"GIT_COMMITTER_DATE": "@1782900000 +0000", "GIT_CONFIG_GLOBAL": os.devnull}  # 1 Jul 2026, 10:00 UTC
    subprocess.run(["git", "-C", str(root), *command], env={**os.environ, **names, **date}, check=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a version, and changes that are not built; to be copied by tests that change it."""
    root = tmp_path_factory.mktemp("why") / "acme"
    write(root, DEFINITIONS | PUBLISHED)
    (root / ".gitignore").write_text(".cms\n")
    git(root.parent, "init", "-q", "acme")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "x")
    build(root, open_store(root / ".cms"), now=1_782_000_000_000)
    write(root, LATER)
    return root


@pytest.fixture
def cms(made: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(made)
    return in_process(monkeypatch, capsys)


ERROR = "content/posts/broken.md:4: error: status is 'Publishd'; it must be published, scheduled or draft"
NOT_BUILT = "but newer than the current snapshot version V, built 21 Jun 2026, 02:00 (Europe/Berlin)."
UNCOMMITTED = "is not committed, so builds from other checkouts, such as those of CI, do not have it."
REASONS: dict[str, tuple[int, str, list[str]]] = {
    "posts/hello": (0, "live", ["posts/hello is live in en."]),
    "posts/until": (0, "live", ["posts/until is live in en, until 10 Jan 2099, 09:00 (Europe/Berlin)."]),
    "posts/launch": (1, "scheduled", ["posts/launch is scheduled: live from 10 Jan 2099, 09:00 (Europe/Berlin)."]),
    "posts/sale": (1, "ended", ["posts/sale ended on 1 Jul 2026, 00:00 (Europe/Berlin)."]),
    "posts/idea": (
        1,
        "not_built",
        [
            f"posts/idea is in the files, at content/posts/idea.md:1, {NOT_BUILT}",
            "Nothing is built while there is this error:",
            ERROR,
            f"content/posts/idea.md {UNCOMMITTED}",
        ],
    ),
    "posts/fresh": (
        1,
        "not_built",
        [
            f"posts/fresh is in the files, at content/posts/fresh.md:1, {NOT_BUILT}",
            "Nothing is built while there is this error:",
            ERROR,
            f"content/posts/fresh.md {UNCOMMITTED}",
        ],
    ),
    "posts/broken": (1, "error", ["posts/broken was never built, because of this error:", ERROR]),
    "posts/hello?lang=de": (
        1,
        "other_language",
        ["posts/hello is live only in en, not in de: requests for de get it in en with lang_fallback=true."],
    ),
    "posts/hello?lang=de&lang_fallback=true": (
        0,
        "live",
        ["posts/hello is live in en: lang_fallback=true gives it to requests for de."],
    ),
    "posts/hallo": (1, "other_language", ["posts/hallo is live only in de, not in en: ask for it with lang=de."]),
    "posts/both?lang=de": (
        1,
        "scheduled",
        ["posts/both is scheduled in de: live from 28 Mar 2099, 09:00 (Europe/Berlin)."],
    ),
    "posts/launch?lang=de": (
        1,
        "other_language",
        [
            "posts/launch is not there in de.",
            "It is scheduled in en: live from 10 Jan 2099, 09:00 (Europe/Berlin).",
        ],
    ),
    "posts/helo": (
        1,
        "unknown",
        ['There is no entry "helo" of posts in the files or in the current snapshot version. Did you mean "hello"?'],
    ),
    "posts/mika": (
        1,
        "unknown",
        ['There is no entry "mika" of posts in the files or in the current snapshot version. There is people/mika.'],
    ),
    "site": (1, "unknown", ["site has no item in the files or in the current snapshot version."]),
    "site/x": (1, "unknown_api", ['"site" is an object API: it has no entries. Leave the ID off the path.']),
    "post/hello": (1, "unknown_api", ['Workspace "acme" has no API "post". Did you mean "posts"?']),
    "posts?filters=title[equals]T": (0, "live", ["posts?filters=title[equals]T is answered: 4 entries."]),
    "_schema": (0, "live", ["_schema is answered."]),
}
"""The exit status, the reason and the sentences for each target."""


@pytest.mark.parametrize("target", REASONS)
def test_one_command_says_the_reason(cms: Cms, target: str) -> None:
    status, reason, sentences = REASONS[target]
    ran = cms("why", target)
    assert (ran.status, ran.err) == (status, "")
    assert re.sub(r"\d{8}T\d{9}Z-[0-9a-f]{8}", "V", ran.out).splitlines() == sentences
    found = cms("why", target, "--json")
    assert (found.status, found.err) == (status, "")
    assert (found.json["live"], found.json["reason"]) == (status == 0, reason)
    assert found.json["explanation"] == ran.out.splitlines()


def test_what_has_errors_of_its_own_says_where_and_what_is_published(cms: Cms, made: Path) -> None:
    found = cms("why", "posts/broken", "--json").json
    assert found["errors"] == [{"file": "content/posts/broken.md", "line": 4, "message": ERROR.partition("error: ")[2]}]
    scheduled = cms("why", "posts/launch", "--json").json
    assert (scheduled["lang"], scheduled["from"], scheduled["until"]) == ("en", "2099-01-10T08:00:00.000Z", None)
    assert scheduled["version"] == open_store(made / ".cms").workspace("acme").versions()[0]


@pytest.fixture
def changed(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    """The command, in a copy of the workspace without errors that a test may change: ``tmp_path / "acme"``."""
    root = shutil.copytree(made, tmp_path / "acme")
    (root / "content/posts/broken.md").unlink()
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(root)
    return in_process(monkeypatch, capsys)


def test_the_server_answers_as_the_exit_status_says(cms: Cms, made: Path, tmp_path: Path) -> None:
    store = open_store(made / ".cms")
    access = AccessFile(store.workspace("acme"))
    key, text = issue_key(access, name="served", scope=frozenset({"api_posts", "api_site"}), now=now_ms(), zone=UTC)
    others = ["posts/hello?draftKey=wrong", "people/mika", "_views/posts?ids=hello"]
    with serving(store, tmp_path / "log", key=text) as server:
        for target in [*REASONS, *others]:
            answer = server.get(f"/v1/acme/{target}")
            assert answer.status in (200, 404)
            assert cms("why", target, "--key", key.prefix).status == int(answer.status != 200), target
            if not target.startswith("people"):
                without_key = REASONS[target][0] if target in REASONS else cms("why", target).status
                assert without_key == int(answer.status != 200), target


def test_git_and_the_store_say_what_became_of_it(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    (root / "content/posts/gone.md").unlink()
    (root / "content/posts/hello.md").write_text("---\ntitle: Another\ncreatedAt: 2026-01-01\n---\n")
    gone, hello = changed("why", "posts/gone"), changed("why", "posts/hello")
    assert (gone.status, hello.status) == (0, 0)
    assert gone.out.splitlines()[1:] == ["The files do not have it any more: the next build takes it offline."]
    [more] = hello.out.splitlines()[1:]
    assert more == "The files have changes of posts/hello that are not built: `cms snapshot build` publishes them."
    first = open_store(root / ".cms").workspace("acme").versions()[0]
    assert changed("snapshot", "build").status == 0
    assert changed("why", "posts/fresh").status == 0
    assert "content/posts/gone.md was deleted. Did you mean" not in changed("why", "posts/hello").out
    assert " content/posts/gone.md was deleted." in changed("why", "posts/gone").out
    git(root, "add", "-A")
    git(root, "commit", "-qm", "y")
    assert "content/posts/gone.md was deleted on 1 Jul 2026, 12:00 (Europe/Berlin)." in changed("why", "posts/gone").out
    assert changed("snapshot", "rollback").status == 0
    assert open_store(root / ".cms").workspace("acme").versions()[1] == first
    rolled = changed("why", "posts/fresh")
    assert re.fullmatch(r"It is held: \S+ went back from it on .* \(Europe/Berlin\)\.", rolled.out.splitlines()[1])
    assert rolled.status == 1
    assert "which was built later and is not current: `cms snapshot activate " in rolled.out
    assert changed("why", "posts/fresh", "--json").json["reason"] == "not_current"


def test_what_only_the_definitions_have_is_not_built(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    people = root / "apis/people.yaml"
    people.write_text(f"{people.read_text()}multilingual: true\n")
    write(root, {"apis/news.yaml": "uid: api_news\nendpoint: news\nkind: list\nfields: [{id: title, type: text}]\n"})
    write(root, {"content/news/first.md": ""})
    version = open_store(root / ".cms").workspace("acme").versions()[0]
    end = f"is in the files, but not in the current snapshot version {version}: `cms snapshot build` publishes it.\n"
    for target, what in (("news?limit=2", "The API news"), ("people/mika?lang=de", "The language de of people")):
        ran = changed("why", target)
        assert (ran.status, ran.out) == (1, f"{what} {end}")
    assert changed("why", "news/first").out.startswith(
        "news/first is in the files, at content/news/first.md:1, but newer"
    )
    assert changed("why", "news/fist").out.endswith('Did you mean "first"?\n')
    for target in ("people/mika?lang=xx", "posts/hello?depth=7"):
        ran = changed("why", target)
        assert (ran.status, ran.out) == (1, "")
        assert ran.err.startswith("error: ")


def test_a_definition_that_cannot_be_read_is_an_error_of_all_its_entries(changed: Cms, tmp_path: Path) -> None:
    (tmp_path / "acme/apis/posts.yaml").write_text("uid: api_posts\nendpoint: posts\nkind: lst\nfields: []\n")
    fresh, launch, hello = (changed("why", f"posts/{entry}") for entry in ("fresh", "launch", "hello"))
    assert fresh.out.startswith("posts/fresh was never built, because of ")
    assert "apis/posts.yaml:3: error: " in fresh.out
    assert launch.out.startswith("posts/launch is scheduled: live from 10 Jan 2099")
    assert "What the files say now is not built" in launch.out
    assert (fresh.status, launch.status, hello.status) == (1, 1, 0)
    assert changed("why", "people/mika").out == "people/mika is live in en.\n"
    (tmp_path / "acme/workspace.yaml").write_text("id: acme\nlanguages: en\n")
    assert "workspace.yaml:2: error: " in changed("why", "posts/fresh").out


def test_warnings_that_are_errors_here_keep_all_from_being_built(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    definition = root / "workspace.yaml"
    definition.write_text(f"{definition.read_text()}strict: [translations]\n")
    (root / "content/posts/both.md").write_text("---\ntitle: Another\ncreatedAt: 2026-01-01\n---\n")
    older = "content/posts/both.de.md:1: error: 1 translation into de is older than the original in en: posts/both"
    assert older in changed("snapshot", "build").err
    assert changed("why", "posts/fresh").out.splitlines()[1:3] == ["Nothing is built while there is this error:", older]
    both = changed("why", "posts/both?lang=de")
    assert both.out == "posts/both is scheduled in de: live from 28 Mar 2099, 09:00 (Europe/Berlin).\n"
    assert changed("why", "posts/both").out.splitlines()[1:] == [
        "The files have changes of posts/both that are not built.",
        "Nothing is built while there is this error:",
        older,
    ]


def test_files_that_look_like_the_entry_are_named(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    posts = root / "apis/posts.yaml"
    posts.write_text(f"{posts.read_text()}exclude: ['**/left-out.md']\nhidden: [private]\n")
    files = {
        "content/posts/tea.md.txt": "x",
        "content/posts/left-out.md": "",
        "content/posts/own.md": "private: true\n",
    }
    write(root, files)
    said = {entry: changed("why", f"posts/{entry}").out.splitlines() for entry in ("tea", "left-out", "own", "none")}
    for entry, file in (("tea", "tea.md.txt"), ("left-out", "left-out.md")):
        assert said[entry][1:] == [
            f"content/posts/{file} is not read: its name has no ending of content, or no API's `source` has it."
        ]
    assert said["own"][1:] == [
        "content/posts/own.md gives no entry: either it is empty, or the definition of posts leaves it out."
    ]
    assert said["none"][1:] == []


def test_a_draft_beside_what_is_live_is_told(changed: Cms, tmp_path: Path) -> None:
    write(tmp_path / "acme", {"content/posts/hello.draft.md": ""})
    assert changed("snapshot", "build").status == 0
    assert changed("why", "posts/hello").out.splitlines() == [
        "posts/hello is live in en.",
        "It has unpublished changes too, as a draft, which only its preview shows.",
    ]


def test_another_address_of_the_server_is_no_change(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    posts = root / "apis/posts.yaml"
    posts.write_text(posts.read_text().replace("required: true}", "required: true}, {id: cover, type: image}"))
    (root / "content/posts/dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"/>')
    write(root, {"content/posts/hello.md": "cover: dot.svg\n"})
    assert changed("snapshot", "build", "--public-url", "https://cms.example").status == 0
    # As `cms dev` does it, which has builds of its own, and the cache of this store.
    build(root, Store(tmp_path / "dev", root / ".cms" / ".cache"), now=now_ms(), public_url="http://127.0.0.1:8787")
    for _ in range(2):
        assert changed("why", "posts/hello").out == "posts/hello is live in en.\n"
    write(root, {"content/posts/hello.md": "cover: dot.svg\nupdatedAt: 2026-02-02\n"})
    assert "changes of posts/hello that are not built" in changed("why", "posts/hello").out


def test_where_nothing_is_published_the_files_say_it(changed: Cms, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "acme" / ".cms")
    nothing = f"Nothing of this workspace is published yet: {tmp_path}/acme/.cms has no current snapshot version."
    said = {
        "posts/hello": ["posts/hello is in the files, at content/posts/hello.md:1, but nothing is published yet. "
                        "`cms snapshot build` publishes it."],
        "posts/launch": ["posts/launch is scheduled: live from 10 Jan 2099, 09:00 (Europe/Berlin).",
                         "So says content/posts/launch.md:1, but nothing is published yet. `cms snapshot build` "
                         "publishes it.", nothing],
        "posts/helo": ['There is no entry "helo" of posts in the files. Did you mean "hello"?', nothing],
        "posts": [nothing],
    }  # fmt: skip
    for target, sentences in said.items():
        ran = changed("why", target)
        assert (ran.status, ran.out.splitlines()) == (1, sentences)
    assert changed("why", "posts/hello", "--key", "web").status == 1


def test_an_old_id_leads_to_the_present_one_but_not_with_a_key(changed: Cms, tmp_path: Path) -> None:
    write(tmp_path / "acme", {"content/posts/hello.md": "aliases: [before, /old]\n", "content/posts/idea.md": ""})
    nowhere = "of posts in the files or in the current snapshot version."
    said = changed("why", "posts/before")
    assert (said.status, said.out) == (
        1,
        f'There is no entry "before" {nowhere} It is an old ID of "hello": requests need the present one.\n',
    )
    with_key = {one: changed("why", f"posts/{one}", "--key", "web") for one in ("before", "nobody")}
    assert with_key["before"].status == with_key["nobody"].status == 1
    assert with_key["before"].out == with_key["nobody"].out.replace("nobody", "before")


def test_another_instant(cms: Cms) -> None:
    assert cms("why", "posts/launch", "--at", "2099-01-10T09:00").status == 0
    before = cms("why", "posts/launch", "--at", "2099-01-10T08:59:59.999")
    assert (before.status, before.out) == (1, f"{REASONS['posts/launch'][2][0]}\n")
    assert "ended on 10 Jan 2099, 09:00" in cms("why", "posts/until", "--at", "2099-01-10T09:00").out


def test_an_error_of_another_entry_in_the_same_file(changed: Cms, tmp_path: Path) -> None:
    lines = ['{"id": "one", "title": "One"}', '{"id": "two", "title": 2, "publishStart": "soon"}', '{"id": "three"}']
    (tmp_path / "acme/content/posts.jsonl").write_text("\n".join(lines) + "\n")
    reasons = {one: changed("why", f"posts/{one}", "--json").json for one in ("one", "two", "three")}
    assert {one: found["reason"] for one, found in reasons.items()} == {
        "one": "not_built",
        "two": "error",
        "three": "error",
    }
    assert {error["line"] for error in reasons["two"]["errors"]} == {2}
    assert {error["line"] for error in reasons["three"]["errors"]} == {3}


def test_a_text_that_is_no_yaml_is_an_error_of_the_entry_that_its_file_names(changed: Cms, tmp_path: Path) -> None:
    (tmp_path / "acme/content/posts/torn.md").write_text("---\ntitle: [\n---\n")
    ran = changed("why", "posts/torn")
    assert (ran.status, ran.out.splitlines()[0]) == (1, "posts/torn was never built, because of this error:")
    assert "content/posts/torn.md:" in ran.out


UNPUBLISHED = {
    "embargoed": "status: scheduled\npublishStart: 2099-01-10T09:00\n",
    "draft": "status: draft\n",
    "ended": "publishEnd: 2026-06-01\n",
    "unknown": None,
}


@pytest.mark.slow
def test_a_key_is_told_nothing_of_what_is_not_published(changed: Cms, tmp_path: Path) -> None:
    root = tmp_path / "acme"
    assert changed("key", "create", "web", "--api", "posts").status == 0
    asked = [
        [command, target, "--key", "web", *json]
        for command in ("why", "query")
        for target in ("posts/secret", "posts/secret?lang=de&lang_fallback=true", "people/secret", "nothing/secret")
        for json in ([], ["--json"])
    ]
    told = {}
    for state, more in UNPUBLISHED.items():
        for folder, lang in (("posts", ""), ("posts", ".de"), ("people", "")):
            path = root / f"content/{folder}/secret{lang}.md"
            path.unlink(missing_ok=True)
            if more is not None:
                write(root, {str(path.relative_to(root)): more})
        assert changed("snapshot", "build").status == 0
        told[state] = [changed(*command) for command in asked]
        # In the files, it makes no difference either.
        write(root, {"content/posts/secret.md": "", "content/posts/secret.de.md": "status: wrong\n"})
        assert [changed(*command) for command in asked[::2]] == told[state][::2]
        assert changed("why", "posts/secret").out != told["embargoed"][0].out
    assert told["draft"] == told["ended"] == told["unknown"] == told["embargoed"]
    first = told["unknown"][0]
    assert (first.status, first.err) == (1, "")
    assert first.out.splitlines() == [
        "This key gets no posts/secret: there is none, or it is not live now.",
        "Leave out --key to be told which.",
    ]
    assert {ran.status for ran in told["unknown"]} == {1}


def test_a_key_is_told_what_it_may_read(changed: Cms) -> None:
    assert changed("key", "create", "web", "--api", "posts").status == 0
    live = changed("why", "posts/hello?lang=de", "--key", "web")
    assert (live.status, live.out.splitlines()) == (1, REASONS["posts/hello?lang=de"][2])
    assert changed("why", "posts/hallo", "--key", "web", "--json").json["live"] is False
    near = changed("why", "posts/helo", "--key", "web").out
    assert near.startswith('This key gets no posts/helo: there is none, or it is not live now. Did you mean "hello"?')
    assert "launch" not in changed("why", "posts/lunch", "--key", "web").out
    scope = [changed("why", target, "--key", "web") for target in ("people/mika", "people")]
    assert [ran.out for ran in scope] == 2 * [
        'Workspace "acme" has no API "people", or the key may not read it. There are: posts.\n'
    ]


def test_a_query_says_what_the_store_knows_and_answers_as_before(cms: Cms, made: Path) -> None:
    version = open_store(made / ".cms").workspace("acme").versions()[0]
    ran = cms("query", "posts/launch", "--json")
    assert (ran.status, ran.json) == (1, {"error": 'There is no "launch" in "posts" published in "en" now.'})
    assert ran.err.splitlines() == [
        REASONS["posts/launch"][2][0],
        f"So says snapshot version {version} in {made}/.cms.",
        'error: There is no "launch" in "posts" published in "en" now.',
    ]
    # What only the files know is not said.
    assert "fresh.md" not in cms("query", "posts/fresh").err
    assert cms("query", "posts/idea").err.splitlines()[0] == "posts/idea is a draft."
    assert cms("query", "posts/hello").err == ""
    wrong = cms("query", "posts/hello?draftKey=wrong")
    assert wrong.err == 'error: There are no unpublished changes of "hello" in "posts" that this draft key opens.\n'
