"""A format of webhooks is one row of a table, which everything else reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.webhooks.formats import FORMATS, Message, Messages, WebhookFormat
from snapshots.store.document import DamagedDocument
from tests.engine.webhooks.test_dispatcher import ONE, TWO, World
from tests.programs.command_line import in_process, write_workspace

DOCS = Path(__file__).parents[3] / "docs" / "webhooks.md"


def pigeon(*_: object) -> Message:
    return Message({"x-carrier": "pigeon"}, b'{"coo": 1}')


PIGEON = WebhookFormat(lambda *_: Messages(1, ("coo",), pigeon), pigeon, takes_token=True)


def test_a_new_row_is_a_format_that_is_added_listed_tried_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(FORMATS, "pigeon", PIGEON)
    monkeypatch.setenv("CMS_WEBHOOK_ALLOW_LOOPBACK", "1")
    monkeypatch.chdir(write_workspace(tmp_path / "site"))
    cms = in_process(monkeypatch, capsys)
    assert cms("snapshot", "build").status == 0
    token = tmp_path / "token"
    token.write_text("t")
    without = cms("webhook", "add", "https://www.example.com/", "--format", "pigeon")
    assert (without.status, "--token-file FILE" in without.err) == (1, True)
    added = cms("webhook", "add", "https://www.example.com/", "--format=pigeon", f"--token-file={token}", "--json")
    assert added.json["format"] == "pigeon"
    assert [one["format"] for one in cms("webhook", "list", "--json").json] == ["pigeon"]
    world = World(tmp_path / "store", ONE, TWO, form="pigeon", token="t")
    world.activate()
    assert world.tell() == [{"coo": 1}]
    assert world.got[0].headers == {"x-carrier": "pigeon"}


def test_a_new_row_is_in_the_help() -> None:
    program = """
from engine.webhooks.formats import FORMATS
FORMATS["pigeon"] = FORMATS["standard"]
import sys
from cli.main import main
sys.argv = ["cms", "webhook", "add", "--help"]
main()
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env={"COLUMNS": "300"}
    )
    assert "|".join((*FORMATS, "pigeon")) in ran.stdout


def test_every_format_is_in_the_docs() -> None:
    assert set(re.findall(r"--format ([a-z]+)", DOCS.read_text(encoding="utf-8"))) == {*FORMATS} - {"standard"}


def test_a_stored_format_that_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    world = World(tmp_path, ONE, TWO)
    file = tmp_path / "acme" / "webhooks.json"
    stored = json.loads(file.read_text())
    stored["endpoints"][0]["format"] = "pigeon"
    file.write_text(json.dumps(stored))
    with pytest.raises(DamagedDocument, match='There is no format "pigeon"'):
        world.file.read()
