"""The words that a shell offers for the one being typed: versions, keys, endpoints and workspaces of the store at hand.

Without a store that can be read, no words are offered: a shell is no place for messages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import typer

from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from cli.location import ChosenWorkspace

Offers: TypeAlias = list[tuple[str, str]]
"""(word, its description) in the order shown."""
_ABOUT_ALL = (
    ("_schema", "the APIs and their fields"),
    ("_openapi", "the same as an OpenAPI document"),
    ("_types/typescript", "types and a client"),
    ("_types/python", "types and a client"),
)


def versions(context: typer.Context, incomplete: str) -> Offers:
    """Return the versions that begin with ``incomplete``, newest first, the current one marked."""
    with suppress(ParquetryError, OSError):
        workspace_store = _chosen(context).workspace_store
        current = None
        with suppress(ParquetryError):  # a damaged pointer, which activating a version repairs
            found = workspace_store.current()
            current = found and found.version
        return [
            (version, "current" if version == current else "")
            for version in workspace_store.versions()
            if version.startswith(incomplete)
        ]
    return []


def keys(context: typer.Context, incomplete: str) -> Offers:
    """Return the prefixes that begin with ``incomplete``, each with its key's name; then the names that begin with
    ``incomplete``, if they have no blank and belong to one key only."""
    from engine.access.keys.access import AccessFile

    with suppress(ParquetryError, OSError):
        found = AccessFile(_chosen(context).workspace_store).read()
        issued = found.keys if found is not None else ()
        names = [key.name for key in issued]
        return [(key.prefix, key.name) for key in issued if key.prefix.startswith(incomplete)] + [
            (key.name, key.prefix)
            for key in issued
            if incomplete and key.name.startswith(incomplete) and names.count(key.name) == 1
            if key.name.isprintable() and " " not in key.name
        ]
    return []


def webhooks(context: typer.Context, incomplete: str) -> Offers:
    """Return the IDs of webhooks that begin with ``incomplete``, each with its host."""
    from urllib.parse import urlsplit

    from engine.webhooks.webhooks_file import WebhooksFile

    with suppress(ParquetryError, OSError):
        chosen = _chosen(context)
        found = WebhooksFile(chosen.store.objects, chosen.workspace_store.id).read()
        return [(one.id, urlsplit(one.url).netloc) for one in found if one.id.startswith(incomplete)]
    return []


def endpoints(context: typer.Context, incomplete: str) -> Offers:
    """Return the endpoints that begin with ``incomplete``, each with its API's name."""
    return [offer for offer in _endpoints(context) if offer[0].startswith(incomplete)]


def targets(context: typer.Context, incomplete: str) -> Offers:
    """Return the endpoints, and the paths about all of them, that begin with ``incomplete``: a request begins with one
    of them."""
    offers = [*_endpoints(context), *_ABOUT_ALL]
    return [offer for offer in offers if offer[0].startswith(incomplete)]


def workspaces(context: typer.Context, incomplete: str) -> Offers:
    """Return the IDs of the store's workspaces that begin with ``incomplete``."""
    from cli.location import nearest_workspace, store_at

    with suppress(ParquetryError, OSError):
        found = store_at(_store(context), nearest_workspace()).workspaces()
        return [(name, "") for name in found if name.startswith(incomplete)]
    return []


def _endpoints(context: typer.Context) -> Iterator[tuple[str, str]]:
    with suppress(ParquetryError, OSError):
        for api in _chosen(context).workspace().apis:
            yield api.endpoint, api.name


def _chosen(context: typer.Context) -> ChosenWorkspace:
    from cli.location import choose_workspace

    return choose_workspace(_store(context), context.params.get("workspace_id"))


def _store(context: typer.Context) -> str | None:
    given = context.params.get("store") or os.environ.get("CMS_STORE")
    return None if given is None else str(given)
