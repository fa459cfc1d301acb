"""``cms init``: a starter workspace that builds, in a directory of the user's choice."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.creating.asking import ask
from cli.creating.example_site import SITE, WORKSPACE, Example, ExampleMade, start_example
from cli.location import DEFINITION, SERVER, store_to_be, usable_cache
from cli.options import Json, StoreLocation, new_app
from cli.output import documents, lines, wording
from cli.output.progress import progress
from cli.prompts import has_reader
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from snapshots.adoption.definitions import Definition
    from snapshots.adoption.settling.decisions import Decision
    from snapshots.adoption.site import Site

app = new_app()

STARTER = Path(__file__).parent / "starter"
STARTER_ID = "my-site"
BAKERY = "bakery"


class NotEmpty(ParquetryError):
    """The directory holds a file that a starter workspace would overwrite."""


class NoContent(ParquetryError):
    """The folder holds no content to write definitions for."""


@app.command()
def init(
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Where to put the workspace; created if missing.", show_default=False),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="SITE",
            help="The folder of an existing site (Hugo, Jekyll, Hexo, Zola, Eleventy, Astro, Docusaurus, VitePress, "
            "Nuxt Content, MkDocs, Pelican, Gatsby, Obsidian, Keystatic, Decap or plain files). Markdown and files of "
            "data are read, no templates and no other markup. The definitions are written into it; with DIR, they go "
            "there, with a copy of its content.",
            show_default=False,
        ),
    ] = None,
    example: Annotated[
        Example | None,
        typer.Option(
            "--example",
            help="Put the bakery of `cms demo` and a site that shows it side by side, ready to run, "
            f"into {BAKERY} unless DIR names another directory.",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="With --from, do not ask what the folder leaves open: take the likeliest answers."
        ),
    ] = False,
    store: StoreLocation = None,
    json: Json = False,
) -> None:
    """Create a starter workspace, ready to build.

    With --from, write definitions for an existing site instead; with --example, start with a site that is finished.
    Existing files are never changed.
    """
    if example is not None:
        if site is not None:
            raise typer.BadParameter("--example and --from exclude each other.")
        directory = Path(BAKERY) if directory is None else directory
        _report_example(directory, start_example(example, directory), json=json)
        return
    adopted = None
    if site is not None:
        directory = site if directory is None else directory
        asking = ask if has_reader() and not json else None
        adopted = adopt_site(site, directory, _take_first if yes else asking, store)
        files = adopted.files
    else:
        directory = Path() if directory is None else directory
        files = start_workspace(directory)
    workspace_id = id_for(directory)
    if json:
        made: dict[str, object] = {"workspace": workspace_id, "directory": str(directory), "files": files}
        if adopted is not None:
            made |= {"decisions": adopted.decisions, "keptBack": adopted.kept_back, "errors": adopted.errors}
        documents.write_json(made)
        return
    for file in files:
        lines.message(f"  {directory / file}", style="dim")
    cms = wording.program()
    if adopted is not None and adopted.kept_back:
        kept_back = wording.plural(adopted.kept_back, "file")
        lines.answer(f"The site keeps back {kept_back}, which no API reads; {DEFINITION} says why.")
    is_ready = "is ready" if adopted is None or not adopted.errors else f"has {wording.plural(adopted.errors, 'error')}"
    if directory != Path():
        lines.copied(f'Workspace "{workspace_id}" {is_ready}. What comes next:\n\ncd {shlex.quote(str(directory))}')
    else:
        lines.answer(f'Workspace "{workspace_id}" {is_ready}. What comes next:\n')
    if adopted is not None and adopted.decisions:
        decisions = wording.plural(adopted.decisions, "decision")
        lines.copied(f"grep -rn TODO workspace.yaml apis  # list the {decisions} for you to make")
    lines.copied(f"{cms} check                 # list every problem, with file and line")
    lines.copied(f"{cms} snapshot build        # build a snapshot version, and make it current")
    lines.copied(f"{cms} key create website    # issue an API key, shown only once")
    lines.copied(f"{cms} serve                 # start the server")


def _report_example(directory: Path, made: ExampleMade, *, json: bool) -> None:
    if json:
        documents.write_json({"workspace": made.workspace, "directory": str(directory), "files": made.files})
        return
    for part, what in ((WORKSPACE, "the content"), (SITE, "the site; its .env has the address and the key")):
        lines.message(f"  {directory / part}  {what}", style="dim")
    lines.answer("The bakery and its site are ready. What comes next:\n")
    if directory != Path():
        lines.copied(f"cd {shlex.quote(str(directory))}")
    lines.copied(f"{wording.program()} dev {WORKSPACE} --types {made.client}  # serves {SERVER}, and goes on\n")
    lines.answer("And in a second terminal:\n")
    lines.copied(f"cd {shlex.quote(str(directory / SITE))}")
    lines.copied("npm install")
    lines.copied("npm run dev              # prints the address of the site\n")
    content = shlex.quote(str(directory / WORKSPACE / "content"))
    lines.answer(f"Then save a change in {content}, and the page shows it.")


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was written for a site's folder: the files, relative to the workspace."""

    files: list[str]
    decisions: int
    """Those that the definitions leave to people."""
    kept_back: int
    """Files of which the site's generator makes no pages."""
    errors: int
    """Those that `cms check` finds."""


