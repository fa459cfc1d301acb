"""The command as a whole: help, exit statuses, streams, terminals and pipes."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cli.commands import COMMANDS, GROUPS, OTHER_WORDS
from tests.programs.command_line import (
    CMS,
    Cms,
    at_a_terminal,
    in_process,
    process,
    process_from_nothing,
    write_workspace,
)
from tests.stores.small_disk import fill, small_disk

COLOUR = re.compile(r"\x1b\[(?:[0-9]+;)*(?:3[0-7]|9[0-7])m")
HEAVY = {"asyncio", "duckdb", "msgspec", "numpy", "pyarrow", "rich", "starlette", "uvicorn", "yaml"}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], HEAVY | {"pydantic"}),
        # Typer needs pydantic as soon as there is a subcommand.
        (["snapshot", "--help"], HEAVY),
        (["key", "create", "--help"], HEAVY),
        (["serve", "--help"], HEAVY),
        (["demo", "--help"], HEAVY),
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str], heavy: set[str]) -> None:
    program = (
        "import sys\nfrom cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & {heavy!r}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    assert "Usage: cms" in done.stdout
    assert done.stderr.strip() == "[]"


def test_the_summaries_in_the_help_are_those_of_the_commands(cms: Cms) -> None:
    whole = cms("--help").out
    listed = dict(re.findall(r"^  ([a-z-]+) {2,}(\S.*)$", whole.partition("To begin with:")[2], re.MULTILINE))
    assert sorted(listed) == sorted(COMMANDS) == sorted(name for names in GROUPS.values() for name in names)
    for name, summary in listed.items():
        assert summary in cms(name, "--help").out
        assert len(f"  {name}  {summary}") <= 80


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--version"], 0, ""),
        (["snapsot"], 2, "Did you mean 'snapshot'?"),
        (["snapshot", "prune", "--keep", "0"], 2, "'--keep'"),
        (["snapshot", "build", "--strict", "--lenient"], 2, "contradict each other"),
        (["key", "edit", "pq_abc"], 2, "Nothing to change"),
        (["key", "edit", "pq_abc", "--api", "blog", "--all-apis"], 2, "contradict each other"),
        (["demo", "--no-serve", "--port", "0"], 2, "leaves the choice to the server"),
        (["check", "/nowhere"], 1, "error: /nowhere is not a directory."),
        (["check"], 1, "No workspace.yaml in"),
        (["snapshot", "list"], 1, "Build one first"),
        (["snapshot", "list", "-w", "nobody"], 1, 'has no workspace "nobody". It holds none yet.'),
        (["snapshot", "list", "--store", "http://bucket/x"], 1, "no store is at such a URL"),
    ],
)
def test_exit_status_and_message(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = cms(*arguments)
    assert ran.status == status
    assert message in ran.err
    assert not ran.out or arguments == ["--version"]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["build"], "`cms snapshot build`"),
        (["biuld"], "`cms snapshot build`"),
        (["publish"], "`cms snapshot build`"),
        (["snapshot", "publish"], "`cms snapshot build`"),
        (["version"], "`cms --version`"),
        (["help"], "`cms --help`"),
        (["key", "rotate"], "`cms webhook rotate` or `cms draft rotate`"),
        (["verify"], "`cms snapshot verify` or `cms views verify`"),
        (["key", "creat"], "'create'"),
    ],
    ids=" ".join,
)
def test_a_command_by_another_name_is_told_its_own(cms: Cms, arguments: list[str], meant: str) -> None:
    ran = cms(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert f"No such command '{arguments[-1]}'. Did you mean {meant}?" in ran.err


def test_a_word_for_a_command_that_has_another_name_leads_to_one(cms: Cms) -> None:
    for command in OTHER_WORDS.values():
        assert cms(*command.split(), *([] if command.startswith("--") else ["--help"])).status == 0


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("CMS_MEMROY", "CMS_MEMORY"),
        ("CMS_STOER", "CMS_STORE"),
        ("cms_workers", "CMS_WORKERS"),
        ("CMS_PUBLC_URL", "CMS_PUBLIC_URL"),
        ("CMS_DATABASE_PASSWORD", None),
        ("CMS_MEMORY", None),
        ("DMS_MEMORY", None),
    ],
)
def test_a_mistyped_setting_is_told_and_another_program_s_is_not(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, meant: str | None
) -> None:
    monkeypatch.chdir(write_workspace(tmp_path))
    monkeypatch.setenv(variable, "2GB")
    ran = cms("check", "--json")
    assert (ran.status, ran.json["errors"]) == (0, 0)
    told = f"warning: The environment sets {variable}, which is not a setting. Did you mean {meant}?\n"
    assert ran.err == ("" if meant is None else told)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["check", "/nowhere"], 1, "/nowhere is not a directory."),
        (["snapshot", "list"], 1, "Build one first"),
        (["snapshot", "build", "--strict", "--lenient"], 2, "contradict each other"),
        (["snapshot", "prune", "--keep", "none"], 2, "--keep"),
        (["key", "show"], 2, "Missing argument"),
        (["snapshot", "lst"], 2, "Did you mean 'list'?"),
        (["init", "--foo"], 2, "--foo"),
        (["init", "taken/file"], 1, "taken"),
    ],
)
def test_an_error_is_json_where_the_answer_would_be(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    plain, told = cms(*arguments), cms(*arguments, "--json")
    assert (plain.status, plain.out, told.status) == (status, "", status)
    assert list(told.json) == ["error"]
    assert message in told.json["error"]
    assert told.json["error"] in told.err


def test_a_refusal_that_is_an_answer_stays_one_document(cms: Cms, tmp_path: Path) -> None:
    write_workspace(tmp_path)
    (tmp_path / "content/blog/one.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    built = cms("snapshot", "build", tmp_path, "--json")
    assert (built.status, built.json["version"]) == (1, None)
    assert cms("check", tmp_path, "--json").json["errors"] > 0


@pytest.mark.parametrize("arguments", [["init", "site"], ["snapshot", "build"], ["key", "create", "website"]])
def test_a_full_disk_is_called_that(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    with small_disk(tmp_path / "disk", 256 << 10) as disk, monkeypatch.context() as inside:
        write_workspace(disk)
        inside.chdir(disk)
        fill(disk)
        ran = cms(*arguments)
    assert ran.status == 1
    assert "the disk is full. Free some space" in ran.err
    assert "output" not in ran.err


def test_no_command_leaves_anything_behind_when_it_fails(
    cms: Cms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["check"],
        ["snapshot", "list"],
        ["key", "list"],
        ["key", "delete", "pq_abc"],
        ["snapshot", "prune"],
    ):
        assert cms(*arguments).status == 1
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    for number in range(400):
        (tmp_path / f"content/blog/wrong-{number}.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    with subprocess.Popen([*CMS, "check", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert (command.stderr.read(), command.wait(60)) == (b"", 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", [["check"], ["snapshot", "list"], ["snapshot", "list", "--json"]])
def test_an_output_that_is_full_is_an_error_without_a_traceback(cms: Cms, tmp_path: Path, arguments: list[str]) -> None:
    write_workspace(tmp_path)
    assert cms("snapshot", "build", tmp_path).status == 0
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*CMS, *arguments], cwd=tmp_path, env=buffered, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"error: The output cannot be written: No space left on device.\n")


def test_interrupting_a_command_is_status_130(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = (
        "import cli.check, cli.main, pathlib, sys\n"
        f"cli.check.workspace_directory = lambda _: pathlib.Path({str(pipe)!r}).read_text()\n"
        "sys.argv = ['cms', 'check']\ncli.main.main()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) as command:
        with pipe.open("w"):  # opened once the command waits for what comes out of the other end
            status = None
            for _ in range(20):  # a signal that comes just before the command begins to wait is noticed after it only
                command.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    status = command.wait(1)
                    break
        assert command.stderr is not None
        assert (status, command.stderr.read()) == (130, b"")


def on_a_terminal(*arguments: str, env: dict[str, str] | None = None) -> str:
    """What a command prints where all its streams are a terminal of 80 columns."""
    controller, terminal = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "80", **(env or {})}
    command = at_a_terminal(terminal, *arguments, env=environment)
    shown = b""
    try:
        while piece := os.read(controller, 65536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(controller)
    command.wait(60)
    return shown.decode()


def test_colour_is_for_terminals_and_can_be_refused(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    (tmp_path / "content/blog/one.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    assert COLOUR.search(on_a_terminal("check", str(tmp_path)))
    assert not COLOUR.search(on_a_terminal("check", str(tmp_path), env={"NO_COLOR": "1"}))
    assert "\x1b" not in process("check", tmp_path).out


def test_lines_end_at_words(tmp_path: Path) -> None:
    """On a terminal; what is there to be copied stays whole, and so does everything in a pipe."""
    write_workspace(tmp_path)
    long = "/".join(["folder"] * 4)
    (tmp_path / f"content/blog/{long}").mkdir(parents=True)
    (tmp_path / f"content/blog/{long}/one.md").write_text("---\nrating: many\n---\n", encoding="utf-8")
    piped = process("check", tmp_path).out
    assert any(len(line) > 80 for line in piped.splitlines())
    shown = on_a_terminal("check", str(tmp_path), env={"NO_COLOR": "1"})
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).splitlines() if "━" not in line]
    assert all(len(line) <= 80 for line in lines)
    assert " ".join(piped.split()) in " ".join(" ".join(lines).split())
    assert not set(" ".join(lines).split()) - set(piped.split()) - {""}
    refused = on_a_terminal("views", "top", "--of", "nothing that there is", env={"NO_COLOR": "1"}).splitlines()
    assert all(len(line) <= 80 for line in refused)
    command = next(line for line in on_a_terminal("completion").splitlines() if "bash_completion.d" in line)
    assert command.endswith("completion bash > /etc/bash_completion.d/cms\x1b[0m")


def test_every_command_that_prints_a_table_has_json() -> None:
    from typer.main import get_command

    def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        inside = getattr(command, "commands", None)
        if inside is None:
            yield name, command
        for one, below in (inside or {}).items():
            yield from commands(f"{name} {one}", below)

    without = {
        name
        for group in COMMANDS
        for name, command in commands(group, get_command(import_module(COMMANDS[group][0]).app))
        if not any("--json" in option.opts for option in command.params)
    }
    # These go on, or print the source of something, or JSON.
    assert without == {
        *("serve", "dev", "mcp", "completion"),
        *("editor-config", "openapi", "redirects", "types typescript", "types python"),
    }


def test_the_store_is_explained_once(cms: Cms) -> None:
    whole = " ".join(cms("--help").out.split())
    assert "else the environment's CMS_STORE, else .cms in the workspace, else .cms in the current directory." in whole
    for command in (("key", "list"), ("snapshot", "build"), ("views", "top"), ("query",)):
        assert "The store; `cms --help` says which it is by default." in " ".join(cms(*command, "--help").out.split())


def test_content_cannot_steer_the_terminal(cms: Cms, tmp_path: Path) -> None:
    write_workspace(tmp_path)
    (tmp_path / "content/blog/\x1b]0;owned\x07.md").write_text('---\ntitle: ["\\x1B[2J"]\n---\n', encoding="utf-8")
    ran = cms("check", tmp_path)
    assert ran.status == 1
    assert "\x1b" not in ran.out + ran.err
    assert "\x07" not in ran.out + ran.err
    assert "\\x1b]0;owned\\x07.md:" in ran.out


def test_a_terminal_without_unicode_survives_any_content(tmp_path: Path) -> None:
    write_workspace(tmp_path)
    (tmp_path / "content/blog/日本.md").write_text("---\nrating: 多い\n---\n", encoding="utf-8")
    ran = process_from_nothing("check", tmp_path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert ran.status == 1
    assert "\\u65e5\\u672c.md:" in ran.out
    assert process_from_nothing("check", tmp_path, "--json", env={"PYTHONIOENCODING": "ascii"}).json["problems"]
