"""The keys of one workspace as the commands of ``cms key`` find and show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from cli.location import choose_workspace
from cli.output import documents, lines, tables, wording
from snapshots.times import now_ms, parse_datetime

if TYPE_CHECKING:
    from datetime import date
    from zoneinfo import ZoneInfo

    from engine.access.keys.access import AccessFile
    from engine.access.keys.keys import Key
    from engine.administration.administrator import Administrator
    from snapshots.model import Workspace
    from snapshots.store.store import Store, WorkspaceStore


@dataclass(frozen=True, slots=True)
class ChosenKeys:
    """The keys of one workspace, and the facts by which keys are judged and shown."""

    file: AccessFile
    workspace: Workspace
    now: int
    """UTC milliseconds."""
    store: Store
    workspace_store: WorkspaceStore
    """The workspace's part of the store."""

    @property
    def operator(self) -> Administrator:
        """The user of this command, in whose name keys are changed."""
        from engine.administration.administrator import operator

        return operator(self.workspace_store, self.now)

    @property
    def zone(self) -> ZoneInfo:
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.workspace.timezone)

    @property
    def today(self) -> date:
        from engine.access.keys.keys import local_date

        return local_date(self.now, self.zone)

    def all(self) -> tuple[Key, ...]:
        found = self.file.read()
        return found.keys if found else ()

    def documents(self, *keys: Key) -> list[dict[str, object]]:
        """Return keys as ``--json`` prints them, each with the last use that servers have written down so far."""
        from engine.access.keys.keys import key_document
        from engine.access.keys.last_use import last_uses

        uses = last_uses(self.workspace_store.objects, self.workspace_store.id)
        return [key_document(key, self.workspace, self.today, uses.get(key.id)) for key in keys]

    def document(self, key: Key) -> dict[str, object]:
        return self.documents(key)[0]


def open_keys(store: str | None, workspace_id: str | None) -> ChosenKeys:
    """Return the keys of the workspace that is meant. Raises ``ParquetryError`` where there is none."""
    from engine.access.keys.access import AccessFile

    chosen = choose_workspace(store, workspace_id)
    return ChosenKeys(
        AccessFile(chosen.workspace_store), chosen.workspace(), now_ms(), chosen.store, chosen.workspace_store
    )


def report_key(chosen: ChosenKeys, key: Key, sentence: str | None, *, json: bool) -> None:
    """Print a key after a sentence about it, or the key alone as a JSON document."""
    from engine.access.keys.keys import scope_text

    document = chosen.document(key)
    if json:
        documents.write_json(document)
        return
    if sentence:
        lines.message(sentence)
    zone = f"({chosen.workspace.timezone})"
    limit = key.rate_limit or chosen.workspace.rate_limit
    tables.facts(
        [
            ("Prefix", key.prefix),
            ("Name", key.name),
            ("Workspace", chosen.workspace.id),
            ("Scope", scope_text(key, chosen.workspace)),
            ("State", str(document["label"])),
            ("Valid", f"{key.period.start} to {key.period.end or 'no end date'} {zone}"),
            ("Rate limit", f"{limit:,} requests a minute{'' if key.rate_limit else ' (the workspace’s)'}"),
            ("Created", f"{wording.local_minute(key.created_at, chosen.zone)} {zone}"),
            ("Last used", f"{last_use(document, chosen)} {zone if document['lastUsedAt'] else ''}".rstrip()),
        ]
    )


def last_use(document: dict[str, object], chosen: ChosenKeys) -> str:
    """Return the instant of a key's last use in the workspace's time zone; a dash for a key never used."""
    moment = document["lastUsedAt"]
    return wording.local_minute(parse_datetime(str(moment), UTC), chosen.zone) if moment else "-"
