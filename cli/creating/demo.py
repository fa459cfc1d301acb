"""``cms demo``: build the bundled example, issue a key, serve it, and print commands to try."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.creating.examples import EXAMPLES, Example
from cli.location import STORE, store_at
from cli.options import Json, new_app
from cli.output import documents, lines, wording
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from snapshots.build.build import BuildResult
    from snapshots.store.store import WorkspaceStore

app = new_app()

HOST = "127.0.0.1"
READY_SECONDS = 30.0

TYPES = ("Types and a client for TypeScript, in one file (or `_types/python`)", "_types/typescript", "cms.ts")
"""What an application begins with: a title, a path, and the file that takes the answer."""


class DemoFailed(ParquetryError):
    """The installed example is not the example this program knows."""


@dataclass(frozen=True, slots=True)
class Demo:
    """An example as built, and an API key for it."""

    example: Example
    directory: Path
    """The workspace's directory, which holds the store too."""
    built: BuildResult
    key: str
    draft_key: str

    @property
    def store(self) -> Path:
        return self.directory / STORE

    def url(self, address: str) -> str:
        """Return the URL of the workspace's API on the server at ``address``, without a slash at the end."""
        return f"{address}/v1/{self.built.workspace}"

    def commands(self, address: str) -> list[tuple[str, str]]:
        """Return (title, ``curl`` line) for each request to try on the server at ``address``."""
        title, target = self.example.preview
        types, path, file = TYPES
        return [
            (types, f"{self._curl(address, path)} > {file}"),
            *((title, self._curl(address, target)) for title, target in self.example.requests),
            (title, self._curl(address, target, f"X-Draft-Key: {self.draft_key}")),
        ]

    def _curl(self, address: str, target: str, *headers: str) -> str:
        # Without -g, curl would expand the brackets of filters as ranges.
        options = "".join(f" -H {shlex.quote(header)}" for header in (f"X-API-KEY: {self.key}", *headers))
        return f"curl -sg '{self.url(address)}/{target}'{options}"


class Bundled(StrEnum):
    """The workspace of an example."""

    KOMUGI = "komugi"
    ACME = "acme"


@app.command()
def demo(
    workspace: Annotated[
        Bundled,
        typer.Option(
            "--workspace",
            help="The example: komugi, a bakery, or acme, the content of the examples in the reference of the API.",
        ),
    ] = Bundled.KOMUGI,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")
    ] = 8787,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Print the commands without serving.")] = False,
    json: Json = False,
) -> None:
    """Serve a bundled example and print commands to try.

    The example is built in a temporary directory with an API key of its own. The directory is removed when the
    server stops; with --no-serve it stays.
    """
    if no_serve and port == 0:
        raise typer.BadParameter("--port 0 leaves the choice to the server, and --no-serve starts none.")
    example = EXAMPLES[workspace.value]
    with _directory(keep=no_serve) as directory:
        if no_serve:
            address = f"http://{HOST}:{port}"
            _report(_prepare(example, directory, address), address, served=False, json=json)
        else:
            _serve(example, directory, port, json=json)


def _prepare(example: Example, directory: Path, address: str) -> Demo:
    """Copy an example to ``directory``, build it for the server at ``address``, issue a key, and count made-up page
    views."""
    from cli.creating.sample_views import add_views
    from engine.administration.administrator import operator
    from engine.administration.keys import issue_key
    from engine.administration.versions import recorded_build
    from snapshots.build.build import build

    shutil.copytree(example.folder, directory, dirs_exist_ok=True)
    now = now_ms()
    store = store_at(None, directory)
    built = build(directory, store, now=now, public_url=address, record=recorded_build(now))
    workspace_store = store.workspace(built.workspace)
    workspace = workspace_store.manifest(built.version).workspace
    _, key = issue_key(operator(workspace_store, now), workspace, name="Demo", scope=None)
    add_views(workspace_store, example.views(now), now)
    draft_key = example.draft_key or _derived_key(example, workspace_store, built.version)
    return Demo(example, directory, built, key, draft_key)


