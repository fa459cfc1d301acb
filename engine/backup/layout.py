"""What lies where in a backup, and the form of the list of one backup.

    <place>/backups/<instant>-<16 hex>.json      one backup: its objects, each with size and SHA-256; the name has the
                                                 beginning of the list's own SHA-256
    <place>/content/<2 hex>/<64 hex>             content, named by its SHA-256, which all backups of a place share

A list is written last: what a killed backup left is content that no list names, and the next one uses it. No content is
ever changed, so a backup takes only what no earlier one took. Objects have the keys that they have in a store, but for
page views on their way into the counts, which have one key wherever the store is (``segment_key``).
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Final

import msgspec

from snapshots.problems import ParquetryError
from snapshots.store.durable import StoreError
from snapshots.store.objects import ABSENT, Objects, checked_key

FORMAT: Final = 1
"""The newest form of a list that this program writes; it refuses newer ones."""
BACKUPS: Final = "backups"
CONTENT: Final = "content"
_NAME: Final = re.compile(r"([0-9]{8}T[0-9]{9}Z)-([0-9a-f]{16})")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_SEGMENT: Final = re.compile(r"([^/]+)/views/spool/([^/]+)/sealed-([0-9]{1,18})\.ndjson")


class NoBackup(StoreError):
    """There is no backup, or none of this name."""


class BackupDamaged(StoreError):
    """A backup is not as it was written, or of a newer form than this program reads."""


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One object of a backup."""

    key: str
    bytes: int
    sha256: str
    private: bool = False
    """Whether it is for the owner's eyes alone."""
    modified_at: int = 0
    """When it was last changed in the store, UTC milliseconds by the clock of the store."""


class SavedWorkspace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workspace of a backup."""

    id: str
    current: str | None
    """The version that was current; ``None`` where none was, or it could not be saved."""
    versions: tuple[str, ...]
    """The versions that were saved, newest first."""


class Backup(msgspec.Struct, frozen=True):
    """The list of one backup."""

    format: int
    program: str
    source: str
    """Where the store was."""
    begun_at: int
    """UTC milliseconds: what was acknowledged before is in the backup."""
    workspaces: tuple[SavedWorkspace, ...]
    items: tuple[Item, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all content, of which versions share much."""
        return sum({item.sha256: item.bytes for item in self.items}.values())


class NamedBackup(msgspec.Struct, frozen=True):
    """A backup, and the name of its list."""

    name: str
    backup: Backup


class _Format(msgspec.Struct):
    format: int = 0


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(Backup).decode
_decode_format: Final = msgspec.json.Decoder(_Format).decode


def content_key(sha256: str) -> str:
    """Return the key of content in a backup."""
    return f"{CONTENT}/{sha256[:2]}/{sha256}"


def segment_key(workspace: str, sender: str, number: int) -> str:
    """Return the key that a segment of page views has in a backup."""
    return f"{workspace}/views/spool/{sender}/sealed-{number}.ndjson"


def segment_of(key: str) -> tuple[str, str, int] | None:
    """Return the workspace, sender and number of a segment by its key in a backup; ``None`` for another object."""
    found = _SEGMENT.fullmatch(key)
    return None if found is None else (found[1], found[2], int(found[3]))


def names(place: Objects) -> list[str]:
    """Return the names of all backups of a place, newest first. Raises ``StoreError``."""
    listed = (one.key.removeprefix(f"{BACKUPS}/").removesuffix(".json") for one in place.names(BACKUPS))
    return sorted((name for name in listed if _NAME.fullmatch(name)), reverse=True)


def made_at(name: str) -> int:
    """Return when a backup was begun by its name, UTC milliseconds."""
    moment = datetime.strptime(name.partition("-")[0].removesuffix("Z") + "000", "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1000 + moment.microsecond // 1000


def put_list(place: Objects, backup: Backup) -> str:
    """Write the list of a backup, and return its name. Raises ``StoreError``."""
    data = msgspec.json.encode(backup) + b"\n"
    seconds, milliseconds = divmod(backup.begun_at, 1000)
    moment = f"{datetime.fromtimestamp(seconds, UTC):%Y%m%dT%H%M%S}{milliseconds:03d}Z"
    name = f"{moment}-{_digest(data)}"
    place.replace(f"{BACKUPS}/{name}.json", data, ABSENT, private=True)
    return name


def read_list(place: Objects, name: str) -> Backup:
    """Return a backup by its name. Raises ``NoBackup``, ``BackupDamaged`` and ``StoreError``."""
    key = f"{BACKUPS}/{name}.json"
    where = f"{place.location}/{key}"
    found = place.read(key)
    if found is None:
        raise NoBackup(f"{where} is not there.")
    if _digest(found.data) != name.partition("-")[2]:
        raise BackupDamaged(f"{where} is damaged: its content is not the one that its name says. Use another backup.")
    try:
        form = _decode_format(found.data).format
        if form > FORMAT:
            raise BackupDamaged(
                f"{where}: backup format {form} is newer than this program reads ({FORMAT}). Upgrade parquetry here."
            )
        return _checked(_decode(found.data))
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, StoreError) as error:
        if isinstance(error, BackupDamaged):
            raise
        raise BackupDamaged(f"{where} is no list of a backup: {error} Use another backup.") from None


def find(place: Objects, prefix: str | None) -> NamedBackup:
    """Return the backup whose name begins with ``prefix``, without one the newest.

    Raises ``NoBackup``, where several begin so too, ``BackupDamaged`` and ``StoreError``.
    """
    there = names(place)
    found = there if prefix is None else [name for name in there if name.startswith(prefix)]
    if not found:
        named = "no backup" if prefix is None else f'no backup that begins with "{prefix}"'
        raise NoBackup(f"{place.location} has {named}. `cms backup {place.location}` makes one.")
    if prefix is not None and len(found) > 1:
        raise NoBackup(f'"{prefix}" is the beginning of {len(found)} backups ({found[-1]} to {found[0]}).')
    return NamedBackup(found[0], read_list(place, found[0]))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _checked(backup: Backup) -> Backup:
    """Return a backup whose objects have keys of a store. Raises ``ValueError`` and ``StoreError``: anybody who can
    write to the place may have made the list."""
    keys = set()
    for item in backup.items:
        checked_key(item.key)
        if item.key in keys or item.bytes < 0 or not _SHA256.fullmatch(item.sha256):
            raise ValueError(f"{item.key!r} is there twice, or has no size or SHA-256.")
        keys.add(item.key)
    folders = {key.rpartition("/")[0] for key in keys}
    folders |= {parent for folder in folders for parent in _above(folder)}
    if both := keys & folders:
        raise ValueError(f"{min(both)!r} is an object and a folder.")
    return backup


def _above(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


class BackupFailed(ParquetryError):
    """A backup could not be made whole; what there is of it is of no harm."""
