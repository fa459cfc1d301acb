"""``cms init --example``: the bakery and a site that shows it, side by side, with a key that both know."""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from cli.creating.examples import EXAMPLE
from cli.location import SERVER, begin_store, defined_id, store_at
from snapshots.problems import ParquetryError

SITE, WORKSPACE = "site", "workspace"
_CLIENT = "content.ts"
_PREVIEWED = "apis/journal.yaml"
"""The API whose drafts the sites preview."""


class Example(StrEnum):
    """The sites that there are, named for what they are made with."""

    ASTRO = "astro"
    NEXTJS = "nextjs"
    NUXT = "nuxt"
    SVELTEKIT = "sveltekit"


_PORTS = {Example.ASTRO: 4321, Example.NEXTJS: 3000, Example.NUXT: 3000, Example.SVELTEKIT: 5173}
"""Where the development server of each listens, unless it is told otherwise."""


class NoExample(ParquetryError):
    """The installation lacks the sites, or the directory already holds something."""


@dataclass(frozen=True, slots=True)
class ExampleMade:
    """What was made in a directory: the files, relative to it."""

    workspace: str
    files: list[str]
    client: str
    """The file with the typed client."""


def start_example(example: Example, directory: Path) -> ExampleMade:
    """Copy the bakery and a site into ``directory``, and write the site's ``.env`` with the key of ``cms dev``.

    Raises ``NoExample`` before anything is written when the directory holds either already, and ``StoreError``.
    """
    source = _sites() / example
    ignored = _sites() / ".gitignore"
    if not (source / "package.json").is_file():
        raise NoExample(f"The example {example} is missing in {source.parent}. Install parquetry again.")
    for name in (WORKSPACE, SITE):
        if (directory / name).exists():
            raise NoExample(
                f"{directory / name} already exists. Choose another directory: `cms init --example {example} DIR`."
            )
    workspace, site = directory / WORKSPACE, directory / SITE
    shutil.copytree(EXAMPLE, workspace)
    patterns = [line.rstrip("/") for line in ignored.read_text(encoding="utf-8").splitlines()]
    shutil.copytree(source, site, ignore=shutil.ignore_patterns(*patterns, "README.md"))
    shutil.copy(ignored, site)
    _preview(workspace / _PREVIEWED, _PORTS[example])
    _write_settings(site / ".env", _key(workspace))
    files = sorted(file.relative_to(directory).as_posix() for file in _files((workspace, site)))
    [client] = (file for file in files if file.startswith(f"{SITE}/") and fnmatch.fnmatch(file, f"*/{_CLIENT}"))
    return ExampleMade(defined_id(workspace), files, client)


def _sites() -> Path:
    """Return the folder of the sites: in an installed package beside this file, in the repository ``examples/``."""
    packaged = Path(__file__).parent / "sites"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "examples"


def _files(folders: Iterable[Path]) -> list[Path]:
    found = (file for folder in folders for file in folder.rglob("*"))
    return [file for file in found if file.is_file() and ".cms" not in file.parts]


def _preview(definition: Path, port: int) -> None:
    address = f"http://localhost:{port}/preview?id={{id}}&lang={{lang}}&draftKey={{draftKey}}"
    with definition.open("a", encoding="utf-8") as file:
        file.write(f"preview_url: {address}\n")


def _key(workspace: Path) -> str:
    """Issue the key that ``cms dev`` will have in a workspace."""
    from zoneinfo import ZoneInfo

    from server.dev.session_key import session_key
    from server.dev.unpublished import unpublished
    from snapshots.store.durable import make_directory, writing

    store = store_at(None, workspace)
    begin_store(store)
    sessions = unpublished(store).workspace(defined_id(workspace))
    with writing(sessions.directory):
        make_directory(sessions.directory)
    return session_key(sessions, ZoneInfo("UTC"))


def _write_settings(file: Path, key: str) -> None:
    file.touch(mode=0o600)
    file.write_text(f"CMS_URL={SERVER}\nCMS_KEY={key}\n", encoding="utf-8")
