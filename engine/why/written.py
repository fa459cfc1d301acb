"""Find an entry in the files of a workspace, as a build would take them, and the errors that keep it from that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.timeline.states import State, state_at
from engine.why.facts import Known, Written
from snapshots.build.build import Surveyed
from snapshots.build.checks import CheckedApi
from snapshots.build.old_ids.gathering import Claim, claims
from snapshots.compile.rows import LEFT_OUT, LIVE, row_digest
from snapshots.definitions.files import API_FOLDER, WORKSPACE_FILE
from snapshots.definitions.model import Definitions
from snapshots.documents.document import format_of
from snapshots.ids import slug_id
from snapshots.model import ALWAYS, NEVER, Api, ApiKind
from snapshots.problems import WARNING_CLASSES, Problem, Problems
from snapshots.sources.folders import Folders
from snapshots.sources.git_dates import GitDates, uncommitted

REFUSED = 3
"""Errors of other files that are told."""

_BETWEEN = frozenset[str]().union(*WARNING_CLASSES.values())
"""The kinds of problems between entries, which leave no version out, also where ``strict`` makes errors of them."""


def written_entry(root: Path, surveyed: Surveyed, endpoint: str, entry: str | None, now: int) -> Written:
    """Return what the files of the workspace at ``root`` say of an entry at ``now`` (UTC milliseconds); without
    ``entry``, of the item of an object API."""
    errors = [problem for problem in surveyed.problems.kept if problem.severity == "error"]
    of_definitions = [one for one in errors if one.file == WORKSPACE_FILE or one.file.startswith(f"{API_FOLDER}/")]
    if surveyed.inputs is None:
        return Written((), tuple(of_definitions), tuple(errors[:REFUSED]), (), ())
    definitions, checked = surveyed.inputs.definitions, surveyed.checked
    of_endpoint = [api for api in checked if api.api.endpoint == endpoint]
    found: list[Known] = []
    # Without its definition, nothing of an API is known.
    mine = [] if of_endpoint else of_definitions
    for api in of_endpoint:
        found += _known(definitions, api, entry, now)
        places = _left_out(api, entry) | _named(surveyed, api.api, entry)
        mine += [
            one
            for one in errors
            if any(one.file == file and line in (None, one.line) for file, line in places) and one.kind not in _BETWEEN
        ]
        mine = mine or [_unnamed(api, place) for place in sorted(_left_out(api, entry))]
    others = [api for api in checked if api.api.endpoint != endpoint and api.api.kind is ApiKind.LIST]
    named = {path for api in of_endpoint for path, _ in _named(surveyed, api.api, entry)}
    is_there = bool(found or mine)
    return Written(
        tuple(found),
        tuple(mine),
        tuple(errors[:REFUSED]),
        tuple(sorted({one for api in of_endpoint for one in api.ids.to_pylist()})),
        tuple(api.api.endpoint for api in others if entry in set(api.ids.to_pylist())),
        bool(of_endpoint),
        _uncommitted(root, surveyed.git, {one.file for one in found}),
        () if is_there else tuple(one for api in of_endpoint for one in _deleted(root, surveyed, api.api, entry)),
        () if is_there else tuple(sorted(named)),
        () if is_there or entry is None else tuple(_unread(root, surveyed, entry, named)),
        () if is_there else tuple(one.entry_id for api in of_endpoint for one in _claims(api, entry))[:1],
    )


def _claims(api: CheckedApi, entry: str | None) -> list[Claim]:
    return [one for one in claims(api.references) if one.name == entry]


def _known(definitions: Definitions, api: CheckedApi, entry: str | None, now: int) -> list[Known]:
    import pyarrow.compute as pc

    index = api.index if entry is None else api.index.filter(pc.equal(api.index["id"], entry))
    languages = definitions.workspace.languages
    found = []
    for row in index.to_pylist():
        window = (row["live_from"], row["live_until"])
        state = state_at(*window, now) if row["state"] == LIVE else State.DRAFT
        begin, end = (None if bound in (ALWAYS, NEVER) else bound for bound in window)
        place = (api.files[row["file"]], row["line"])
        found.append(Known(languages[row["lang"]], state, begin, end, row_digest(row["digest"]), *place))
    return found


def _left_out(api: CheckedApi, entry: str | None) -> set[tuple[str, int | None]]:
    """Return file and line of the versions of an entry that have errors; no line where the file holds them alone."""
    import pyarrow.compute as pc

    rows = api.references.filter(pc.equal(api.references["field"], LEFT_OUT))
    if entry is not None:
        rows = rows.filter(pc.equal(rows["target"], entry))
    held = np.bincount(api.index["file"].to_numpy(), minlength=len(api.files)).tolist()
    return {
        (api.files[row["file"]], row["line"] if held[row["file"]] else None)
        for row in rows.select(["file", "line"]).to_pylist()
    }


def _named(surveyed: Surveyed, api: Api, entry: str | None) -> set[tuple[str, int | None]]:
    """Return the files of an API whose paths give the entry's ID: all of them for an object API."""
    assert surveyed.inputs is not None  # it is asked for what they list
    sources = [one for one in surveyed.inputs.listing.sources(Problems()) if one.api == api.uid]
    if entry is not None:
        sources = [one for one in sources if one.id is not None and entry in (one.id, slug_id(one.id))]
    return {(one.path, None) for one in sources}


def _deleted(root: Path, surveyed: Surveyed, api: Api, entry: str | None) -> Iterator[tuple[str, int | None]]:
    """Return the files in the history of git that are not there any more, and whose paths give the entry's ID."""
    if surveyed.git is None or surveyed.inputs is None or entry is None:
        return
    listing = surveyed.inputs.listing
    there = {path for path, *_ in listing.files}
    for path, (_, last) in surveyed.git.dates.items():
        is_content = path[: path.rfind("/") + 1] in listing.reached and format_of(path.rpartition(".")[2]) is not None
        if is_content and path not in there:
            for uid, name, _ in listing.read(path, Problems()):
                if uid == api.uid and name.id is not None and entry in (name.id, slug_id(name.id)):
                    yield path, None if path in uncommitted(root).changed else last


def _unread(root: Path, surveyed: Surveyed, entry: str, named: set[str]) -> Iterator[str]:
    """Return the files that begin with an ID and a dot in the folders of content, without the ``named`` ones."""
    assert surveyed.inputs is not None  # it is asked for what they list
    folders = Folders(root)
    for folder in sorted(surveyed.inputs.listing.reached):
        for name in folders.named(folder.rstrip("/"), entry):
            path = f"{folder}{name}"
            if name != entry and path not in named and (root / path).is_file() and _reads_nothing(surveyed, path):
                yield path


def _reads_nothing(surveyed: Surveyed, path: str) -> bool:
    """Return whether no API reads a file."""
    assert surveyed.inputs is not None  # it is asked for what they list
    return format_of(path.rpartition(".")[2]) is None or not surveyed.inputs.listing.read(path, Problems())


def _unnamed(api: CheckedApi, place: tuple[str, int | None]) -> Problem:
    """Return a problem in the place of one that is only counted, where there are very many."""
    file, line = place
    return Problem(file, line or 1, "error", f"{api.api.endpoint}: the entry has an error", "not-kept")


def _uncommitted(root: Path, git: GitDates | None, files: set[str]) -> frozenset[str]:
    if git is None or not files:
        return frozenset()
    differing = uncommitted(root)
    return frozenset(
        file for file in files if file in differing.changed or file in differing.renamed or file not in git.dates
    )
