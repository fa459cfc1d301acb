"""``cms demo`` and ``cms init``: every command they print works, and they leave no litter."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.programs.command_line import Cms, in_process, process
from tests.programs.demo import running_demo
from tests.servers.webhook_receiver import receiver
from tests.sites.served_site import eventually

SHOWN: dict[str, Callable[[Any], bool]] = {
    "_types/typescript' ": lambda source: "export class Client" in source and '"breads"' in source,
    "breads?limit=2": lambda body: len(body["contents"]) == 2 and body["totalCount"] == 5,
    "breads/melon-bread": lambda body: body["name"] == "Melon bread",
    "lang=ja": lambda body: {row["_langs"]["current"] for row in body["contents"]} == {"en", "ja"},
    "depth=2": lambda body: body["author"]["favourite"]["id"] == "melon-bread",
    "filters=": lambda body: [row["price"] for row in body["contents"]] == [720.5, 210],
    "q=oven": lambda body: [row["title"] for row in body["contents"]] == ["The night oven"],
    "shop?": lambda body: body["todays_bread"]["name"] == "Country rye",
    "orders=-views": lambda body: body["contents"][0]["name"] == "Melon bread",
    "_schema": lambda body: len(body["apis"]) == 5,
    "X-Draft-Key": lambda body: body["title"] == "The night oven, revisited",
}
"""A part of a printed command that is in no other → whether its answer shows what it should."""


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """The demo, running, and what it printed."""
    with running_demo(tmp_path) as demo:
        yield demo.process, demo.printed


def fetch(command: str) -> Any:
    """What a printed ``curl`` command fetches."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-sg"]
    if ">" in words:  # into a file
        words = words[: words.index(">")]
    headers = dict(value.split(": ") for option, value in zip(words[3::2], words[4::2], strict=True) if option == "-H")
    with urlopen(Request(words[2], headers=headers), timeout=60) as response:
        body = response.read()
        return json.loads(body) if response.headers.get_content_type() == "application/json" else body.decode()


@pytest.mark.slow
def test_every_printed_command_works_until_the_demo_ends(demo: tuple[subprocess.Popen[str], dict[str, Any]]) -> None:
    command, printed = demo
    lines = [one["command"] for one in printed["commands"]]
    assert len(lines) == len(SHOWN)
    assert lines[0].endswith(" > cms.ts")
    for part, shows in SHOWN.items():
        [line] = [line for line in lines if part in line]
        assert shows(fetch(line)), line

    [bread] = [line for line in lines if "breads/melon-bread" in line]
    photo = fetch(bread)["photo"]
    assert (photo["width"], photo["height"]) == (1000, 1000)
    with urlopen(photo["url"], timeout=60) as picture:
        assert picture.headers["Content-Type"] == "image/jpeg"
    with pytest.raises(HTTPError, match="401"):
        fetch(bread.replace(printed["key"], "pq_wrong"))

    directory = Path(printed["directory"])
    file = directory / "content/breads/melon-bread.md"
    file.write_text(file.read_text(encoding="utf-8").replace("name: Melon bread", "name: Melonpan"), encoding="utf-8")
    assert process("snapshot", "build", directory).status == 0
    eventually(lambda: fetch(bread)["name"] == "Melonpan")

    command.send_signal(signal.SIGTERM)
    assert command.wait(60) == 0
    assert not directory.exists()
    assert command.stdout is not None
    assert command.stdout.read() == ""


@pytest.mark.slow
def test_a_demo_calls_webhooks_on_this_machine_where_the_environment_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CMS_WEBHOOK_ALLOW_LOOPBACK", "1")
    with receiver(tmp_path, tls=False) as heard, running_demo(tmp_path) as demo:
        url = f"http://127.0.0.1:{heard.port}/"
        assert process("webhook", "add", url, "--store", demo.printed["store"]).status == 0
        directory = Path(demo.printed["directory"])
        file = directory / "content/breads/melon-bread.md"
        file.write_text(file.read_text(encoding="utf-8").replace("name: Melon bread", "name: Melonpan"))
        assert process("snapshot", "build", directory).status == 0
        eventually(lambda: heard.received)
        assert heard.received[0].json["type"] == "content.changed"


def test_without_serving_the_demo_stays(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ran = cms("demo", "--no-serve", "--port", "9999")
    assert ran.status == 0
    [directory] = tmp_path.iterdir()
    assert f"cms serve --store {directory}/.cms --port 9999" in ran.out
    assert len(
        re.findall(r"(?m)^curl -sg 'http://127\.0\.0\.1:9999/v1/komugi/\S+' -H 'X-API-KEY: pq_", ran.out)
    ) == len(SHOWN)
    assert cms("check", directory, "--strict").out == "ja: 7 not translated\nNo problems\n"
    assert f"cms views report --store {directory}/.cms\n" in ran.out
    top = cms("views", "top", "--store", directory / ".cms", "--json").json
    assert {row["kind"] for row in top} == {"entry", "path"}
    assert {row["title"] for row in top if row["kind"] == "entry"} >= {"Melon bread", "The night oven"}
    assert all(row["views"] for row in top)


def test_a_demo_whose_port_is_taken_leaves_nothing(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = process("demo", "--port", str(port), env={"TMPDIR": str(tmp_path)})
    assert (ran.status, ran.out) == (1, "")
    assert f"Cannot listen on 127.0.0.1 port {port}" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_starter_workspace_builds(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "My 2nd Site"
    ran = cms("init", directory, "--json")
    assert (ran.status, ran.json["workspace"]) == (0, "my-2nd-site")
    assert "workspace.yaml" in ran.json["files"]
    assert all((directory / file).is_file() for file in ran.json["files"])
    monkeypatch.chdir(directory)
    assert cms("check", "--strict").out == "No problems\n"
    assert cms("snapshot", "build", "--json").json["workspace"] == "my-2nd-site"
    assert cms("snapshot", "list", "--json").json[0]["current"] is True


def test_each_workspace_gets_identities_of_its_own(cms: Cms, tmp_path: Path) -> None:
    uids = set()
    for name in ("one", "two"):
        cms("init", tmp_path / name)
        for definition in (tmp_path / name / "apis").iterdir():
            uids.update(re.findall(r"(?m)^uid: (api_[A-Za-z0-9]{12})\b", definition.read_text(encoding="utf-8")))
    assert len(uids) == 4


@pytest.mark.parametrize(
    ("name", "workspace"),
    [("123", "123"), ("null", "null"), ("1e3", "1e3"), ("Ünï", "n"), ("___", "my-site"), ("a" * 80, "a" * 63)],
)
def test_any_directory_name_gives_an_id(cms: Cms, tmp_path: Path, name: str, workspace: str) -> None:
    assert cms("init", tmp_path / name, "--json").json["workspace"] == workspace
    assert cms("snapshot", "build", tmp_path / name, "--json").json["workspace"] == workspace


def test_init_overwrites_nothing(cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gitignore").write_text("mine\n", encoding="utf-8")
    assert cms("init").status == 0
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "mine\n"
    (tmp_path / "workspace.yaml").unlink()
    (tmp_path / "content/site.yaml").write_text("title: Mine\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    again = cms("init")
    assert (again.status, again.out) == (1, "")
    assert "already exists" in again.err
    assert sorted(tmp_path.rglob("*")) == before
