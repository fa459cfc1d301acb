"""``cms dev``: builds a workspace on every save and serves it, with its problems on the screen."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.location import begin_store, store_at, workspace_directory
from cli.options import StoreLocation, WorkspaceDirectory, new_app
from cli.output import lines, tables, wording
from cli.output.problems import problem_count, problem_lines
from cli.output.progress import progress
from cli.output.translations import language_sentences
from snapshots.problems import ParquetryError, Problems

if TYPE_CHECKING:
    from server.dev.builds import Builds, Built
    from server.dev.types_file import TypesFile
    from snapshots.build.build import BuildResult

app = new_app()

HOST = "127.0.0.1"
STOP_SECONDS = 10.0
"""Seconds that a build at work has to reach its next step when the command ends."""


@app.command()
def dev(
    workspace: WorkspaceDirectory = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, metavar="N", help="0 picks a free port.")] = 8787,
    store: StoreLocation = None,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Leave out language versions with errors, and serve the rest.")
    ] = False,
    types: Annotated[
        Path | None,
        typer.Option(
            "--types",
            metavar="FILE",
            dir_okay=False,
            help="Keep the typed client of an application as the definitions are: a file in .ts, .mts or .py.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Build on every save, and serve to this machine only.

    Problems are printed with file and line, after each save only the new ones; until errors are fixed, the last good
    build stays served. The page at the server's address shows every entry, including drafts and scheduled ones.
    Nothing is published, and no webhooks are sent: `cms dev` has its own builds, key and page views, and leaves the
    store's alone. The key stays the same each time, in a file that only you can read and git ignores: .cms/.dev/ID/key,
    with the workspace's ID.

    The address /dev/events streams what changes, so that a site's own development server reloads its pages.
    """
    from server.dev.builds import Builds
    from server.dev.site import DevSite
    from server.run import run_server
    from server.settings import read_settings

    types_file = None if types is None else _types_file(types)
    root = workspace_directory(workspace)
    opened = store_at(store, root)
    begin_store(opened)
    screen = Screen(str(root))

    def report(built: Built) -> None:
        screen.show(built)
        if types_file is not None:
            _write_types(types_file, built)

    builds = Builds(root, opened, report, lenient=lenient)
    screen.builds = builds
    building = threading.Thread(target=builds.run, args=(progress,), name="build", daemon=True)

    def begin(address: str) -> None:
        screen.address = builds.public_url = address
        building.start()

    # The environment's settings are left out, so that trying things out sends no mail and counts in no shared Redis.
    settings = read_settings({"store": str(builds.store.root), "host": HOST, "port": port, "workers": 1}, {})
    try:
        run_server(
            settings,
            on_listening=begin,
            around=partial(DevSite, builds=builds),
            on_ending=builds.stop,
            log_level="WARNING",
        )
    finally:
        builds.stop()
        if building.ident is not None:
            building.join(STOP_SECONDS)


def _types_file(path: Path) -> TypesFile:
    from server.dev.types_file import SUFFIXES, TypesFile

    if path.suffix not in SUFFIXES:
        names = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        raise typer.BadParameter(f"{path} is in no language that has a client: its name has to end in {names}.")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"{path.parent} is no directory. Make it, or name a file in another one.")
    return TypesFile(path)


def _write_types(types_file: TypesFile, built: Built) -> None:
    """Make the typed client fit the definitions that are served."""
    if built.definitions is None:
        return
    try:
        if types_file.write(built.definitions):
            lines.answer(f"Wrote {types_file}.", style="green")
    except ParquetryError as error:
        lines.warning(f"The types are not written: {error}")


@dataclass
class Screen:
    """The log on the screen: the addresses, and for each build its outcome and the new problems."""

    workspace: str
    address: str = ""
    builds: Builds | None = None
    _told: set[tuple[str, str]] = field(default_factory=set)
    _problems: Problems | None = None
    """The problems of the last build that got as far as finding them; ``None`` before that."""
    _breaking: frozenset[tuple[str, str]] = frozenset()
    """(file, message) of each change in the last version built that breaks clients."""
    _languages: list[str] = field(default_factory=list)
    """The texts about languages in the last version built."""

    def show(self, built: Built) -> None:
        """Show the outcome of a build, and the problems that are new or gone since the build before."""
        self._introduce(built)
        if built.failure is None:
            self._show_problems(built.problems)
        if built.result is not None:
            self._show_breaking(built)
        when = f"{datetime.fromtimestamp(built.at / 1000):%H:%M:%S}"  # noqa: DTZ006 - the clock on the wall
        if built.failure is not None:
            lines.failure(built.failure)
        if built.result is None or built.failure is not None:
            keeps = f"{built.version} stays served" if built.version else "nothing is served yet"
            lines.answer(f"{when}  Not built; {keeps}.", style="bold red")
        else:
            self._show_languages(built.result)
            entries = wording.plural(built.result.entries, "language version")
            lines.answer(f"{when}  Serving {entries}, built in {built.seconds:.2f} s.", style="green")

    def _show_problems(self, problems: Problems) -> None:
        from server.dev.new_problems import news

        told, self._problems = self._problems or Problems(), problems
        found = news(told, problems)
        problem_lines(found.new, stderr=False)
        changed = found.new.errors + found.new.warnings
        in_all = problem_count(problems)
        style = "bold red" if problems.errors else "yellow" if problems.warnings else "green"
        if found.gone:
            lines.answer(f"{changed or 'none'} new, {found.gone:,} gone: {in_all[0].lower()}{in_all[1:]}", style=style)
        elif problems.errors or problems.warnings:
            others = "" if changed == problems.errors + problems.warnings else f" ({changed or 'none'} new)"
            lines.answer(f"{in_all}{others}", style=style)

    def _show_languages(self, result: BuildResult) -> None:
        """Show how far each language is behind, where that has changed."""
        told, self._languages = self._languages, language_sentences(result.translations)
        for text in self._languages:
            if text not in told:
                lines.answer(text)

    def _show_breaking(self, built: Built) -> None:
        told, self._breaking = self._breaking, frozenset((file, str(change)) for change, file, _ in built.breaking)
        for change, file, line in built.breaking:
            if (file, str(change)) not in told:
                lines.located(file, line, "breaking", str(change))
        taken_back = len(told - self._breaking)
        if taken_back:
            lines.answer(f"{wording.plural(taken_back, 'breaking change')} taken back", style="green")

    def _introduce(self, built: Built) -> None:
        """Show the addresses of the page and the API, and the key, again whenever one of them is new or has changed."""
        key = self.builds.keys.get(built.workspace or "") if self.builds is not None else None
        facts = [("Page", f"{self.address}/")]
        if key is not None:
            facts += [("API", f"{self.address}/v1/{built.workspace}"), ("Key", key)]
        if self._told.issuperset(facts):
            return
        self._told.update(facts)
        lines.answer(f"Watching {self.workspace}. Ctrl-C ends it.")
        tables.facts(facts)
        lines.answer("")
