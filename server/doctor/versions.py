"""Versions of the program and of what it reads, and whether what is current can be served."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.access.keys.access import AccessFile
from engine.administration.heartbeats import SILENT_MS, heard_readers
from server.doctor.finding import Case, Finding
from snapshots.problems import ParquetryError
from snapshots.store.manifest import FORMAT
from snapshots.store.verification import missing_files
from snapshots.version import PROGRAM

SUBJECT: Final = "versions"
_NEW_KEYS: Final = "Requests with keys that the server has not read yet are refused."


def look(case: Case) -> Iterator[Finding]:
    """Look at the workspaces' documents and current versions, and at the programs of servers."""
    names = case.store.workspaces()
    if not names:
        yield Finding(
            SUBJECT,
            False,
            f"The store {case.store.location} holds no workspace.",
            "There is nothing to serve: perhaps this is not the store you mean.",
            "cms snapshot build WORKSPACE",
        )
    for name in names:
        yield from _workspace(case, name)
    for one in heard_readers(case.store.objects):
        is_heard = case.now - one.heard_at < SILENT_MS
        if is_heard and one.reader is not None and one.reader.program != PROGRAM:
            yield Finding(
                SUBJECT,
                False,
                f"The server on {one.reader.host} is {one.reader.program}, and this program {PROGRAM}.",
                "What a newer program writes, an older one may refuse.",
                "systemctl restart parquetry    # where the server is the older one; else install the newer here",
            )


def _workspace(case: Case, name: str) -> Iterator[Finding]:
    place = case.store.workspace(name)
    try:
        AccessFile(place).read()
    except ParquetryError as error:
        yield Finding(SUBJECT, True, str(error), _NEW_KEYS, "cms restore PLACE --list")
    try:
        current = place.current()
    except ParquetryError as error:
        yield Finding(
            SUBJECT,
            True,
            str(error),
            "A server that is started serves nothing of the workspace.",
            f"cms snapshot activate -w {name} VERSION",
        )
        return
    if current is None:
        yield Finding(
            SUBJECT,
            True,
            f"No snapshot version of {name} is current.",
            "Nothing of the workspace is served.",
            f"cms snapshot activate -w {name} VERSION    # one of `cms snapshot list -w {name}`",
        )
        return
    try:
        manifest = place.manifest(current.version)
        wrong = next(missing_files(case.store.objects, manifest), None)
    except ParquetryError as error:
        yield Finding(
            SUBJECT,
            True,
            str(error),
            "A server that is started cannot serve what is current.",
            f"cms snapshot verify -w {name}",
        )
        return
    if wrong is not None:
        yield Finding(
            SUBJECT,
            True,
            f"The current snapshot version of {name}, {current.version}, is damaged: {wrong}.",
            "A server that is started cannot serve it.",
            f"cms snapshot verify -w {name}",
        )
    if manifest.format < FORMAT:
        yield Finding(
            SUBJECT,
            False,
            f"The current snapshot version of {name} has format {manifest.format}; this program writes {FORMAT}.",
            "It is served all the same; what the newer format brings comes with the next version.",
            "cms snapshot build WORKSPACE",
        )
