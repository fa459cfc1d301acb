"""Hold what machines answer from the versions of a run: opened one after the other, as they became current, each is
what a build from nothing makes of the same files, opened by itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.read.query.answers.bind import NotFound
from engine.read.query.invalid_query import InvalidQuery
from engine.read.reader.reader import open_reader
from snapshots.store.store import Store
from tests.generated.asked import asked
from tests.simulation.ledger import Violated

if TYPE_CHECKING:
    from tests.simulation.below.template import Template

_ASKED = (
    "news?limit=10&depth=1",
    "facts?limit=10&depth=2",
    "facts?q=two",
    "facts?orders=kind&fields=id",
    "facts?filters=kind[equals]two",
    "facts?filters=kind[contains]tw",
)
_AT = 1_800_000_000_000


def check_openings(template: Template, workspace: str, versions: Iterable[str], cache: Path) -> None:
    """Open versions with one cache. Raises ``Violated``, and what the product should not have raised."""
    for version in dict.fromkeys(versions):
        fresh, same = template.fresh(workspace, version)
        if _files(template.store, workspace, version) != _files(fresh, workspace, same):
            raise Violated(f"{version} of {workspace} has other files than a build from nothing makes")
        if (workspace, version) not in template.answers:
            template.answers[workspace, version] = _answers(fresh, workspace, same, fresh.cache)
        found = _answers(template.store, workspace, version, cache)
        wrong = [one for one, wanted in template.answers[workspace, version].items() if found[one] != wanted]
        if wrong:
            raise Violated(f"{version} of {workspace} answers otherwise than a build from nothing: {wrong}")


def _files(store: Store, workspace: str, version: str) -> object:
    return store.workspace(workspace).manifest(version).files


def _answers(store: Store, workspace: str, version: str, cache: Path) -> dict[str, str]:
    there = store.workspace(workspace)
    reader = open_reader(there.snapshots / version, there.manifest(version), cache)
    found = {}
    try:
        for target in _ASKED:
            try:
                found[target] = asked(reader, target, _AT, secret=b"the same for all").decode()
            except (InvalidQuery, NotFound) as error:
                found[target] = f"{type(error).__name__}: {error}"
    finally:
        reader.close()
    return found
