"""The reference pages: every file, command, request and table of values in them is tried.

A fenced block with a ``title`` is a file; ``console`` blocks are commands with what they print; ``http`` blocks are
requests, each with its answer in the block after it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from httpx2 import Client, Response
from starlette.testclient import TestClient

from cli.creating.examples import EXAMPLES
from cli.creating.sample_views import reference_views
from engine.access.keys.access import AccessFile, disable_key, issue_key
from engine.read.query import filters, parameters
from engine.views.collecting.spool import VIEWS, SpoolWriter
from engine.views.gathering.writer import ViewWriter
from server.background.views.writer_process import write_views
from server.http import protocol
from server.settings import Settings
from snapshots.build.build import build
from snapshots.compile import markdown, richtext
from snapshots.definitions import files
from snapshots.documents import document, json_reader, yaml_reader
from snapshots.problems import KEPT_PER_KIND
from snapshots.sources import listing
from snapshots.store.store import Store, open_store
from snapshots.times import now_ms, parse_datetime
from tests.programs.command_line import Cms, in_process
from tests.programs.demo import running_demo
from tests.sites.quiet_app import quiet_app
from tests.sites.served_site import eventually

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("workspace-format.md", "delivery-api.md")
ANYTHING = "…"
"""In what a page shows: text that differs from run to run, or lines left out."""

_FENCE = re.compile(r"^```([a-z]+)((?: [a-z]+=\S+)*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    settings: dict[str, str]
    text: str
    line: int
    before: str
    """The paragraph above it."""


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    text = page(name)
    found = []
    for match in _FENCE.finditer(text):
        settings = dict(setting.split("=", 1) for setting in match[2].split())
        above = text[: match.start()].rstrip().rpartition("\n\n")[2]
        found.append(Block(match[1], settings, match[3], text.count("\n", 0, match.start()) + 1, above))
    return found


def tables(name: str, *columns: str) -> Iterator[list[str]]:
    """The rows of every table with these columns; cells without their back quotes."""
    rows: Iterator[str] | None = None
    lines = iter(page(name).splitlines())
    for line in lines:
        if not line.startswith("|"):
            rows = None
        elif rows is not None:
            yield [cell.removeprefix("`").removesuffix("`") for cell in _cells(line)]
        elif _cells(line) == list(columns):
            assert set(next(lines)) <= set("|-")
            rows = lines


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def matches(shown: str, found: str) -> bool:
    """Whether a text is what a page shows."""
    return re.fullmatch(".*?".join(map(re.escape, shown.split(ANYTHING))), found, re.DOTALL) is not None


def write(root: Path, block: Block) -> None:
    file = root / block.settings["title"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(block.text, encoding="utf-8")


def commands(block: Block) -> Iterator[tuple[list[str], str]]:
    """(arguments, output shown) of each command of a console block."""
    for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, shown = command.partition("\n")
        yield shlex.split(line), shown


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_of_a_kind_that_is_tried(name: str) -> None:
    text = page(name)
    found = blocks(name)
    assert len(re.findall("^```", text, re.MULTILINE)) == 2 * len(found)
    for block in found:
        where = f"{name}:{block.line}"
        if "title" in block.settings:
            assert f"`{block.settings['title']}`" in block.before, f"{where}: the file's name is not said above it"
        else:
            assert block.language in ("console", "http", "json", "js", "sh"), where


def check_links(name: str) -> None:
    """Every link of a page leads to a file that is there, and to a heading in it."""
    without_examples = re.sub(r"^```.*?^```", "", page(name), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", without_examples):
        file, _, anchor = target.partition("#")
        if file.startswith("https:"):
            continue
        assert not file or (DOCS / file).exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", page(file or name), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, target


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_headings_and_files(name: str) -> None:
    check_links(name)


def test_the_files_and_commands_of_the_workspace_format(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = 0
    for block in blocks("workspace-format.md"):
        if "title" in block.settings:
            write(tmp_path, block)
            continue
        monkeypatch.chdir(tmp_path)
        for (program, *arguments), shown in commands(block):
            if program == "cd":
                monkeypatch.chdir(*arguments)
                continue
            assert program == "cms"
            found = cms(*arguments)
            output = found.err + found.out
            assert matches(shown, output), f"line {block.line}: cms {shlex.join(arguments)}\n{output}"
            assert found.status == bool(re.search(r"^[1-9][0-9,]* errors?, ", output, re.MULTILINE))
            ran += 1
    assert ran > 10


VALUES = """\
uid: api_values
endpoint: values
kind: list
fields:
  - {id: text, type: text}
  - {id: textarea, type: textarea}
  - {id: richtext, type: richtext}
  - {id: number, type: number}
  - {id: datetime, type: datetime}
  - {id: boolean, type: boolean}
  - {id: single_select, type: single_select, options: [news, guide]}
  - {id: multiple_select, type: multiple_select, options: [news, guide]}
  - {id: reference, type: reference, api: values}
  - {id: references, type: references, api: values}
  - {id: image, type: image}
  - {id: images, type: images}
  - {id: file, type: file}
  - {id: json, type: json}
