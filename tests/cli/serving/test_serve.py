"""``cms serve`` before it listens: what is to be served, and whom a setting comes from."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.programs.command_line import CMS, Cms, at_a_terminal, entry, process, write_workspace


@pytest.fixture
def cms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cms:
    """Runs in a process of its own: a server's main process sets up the log of its whole process."""
    monkeypatch.delenv("CMS_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return process


@pytest.mark.parametrize("variable", ["CMS_PORT", "CMS_WORKERS", "CMS_LOG_FORMAT"])
def test_a_setting_of_the_environment_is_blamed_by_its_name(
    cms: Cms, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "abc")
    ran = cms("serve", "--store", ".")
    assert (ran.status, ran.out) == (2, "")
    assert f'{variable}: "abc" cannot be used' in ran.err
    assert "'--" not in ran.err


def test_a_flag_is_blamed_by_its_name_whatever_the_environment_says(cms: Cms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CMS_PORT", "8787")
    ran = cms("serve", "--store", ".", "--port", "99999")
    assert ran.status == 2
    assert '--port: "99999" cannot be used: give a whole number from 0 to 65535' in ran.err


def test_a_directory_without_a_store_is_no_place_to_serve_from(cms: Cms, tmp_path: Path) -> None:
    for folder in (tmp_path, write_workspace(tmp_path)):
        ran = cms("serve", "--port", "0")
        assert (ran.status, ran.out) == (1, "")
        assert f"There is no store to serve: {folder / '.cms'} does not exist." in ran.err
        assert "`cms snapshot build`" in ran.err
        assert not (tmp_path / ".cms").exists()


def test_a_store_that_is_named_and_not_there_is_waited_for_on_demand(cms: Cms, tmp_path: Path) -> None:
    store = tmp_path / "store"
    ran = cms("serve", "--port", "0", "--store", store)
    assert (ran.status, ran.out) == (1, "")
    assert f"There is no store to serve: {store} does not exist. Where it is mounted," in ran.err
    assert "--wait" in ran.err
    with subprocess.Popen(
        [*CMS, "serve", "--wait", "--store", str(store), "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        said = ""
        while "listening on" not in said:
            line = server.stderr.readline()
            assert line, said
            said += line
        cms("snapshot", "build", write_workspace(tmp_path), "--store", store)
        while "serving snapshot version" not in said:
            line = server.stderr.readline()
            assert line, said
            said += line
        server.kill()


def test_a_store_that_is_named_may_be_filled_later_and_is_said_to_be_empty(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    environment = {**os.environ, "CMS_STORE": str(store), "CMS_PORT": "0"}
    with subprocess.Popen([*CMS, "serve"], stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        told = ""
        while "listening on" not in told:
            line = server.stderr.readline()
            assert line, told
            told += line
        server.kill()
    assert f"warning: The store {store} holds nothing to serve yet" in told
    assert f"--store {store}`" in told


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], ["Serving site from {store}", "Requests: {url}/v1/site (", "Reference: {url}/docs ("]),
        (
            ["--verbose"],
            ["INFO settings: store={store} ", "INFO listening on {url}", "INFO site: serving snapshot version"],
        ),
    ],
    ids=["plain", "verbose"],
)
def test_a_terminal_begins_with_three_lines(cms: Cms, tmp_path: Path, flags: list[str], said: list[str]) -> None:
    assert cms("snapshot", "build", str(write_workspace(tmp_path))).status == 0
    store = tmp_path / ".cms"
    controller, terminal = pty.openpty()
    command = ["serve", "--store", str(store), "--port", "0", *flags]
    wide = {"COLUMNS": "300"}  # so that no line is broken
    server = at_a_terminal(terminal, *command, env=wide, children=True)
    try:
        with os.fdopen(controller, encoding="utf-8") as screen:
            lines = [screen.readline().rstrip() for _ in said]
            server.send_signal(signal.SIGINT)
            server.wait(60)
    finally:
        server.kill()
    [url, *_] = re.findall(r"http://127\.0\.0\.1:[0-9]+", lines[1])
    for line, wanted in zip(lines, said, strict=True):
        assert wanted.format(store=store, url=url) in line


@pytest.mark.parametrize(
    ("setting", "environment", "begins", "warned"),
    [
        ("", {}, "/assets/site/", True),
        ("", {"CMS_PUBLIC_URL": "https://content.example/"}, "https://content.example/assets/site/", False),
        ("assets_url: https://cdn.example/x\n", {}, "https://cdn.example/x/", False),
        (
            "assets_url: https://cdn.example/x\n",
            {"CMS_PUBLIC_URL": "https://a.example"},
            "https://cdn.example/x/",
            False,
        ),
    ],
    ids=["without a host", "the server's", "another place's", "another place's, not the server's"],
)
def test_addresses_of_assets_without_a_host_are_told_at_the_start(
    cms: Cms,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    environment: dict[str, str],
    begins: str,
    warned: bool,
) -> None:
    root = write_workspace(tmp_path)
    (root / "workspace.yaml").write_text((root / "workspace.yaml").read_text() + setting)
    definition = (root / "apis/blog.yaml").read_text()
    (root / "apis/blog.yaml").write_text(definition + "  - {id: menu, name: Menu, type: file}\n")
    (root / "content/blog/one.md").write_text(entry("One", "menu: menu.pdf\n"))
    (root / "content/blog/menu.pdf").write_bytes(b"%PDF-1.4")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cms("snapshot", "build", str(root)).status == 0
    assert cms("query", "blog/one").json["menu"]["url"].startswith(f"{begins}menu.")
    for name in environment:
        monkeypatch.delenv(name)
    with subprocess.Popen(
        [*CMS, "serve", "--store", str(root / ".cms"), "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        told = ""
        while "listening on" not in told:
            line = server.stderr.readline()
            assert line, told
            told += line
        server.kill()
    assert told.count("The images and files of site have addresses without a host (/assets/…)") == (1 if warned else 0)


def test_a_public_url_that_is_none_is_refused_before_anything_is_built(cms: Cms, tmp_path: Path) -> None:
    ran = cms("snapshot", "build", str(write_workspace(tmp_path)), "--public-url", "content.example")
    assert (ran.status, ran.out) == (2, "")
    assert "content.example" in ran.err
    assert not (tmp_path / ".cms").exists()


def test_a_build_says_that_addresses_lost_their_host(cms: Cms, tmp_path: Path) -> None:
    root = write_workspace(tmp_path)
    definition = (root / "apis/blog.yaml").read_text()
    (root / "apis/blog.yaml").write_text(definition + "  - {id: menu, name: Menu, type: file}\n")
    (root / "content/blog/one.md").write_text(entry("One", "menu: menu.pdf\n"))
    (root / "content/blog/menu.pdf").write_bytes(b"%PDF-1.4")
    begun = "began with https://content.example and have no host now"
    for options, told in ((["--public-url", "https://content.example"], False), ([], True), ([], False)):
        ran = cms("snapshot", "build", str(root), *options)
        assert (ran.status, begun in ran.err) == (0, told)
