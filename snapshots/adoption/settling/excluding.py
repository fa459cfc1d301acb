"""Prove the definitions written for a site: they read the files that were chosen, no others, and these compile.

What they would read besides, and what does not compile, goes into ``exclude``, each with its reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from snapshots.adoption.definitions import Definition
from snapshots.adoption.site import Site, literal
from snapshots.build.build import Progress, examine
from snapshots.definitions.workspace import load_workspace
from snapshots.problems import Problems
from snapshots.sources.listing import list_files

ROUNDS = 5
"""Checks after which errors are left to the person; each names some hundreds of every kind."""
_MOST = 0.5
"""The share of an API's files with errors from which its definition is at fault, not they."""
_NOT_CHOSEN = "not chosen as content"


def leave_unchosen(root: Path, site: Site, definitions: list[Definition], texts: Mapping[str, str]) -> bool:
    """Exclude what the definitions would read below ``root`` besides the files that were chosen; whether there was any.

    ``texts`` are those of the definition files, by path.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        loaded = load_workspace(Path(folder), Problems())
    if loaded is None:
        return False
    listing = list_files(root, loaded, Problems())
    matched: dict[str, set[str]] = {}
    for listed in listing.files:
        for uid, _, _ in listing.read(listed[0], Problems()):
            matched.setdefault(uid, set()).add(listed[0])
    taken: dict[str, str] = {}
    some = False
    for one in definitions:
        chosen = {file for file in one.collection.files if taken.setdefault(file, one.endpoint) == one.endpoint}
        mine = matched.get(one.uid, set())
        unchosen = mine - chosen
        some = some or bool(unchosen)
        by_rule = [site.kept_back[file] for file in sorted(unchosen) if file in site.kept_back]
        rest = unchosen.difference(site.kept_back)
        read_elsewhere = {file for file in rest if file in taken}
        one.collection.exclude |= dict(by_rule)
        one.collection.exclude |= dict.fromkeys(_patterns(read_elsewhere, mine), "entries of another API")
        one.collection.exclude |= dict.fromkeys(_patterns(rest - read_elsewhere, mine), _NOT_CHOSEN)
    return some


def _patterns(files: set[str], among: set[str]) -> Iterator[str]:
    """Return patterns that match ``files`` and no others ``among`` which they are: folders where all in one are."""
    if not files:
        return
    kept = among - files
    folders_kept = {str(folder) for file in kept for folder in PurePosixPath(file).parents}
    made: dict[str, None] = {}
    for file in sorted(files):
        whole = [str(folder) for folder in PurePosixPath(file).parents if str(folder) not in folders_kept]
        whole = [folder for folder in whole if folder != "."]
        made[f"{literal(whole[-1])}/**" if whole else literal(file)] = None
    yield from made


def leave_wrong(
    directory: Path, site: Site, definitions: list[Definition], cache: Path, progress: Progress
) -> tuple[bool, int]:
    """Exclude the files of the workspace in ``directory`` that do not compile, and allow texts to name files that are
    not there, as generators do.

    A file of data in which items have errors is no API. Return whether there was any, and the number of errors that are
    left: in APIs most of whose files have some.
    """
    found = examine(directory, cache, progress=progress).problems
    by_file: dict[str, str] = {}
    for problem in found.kept:
        if problem.severity == "error" and not problem.item and problem.kind != "missing-asset":
            by_file.setdefault(problem.file, problem.message)
    missing = sum(count for severity, kind, count in found.counts if (severity, kind) == ("error", "missing-asset"))
    some = missing > 0 and not site.missing_assets
    site.missing_assets = site.missing_assets or missing
    of_items = {problem.file: problem.message for problem in found.kept if problem.severity == "error" and problem.item}
    for one in [one for one in definitions if of_items.keys() & one.collection.files]:
        file = next(file for file in one.collection.files if file in of_items)
        told = "is in no API, since its items are none that a definition can read"
        site.notes.append(f"{file} {told}: {of_items[file]}")
        definitions.remove(one)
        (directory / one.file).unlink()
        some = True
    for one in definitions:
        wrong = [file for file in one.collection.files if file in by_file]
        if wrong and (len(wrong) <= _MOST * len(one.collection.files) or len(wrong) == 1):
            some = True
            one.collection.files = [file for file in one.collection.files if file not in by_file]
            one.collection.exclude |= {literal(file): by_file[file] for file in wrong}
    return some, found.errors