"""


def workspace_of(root: Path, rows: list[list[str]]) -> None:
    """A workspace with one entry for each row of (field type, value, …)."""
    (root / "apis").mkdir()
    (root / "content/values").mkdir(parents=True)
    (root / "workspace.yaml").write_text("id: values\nlanguages: [en]\ntimezone: Asia/Tokyo\n")
    (root / "apis/values.yaml").write_text(VALUES)
    for number, (kind, written, _) in enumerate(rows):
        (root / f"content/values/row-{number:03}.yaml").write_text(f"createdAt: 2026-01-01\n{kind}: {written}\n")
    for entry in ("mika", "ken"):
        (root / f"content/values/{entry}.yaml").write_text("createdAt: 2026-01-01\n")


def test_what_values_are_delivered_as(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = list(tables("workspace-format.md", "type", "written", "delivered"))
    assert {kind for kind, _, _ in rows} == set(re.findall(r"type: ([a-z_]+)", VALUES))
    workspace_of(tmp_path, rows)
    monkeypatch.chdir(tmp_path)
    assert cms("snapshot", "build").status == 0
    contents = cms("query", "values?limit=100&depth=0").json["contents"]
    found = {entry["id"]: entry for entry in contents}
    for number, (kind, written, delivered) in enumerate(rows):
        value = found[f"row-{number:03}"][kind]
        assert json.dumps(value, ensure_ascii=False) == delivered, f"{kind}: {written}"


def test_what_values_are_refused_with(cms: Cms, tmp_path: Path) -> None:
    rows = list(tables("workspace-format.md", "type", "written", "message"))
    assert len(rows) > 10
    workspace_of(tmp_path, rows)
    problems = cms("check", tmp_path, "--json").json["problems"]
    found = {problem["file"]: problem for problem in problems}
    assert len(found) == len(problems) == len(rows)
    for number, (kind, written, message) in enumerate(rows):
        problem = found[f"content/values/row-{number:03}.yaml"]
        assert matches(f"{kind}: {message}", problem["message"]), f"{kind}: {written}: {problem['message']}"
        assert (problem["line"], problem["severity"]) == (2, "error")


def test_the_limits_are_those_of_the_code() -> None:
    content = dict(tables("workspace-format.md", "what", "at most"))
    megabytes = [listing.MAX_FILE_BYTES, json_reader.MAX_LINE_BYTES, files.MAX_DEFINITION_BYTES]
    stated = list(content.values())
    for text, size in zip(stated[:3], megabytes, strict=True):
        assert text.startswith(f"{size >> 20} MiB")
        assert size == size >> 20 << 20
    numbers = [[int(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*", text)] for text in stated[3:7]]
    assert numbers == [
        [document.MAX_DEPTH],
        [yaml_reader.MAX_VALUES],
        [yaml_reader.MAX_REPEATED, 16],
        [richtext.MAX_LENGTH, markdown.SMALL, richtext.MAX_NESTING, richtext.MAX_ATTRIBUTES, markdown.MAX_COLUMNS],
    ]
    assert f"At most {KEPT_PER_KIND} problems of one kind are printed" in " ".join(page("workspace-format.md").split())
    requests = dict(tables("delivery-api.md", "what", "limit"))
    assert requests["limit"] == f"1 to {parameters.MAX_LIMIT}"
    assert requests["orders"] == f"{parameters.MAX_ORDERS} keys"
    assert (
        requests["filters"]
        == f"{filters.MAX_CONDITIONS} conditions, {filters.MAX_CHARACTERS:,} characters after decoding"
    )
    assert requests["q"] == f"{parameters.MAX_PHRASE} characters"
    assert requests["fields"] == f"{parameters.MAX_FIELDS} IDs"
    assert requests["depth"] == f"0 to {parameters.MAX_DEPTH}"
    assert protocol.LONGEST_TARGET == protocol.LARGEST_HEADERS == int(requests["URL, headers"].split()[0]) << 10


_TIMES = re.compile(r"20260615T120000000Z|2026-06-15T12:00:00\.000Z")
NOW = parse_datetime("2026-06-15T12:00:00Z", UTC)
"""The instant that the page says its requests are answered at."""
DAY = 86_400_000
BLOG = frozenset({"api_4Kq9XbT2mVc7"})
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"


@dataclass(frozen=True)
class Service:
    """A server over the content at the end of the page."""

    client: Client
    keys: dict[str, str]

    def get(self, target: str, key: str = "pq_Ab12Cd34_…", headers: Mapping[str, str] | None = None) -> Response:
        """GET below the workspace, with the key that the page or a test calls so."""
        return self.client.get(f"/v1/acme/{target}", headers={"X-API-KEY": self.keys[key], **(headers or {})})


def keys_of(store: Store) -> dict[str, str]:
    """What the page and its tests call a key → the key's text."""
    file = AccessFile(store.workspace("acme").directory)

    def issue(file: AccessFile, *, now: int = NOW, validity: str = "none", **settings: Any) -> str:
        settings.setdefault("scope", None)
        return issue_key(file, name="docs", now=now, zone=UTC, validity=validity, **settings)[1]

    keys = {
        "pq_Ab12Cd34_…": issue(file),
        "pq_B10g0n1y_…": issue(file, scope=BLOG),
        "fresh": issue(file),
        "an unknown key": "pq_nothing",
        "a disabled key": issue(file),
        "before its first day": issue(file, now=NOW + DAY),
        "after its last day": issue(file, now=NOW - 31 * DAY, validity="30d"),
        "a key of another workspace": issue(AccessFile(store.workspace("other").directory)),
        "over the key's limit": issue(file, rate_limit=2),
    }
    disable_key(file, keys["a disabled key"][:11])
    return keys


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    directory = tmp_path_factory.mktemp("delivery")
    files = [block for block in blocks("delivery-api.md") if "title" in block.settings]
    for block in files:
        write(directory, block)
        bundled = EXAMPLES["acme"].folder.parent / block.settings["title"]
        assert bundled.read_text() == block.text, f"{bundled} is not what the page shows"
    assert len(files) == sum(path.is_file() for path in EXAMPLES["acme"].folder.rglob("*"))
    store = open_store(directory / "store")
    result = build(directory / "acme", store, now=NOW, strict=True)
    assert result.problems.warnings == 0
    spool = SpoolWriter(store.workspace("acme").directory / VIEWS, NOW)
    spool.append(*reference_views(NOW))
    spool.close()
    ViewWriter(store.workspace("acme").directory / VIEWS).round(NOW, 0.0)
    keys = keys_of(store)
    stopping = Event()
    writing = Thread(target=write_views, args=(store.root, None, stopping))
    writing.start()
    with TestClient(quiet_app(Settings(store=str(store.root)), clock=lambda: NOW)) as client:
        yield Service(client, keys)
    stopping.set()
    writing.join()