def _derived_key(example: Example, workspace_store: WorkspaceStore, version: str) -> str:
    """Return the derived draft key of an example's unpublished changes."""
    from engine.access.drafts.keys import derived_draft_key
    from engine.access.keys.access import AccessFile

    endpoint, entry, lang = example.draft
    api = workspace_store.manifest(version).workspace.api(endpoint)
    access = AccessFile(workspace_store).read()
    if api is None or access is None:
        raise DemoFailed(f"The example in {example.folder} is incomplete. Install parquetry again.")
    return derived_draft_key(access.draft_secret, workspace_store.id, api.uid, entry, lang)


def _serve(example: Example, directory: Path, port: int, *, json: bool) -> None:
    """Serve until a signal ends the server; print the commands to try as soon as requests are answered."""
    from engine.webhooks.addresses import ALLOW_LOOPBACK
    from server.run import address_of, listening, run_server
    from server.settings import read_settings

    def report_when_ready(address: str) -> None:
        threading.Thread(target=_report_when_ready, args=(shown, address, json), daemon=True).start()

    with listening(HOST, port) as listener:
        shown = _prepare(example, directory, address_of(listener, HOST))
        # Of the environment's settings only this one, so that trying things out sends no mail.
        environment = {ALLOW_LOOPBACK: os.environ.get(ALLOW_LOOPBACK, "")}
        settings = read_settings({"store": str(shown.store), "host": HOST, "port": port}, environment)
        run_server(settings, on_listening=report_when_ready, log_start=False, listening_at=listener)


def _report_when_ready(shown: Demo, address: str, json: bool) -> None:
    """Report once the server is ready; say once that it takes long, and go on waiting."""
    deadline: float | None = time.monotonic() + READY_SECONDS
    while not _is_ready(address):
        if deadline is not None and time.monotonic() > deadline:
            lines.failure(f"The server is not ready after {READY_SECONDS:.0f} s; its log says why.")
            deadline = None
        time.sleep(0.05)
    _report(shown, address, served=True, json=json)


def _is_ready(address: str) -> bool:
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(address.removeprefix("http://"), timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _report(shown: Demo, address: str, *, served: bool, json: bool) -> None:
    commands = shown.commands(address)
    if json:
        documents.write_json(
            {
                "workspace": shown.built.workspace,
                "directory": str(shown.directory),
                "store": str(shown.store),
                "version": shown.built.version,
                "entries": shown.built.entries,
                "key": shown.key,
                "url": shown.url(address),
                "served": served,
                "commands": [{"title": title, "command": command} for title, command in commands],
            }
        )
        return
    entries = wording.plural(shown.built.entries, "language version")
    lines.answer(f'Built the example workspace "{shown.built.workspace}": {entries}, {shown.built.seconds:.1f} s.')
    if served:
        lines.answer(f"Open {address}/docs in a browser to try requests, with this key: {shown.key}")
        lines.answer("Or paste any of these:")
    else:
        port = address.rpartition(":")[2]
        lines.answer("Serve it with")
        lines.copied(f"\n{wording.program()} serve --store {shlex.quote(str(shown.store))} --port {port}", style="bold")
        lines.answer("\nand paste any of these:")
    for title, command in commands:
        lines.answer(f"\n{title}", style="dim")
        lines.copied(command)
    lines.answer(f"\nThe content is in {shown.directory}. Change a file, and publish it from another terminal:")
    directory = shlex.quote(str(shown.directory))
    lines.copied(f"\n{wording.program()} snapshot build {directory} --public-url {address}", style="bold")
    lines.answer("\nA page with charts of the page views:")
    lines.copied(f"\n{wording.program()} views report --store {shlex.quote(str(shown.store))}", style="bold")
    end = "Ctrl-C stops the server and removes the directory." if served else "Remove the directory when you are done."
    lines.answer(f"\n{end}")


@contextmanager
def _directory(*, keep: bool) -> Iterator[Path]:
    """Make a temporary directory, removed after the block; with ``keep`` only when the block raised."""
    import tempfile

    directory = Path(tempfile.mkdtemp(prefix="cms-demo-"))
    done = False
    try:
        yield directory
        done = True
    finally:
        if not (keep and done):
            shutil.rmtree(directory, ignore_errors=True)
