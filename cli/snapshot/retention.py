"""Delete old versions: for ``cms snapshot prune`` and ``cms snapshot build --keep``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from cli.output import lines, wording
from snapshots.problems import ParquetryError
from snapshots.times import now_ms

if TYPE_CHECKING:
    from engine.administration.versions import Pruned
    from snapshots.store.store import Store, WorkspaceStore

KEEP_VARIABLE: Final = "CMS_KEEP_VERSIONS"
"""The setting of ``--keep`` in the environment."""


def delete_old(store: Store, workspace_store: WorkspaceStore, keep: int) -> Pruned:
    """Delete all but the newest ``keep`` versions that no server has open, and their cached files. Raises
    ``StoreError``."""
    from msgspec.structs import replace

    from engine.administration.administrator import operator
    from engine.administration.versions import prune

    pruned = prune(operator(workspace_store, now_ms()), keep)
    return replace(pruned, freed=pruned.freed + drop_cached(store, workspace_store))


def drop_cached(store: Store, workspace_store: WorkspaceStore) -> int:
    """Delete the cached files of versions that are gone; return the bytes freed. Raises ``StoreError``."""
    from engine.read.files.paths import cache_paths
    from engine.read.materialise.materialise import drop_pruned
    from engine.read.materialise.shared_upkeep import drop_shared

    freed = 0
    with suppress(ParquetryError):  # the cache of a server, which frees it itself
        freed += drop_pruned(cache_paths(store.cache, workspace_store.id), workspace_store.snapshots)
    if workspace_store.bucket is not None:
        freed += drop_shared(workspace_store)
    return freed


def tell_of_spared(pruned: Pruned) -> None:
    """Say on standard error which old versions stay because servers have them open, or somebody pushes them."""
    for version, hosts in pruned.spared.items():
        lines.message(f"left {version}: open within the last hour on {', '.join(hosts)}")
    for version in pruned.carried:
        lines.message(
            f"left {version} to a later prune: it is being pushed, or a push was cut off in the last 24 hours"
        )


def pruned_sentence(pruned: Pruned) -> str:
    """Return what was deleted, as a sentence."""
    return f"{wording.plural(len(pruned.removed), 'snapshot version')} removed, {wording.size(pruned.freed)} freed."