def exact(document: Any) -> str:
    """JSON as text, so that the order of members and 1 and 1.0 are told apart."""
    return json.dumps(document, ensure_ascii=False)


def test_the_requests_and_answers_of_the_delivery_api(service: Service) -> None:
    assert_answers(service, "delivery-api.md")


def test_the_demo_gives_the_answers_of_the_delivery_api(tmp_path: Path) -> None:
    """But for what says the time."""
    with running_demo(tmp_path, "--workspace", "acme") as running:
        shown = running.printed
        [printed] = [block.text.strip() for block in blocks("delivery-api.md") if block.language == "sh"]
        listed = [one["command"] for one in shown["commands"]]
        address = shown["url"].removesuffix("/v1/acme")
        there = printed.replace("http://127.0.0.1:8787", address).replace(
            '"X-API-KEY: $KEY"', f"'X-API-KEY: {shown['key']}'"
        )
        assert sorted(shlex.split(there)) in [sorted(shlex.split(one)) for one in listed]
        place = open_store(Path(shown["store"])).workspace("acme")
        _, narrow = issue_key(
            AccessFile(place.directory), name="docs", now=now_ms(), zone=UTC, validity="none", scope=BLOG
        )
        with Client(base_url=address, timeout=60) as client:
            demo = Service(client, {"pq_Ab12Cd34_…": shown["key"], "pq_B10g0n1y_…": narrow})
            eventually(lambda: demo.get("blog", "pq_B10g0n1y_…").status_code == 200)
            assert_answers(demo, "delivery-api.md", timeless=True)