Answering: TypeAlias = "Callable[[list[Decision]], None]"
"""Takes an answer of each decision."""


def _take_first(decisions: list[Decision]) -> None:
    for one in decisions:
        one.take(one.answers[0])


def adopt_site(site: Path, directory: Path, answered: Answering | None = None, store: str | None = None) -> Adopted:
    """Write definitions for the content of a site's folder, and prove that they read what was chosen, and nothing else.

    ``answered`` answers the questions that the folder leaves open; without it they stand in comments, beside the first
    answers. Where ``directory`` is not the site's folder, its content is copied there, with the files that it names.
    What the proof compiles stays for the next build in the cache of the store, which is at ``store``, else in
    ``directory``.
    Raises, before anything is written, ``NotEmpty`` when there are definitions already, ``NoContent`` when there is no
    content, and ``StoreError`` when ``store`` is no location of a store.
    """
    from snapshots.adoption.configured.unsupported import why_no_content
    from snapshots.adoption.definitions import definitions_for
    from snapshots.adoption.named_files import named_files
    from snapshots.adoption.registry import generator_of
    from snapshots.adoption.settling.decisions import decisions_for
    from snapshots.adoption.settling.excluding import ROUNDS, leave_unchosen, leave_wrong
    from snapshots.adoption.sites import look_at
    from snapshots.store.durable import keep_from_others

    with progress() as tell:
        tell("reading", 0, 0)
        found = look_at(site) if site.is_dir() else None
    if found is None or not found.collections:
        makes = generator_of(site)
        raise NoContent(why_no_content(site, makes.name, makes.folders(site)))
    taken = [name for name in (DEFINITION, "apis") if (directory / name).exists()]
    if taken:
        raise NotEmpty(f"{directory / taken[0]} already exists. Remove it, or choose another directory.")
    copied = []
    if directory.resolve() != site.resolve():
        copied = sorted({file for collection in found.collections for file in collection.files})
        copied += named_files(site, copied)
        for collection in found.collections:
            collection.exclude.clear()  # no such file is copied
        existing = [file for file in copied if (directory / file).exists()]
        if existing:
            raise NotEmpty(f"{directory / existing[0]} already exists. Choose an empty directory.")
    with progress() as tell:
        tell("reading", 0, 0)
        definitions = definitions_for(site, found)
    opened = store_to_be(store, directory)  # a location that is none is told before anything is written
    open_ones = decisions_for(found, definitions)
    if answered is not None:
        answered(open_ones)
        open_ones = []
    for file in copied:
        (directory / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(site / file, directory / file)
    leave_unchosen(directory, found, definitions, _texts(directory, found, definitions, open_ones))
    _write(directory, _texts(directory, found, definitions, open_ones))
    keep_from_others()
    with usable_cache(opened) as cache, progress() as tell:
        for _ in range(ROUNDS):
            some, errors = leave_wrong(directory, found, definitions, cache, tell)
            if not some:
                break
            _write(directory, _texts(directory, found, definitions, open_ones))
    texts = _texts(directory, found, definitions, open_ones)
    return Adopted([*texts, *copied], len(open_ones), len(found.kept_back), errors)


def _texts(directory: Path, found: Site, definitions: list[Definition], open_ones: list[Decision]) -> dict[str, str]:
    from snapshots.adoption.definitions import texts_of
    from snapshots.adoption.settling.decisions import comments

    return texts_of(found, definitions, id_for(directory), lambda file: comments(open_ones, file))


def _write(directory: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")


def start_workspace(directory: Path) -> list[str]:
    """Copy the starter into ``directory``, with a new ID and new API uids; return the files written, relative to it.

    Raises ``NotEmpty`` before anything is written when one of the files already exists.
    """
    from snapshots.definitions.uids import new_uid

    texts = {
        path.relative_to(STARTER).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(STARTER.rglob("*"))
        if path.is_file()
    }
    workspace_id = id_for(directory)
    texts = {name: text.replace(f"/{STARTER_ID}/", f"/{workspace_id}/") for name, text in texts.items()}
    texts[DEFINITION] = re.sub(
        rf"(?m)^id: {STARTER_ID} *(?= #)",
        lambda found: f"id: {_yaml(workspace_id)}".ljust(len(found[0])),
        texts[DEFINITION],
    )
    texts = {name: re.sub(r"(?m)^uid: \S+", lambda _: f"uid: {new_uid()}", text) for name, text in texts.items()}
    taken = [name for name in texts if (directory / name).exists()]
    if taken:
        raise NotEmpty(f"{directory / taken[0]} already exists. Choose an empty directory: `cms init DIR`.")
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(texts)


def id_for(directory: Path) -> str:
    """Return a workspace ID made of a directory's name: ``my-site`` for ``My Site`` (workspace-format, ``id``)."""
    slug = re.sub(r"[^a-z0-9]+", "-", directory.resolve().name.lower()).strip("-")
    return slug[:63].rstrip("-") or STARTER_ID


def _yaml(text: str) -> str:
    """Return a text as a YAML scalar: quoted if YAML could read it as a number or a truth value."""
    return text if re.fullmatch(r"[a-z]{6,}|[a-z][a-z0-9]*(-[a-z0-9]+)+", text) else f'"{text}"'