def assert_answers(service: Service, name: str, *, timeless: bool = False) -> None:
    """Send each request of a page, and compare the answer; ``timeless``: but for the page's own time in it."""
    shown = [block for block in blocks(name) if "title" not in block.settings and block.language not in ("js", "sh")]
    assert len(shown) > 20
    for request, expected in zip(shown[::2], shown[1::2], strict=True):
        asked, _, sent = request.text.partition("\n\n")
        first, *lines = asked.splitlines()
        match = re.fullmatch(r"(GET|POST) (/v1/acme/\S+|/pv/\S+) HTTP/1\.1", first)
        assert match, f"line {request.line}: {first}"
        headers = dict(line.split(": ", 1) for line in lines)
        key = headers.pop("X-API-KEY", "pq_Ab12Cd34_…")
        if match[1] == "POST":
            answer = record(service.client, match[2], headers, sent)
        elif match[2].startswith("/pv/"):
            answer = service.client.get(match[2], headers=headers)
        else:
            answer = service.get(match[2].removeprefix("/v1/acme/"), key, headers)
        text = _TIMES.sub(ANYTHING, expected.text) if timeless else expected.text
        head, _, body = text.partition("\n\n") if expected.language == "http" else ("", "", text)
        where = f"line {expected.line}: {answer.text}"
        if body:
            assert matches(exact(json.loads(body)), exact(answer.json())), where
        else:
            assert answer.content == b""
        status, *lines = head.splitlines() or ["HTTP/1.1 200 OK"]
        assert answer.status_code == int(status.split()[1]), where
        for line in lines:
            name, value = line.split(": ", 1)
            assert matches(value, answer.headers[name]), f"{where}: {name}"


def record(client: Client, target: str, headers: Mapping[str, str], body: str) -> Response:
    """Report a page view as a browser does, and wait until it shows."""
    counts = f"{target}/counts?entryId={json.loads(body)['entryId']}"
    before = client.get(counts).content
    answer = client.post(target, headers={**headers, "User-Agent": BROWSER}, content=body)
    eventually(lambda: client.get(counts).content != before)
    return answer


@pytest.mark.parametrize(("parameter", "least"), [("filters", 25), ("orders", 6), ("q", 4)])
def test_what_lists_find(service: Service, parameter: str, least: int) -> None:
    rows = list(tables("delivery-api.md", parameter, "returns"))
    assert len(rows) >= least
    for value, ids in rows:
        answer = service.get(f"blog?fields=id&{parameter}={value}")
        assert answer.status_code == 200, f"{value}: {answer.text}"
        found = [entry["id"] for entry in answer.json()["contents"]]
        assert ", ".join(found) == ids, value


def test_the_messages_of_refused_requests(service: Service) -> None:
    rows = list(tables("delivery-api.md", "request", "status", "message"))
    assert len(rows) > 15
    for target, status, message in rows:
        answer = service.get(target)
        assert (answer.status_code, answer.json()) == (int(status), {"message": message}), target


def test_what_strict_reading_refuses(service: Service) -> None:
    rows = list(tables("delivery-api.md", "request", "strictly, it is 400"))
    assert len(rows) > 5
    for target, message in rows:
        assert service.get(target).status_code == 200
        answer = service.get(target, headers={"Prefer": "handling=strict"})
        assert (answer.status_code, answer.json()) == (400, {"message": message}), target


def test_the_messages_about_keys(service: Service) -> None:
    rows = {
        when: (int(status), message) for status, when, message in tables("delivery-api.md", "status", "when", "message")
    }
    for _ in range(2):
        assert service.get("blog", "over the key's limit").status_code == 200
    answers: dict[str, Response] = {when: service.get("blog", when) for when in rows if when in service.keys}
    answers["no key"] = service.client.get("/v1/acme/blog")
    answers["another method"] = service.client.post("/v1/acme/blog")
    assert answers.keys() == rows.keys()
    for when, (status, message) in rows.items():
        assert answers[when].status_code == status, when
        assert matches(message, answers[when].json()["message"]), answers[when].text
    assert int(answers["over the key's limit"].headers["Retry-After"]) >= 1


def test_the_headers_of_an_answer(service: Service) -> None:
    headers = service.get("blog", "fresh").headers
    for shown, _ in tables("delivery-api.md", "header", "on"):
        name, _, value = shown.partition(": ")
        if name in (
            "Retry-After",
            "Allow",
            "Preference-Applied",
            "X-Ignored-Parameters",
            "WWW-Authenticate",
            "traceparent",
        ):
            assert name not in headers
        else:
            assert matches(value or ANYTHING, headers[name]), name
