"""``access.json``, which holds a workspace's keys: a key that is presented is found there, or refused."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, tzinfo
from enum import Enum
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from engine.access.keys.keys import (
    PREFIX_LENGTH,
    Key,
    KeyState,
    Period,
    changed_period,
    checked_name,
    checked_rate_limit,
    checked_scope,
    key_hash,
    key_state,
    local_date,
    new_key_id,
    new_key_text,
    new_period,
    only_takes_away,
)
from snapshots.problems import ParquetryError
from snapshots.store.document import Document, JsonCodec
from snapshots.store.objects import Conflict, Result
from snapshots.store.store import WorkspaceStore
from snapshots.times import format_datetime, parse_datetime

ACCESS = "access.json"
FORMAT = 2
"""The newest form of access.json this program writes; it refuses newer ones. The second has the ids of the last edits,
which a bucket needs. A directory gets the first, which programs read that know no buckets."""
SECRET_BYTES = 32

_PREFIX = re.compile(r"pq_[0-9A-Za-z]{8}")
_HASH = re.compile(r"[0-9a-f]{64}")


class UnknownKey(ParquetryError):
    """No key, or more than one, has the given name or prefix."""


class KeyTaken(ParquetryError):
    """There is a key with this ID already."""


class KeyRejected(ParquetryError):
    """The request is not authenticated (401): no key, an unknown one, or one that is not valid now."""

    def __init__(self, message: str, prefix: str | None = None) -> None:
        super().__init__(message)
        self.prefix = prefix
        """The prefix of the key where it is one that was issued."""


class WrongWorkspace(ParquetryError):
    """The key was issued in another workspace (403)."""

    def __init__(self, prefix: str) -> None:
        super().__init__("This API key belongs to another workspace.")
        self.prefix = prefix


class AccessList(msgspec.Struct, frozen=True):
    """The content of access.json."""

    keys: tuple[Key, ...]
    """In the order of their creation."""
    draft_secret: bytes
    """The secret that draft keys are derived from."""


class _StoredKey(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    id: str
    prefix: str
    name: str
    hash: str
    scope: Literal["all"] | list[str]
    start: date
    end: date | None
    disabled: bool
    rate_limit: int | None
    created_at: str


class _StoredList(msgspec.Struct, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    format: int
    draft_secret: str
    keys: list[_StoredKey]
    writes: tuple[str, ...] = ()


class AccessFile:
    """The access.json of one workspace in a store. Readers need no lock: the file is replaced as a whole."""

    def __init__(self, workspace: WorkspaceStore | Path) -> None:
        """``workspace`` is its part of a store, or the directory that is that part."""
        if isinstance(workspace, Path):
            workspace = WorkspaceStore(workspace.name, workspace)
        self.path = workspace.directory / ACCESS
        """Where the file is in a store that is a directory, and in a mirror."""
        key = f"{workspace.id}/{ACCESS}"
        self._document: Document[AccessList | None] = Document(
            workspace.objects, key, ACCESS_CODEC, None, private=True, announce=workspace.announce
        )

    def read(self) -> AccessList | None:
        """The keys as they are now, or ``None`` when no key was ever issued here. Raises as ``Document.read``."""
        return self._document.read()

    def edit(self, change: Callable[[AccessList], tuple[AccessList, Result]], *, takes_away: bool = False) -> Result:
        """Put what a change makes of the list in its place, as ``Document.edit``; return what it returned beside it.

        A file that is not there yet begins empty, with a new draft secret.
        """
        return self._document.edit(
            lambda found, _: change(found or AccessList((), secrets.token_bytes(SECRET_BYTES))), takes_away=takes_away
        )


def _stored_list(access: AccessList) -> _StoredList:
    return _StoredList(
        FORMAT,
        access.draft_secret.hex(),
        [
            _StoredKey(
                id=key.id,
                prefix=key.prefix,
                name=key.name,
                hash=key.hash,
                scope="all" if key.scope is None else sorted(key.scope),
                start=key.period.start,
                end=key.period.end,
                disabled=key.disabled,
                rate_limit=key.rate_limit,
                created_at=format_datetime(key.created_at),
            )
            for key in access.keys
        ],
    )


def _loaded_list(stored: _StoredList) -> AccessList:
    """The list that is stored. Anything unexpected refuses all of it: half of a list of keys cannot be trusted."""
    access = AccessList(tuple(map(_loaded, stored.keys)), bytes.fromhex(stored.draft_secret))
    if len(access.draft_secret) < SECRET_BYTES:
        raise ValueError(f"the draft secret is shorter than {SECRET_BYTES} bytes")
    for attribute in ("id", "prefix", "hash"):
        if len({getattr(key, attribute) for key in access.keys}) < len(access.keys):
            raise ValueError(f"two keys have the same {attribute}")
    return access


def _loaded(stored: _StoredKey) -> Key:
    if not _PREFIX.fullmatch(stored.prefix) or not _HASH.fullmatch(stored.hash):
        raise ValueError(f'key "{stored.id}" has a prefix or a hash of the wrong form')
    if stored.end is not None and stored.end < stored.start:
        raise ValueError(f'key "{stored.id}" ends before it starts')
    return Key(
        id=stored.id,
        prefix=stored.prefix,
        name=stored.name,
        hash=stored.hash,
        scope=None if stored.scope == "all" else frozenset(stored.scope),
        period=Period(stored.start, stored.end),
        disabled=stored.disabled,
        rate_limit=stored.rate_limit,
        created_at=parse_datetime(stored.created_at, UTC),
    )


ACCESS_CODEC: Final = JsonCodec(
    _StoredList,
    _loaded_list,
    _stored_list,
    repair="Repair it, or remove it and issue new keys.",
    newest=FORMAT,
    without_writes=1,
    for_people=True,
)


def issue_key(
    file: AccessFile,
    *,
    name: str,
    scope: frozenset[str] | None,
    now: int,
    zone: tzinfo,
    validity: str | None = None,
    start: date | None = None,
    end: date | None = None,
    rate_limit: int | None = None,
    key_id: str | None = None,
) -> tuple[Key, str]:
    """Issue a key and store its hash: (the key, its whole text). The text exists nowhere else and never again.

    ``now`` is UTC milliseconds, ``zone`` the workspace's. Whoever may be asked for the same key twice gives the
    ``key_id`` from ``new_key_id``, which is issued once. Raises ``InvalidKeySettings``, ``KeyTaken``,
    ``DamagedDocument`` or ``StoreError``.
    """
    period = new_period(validity, start, end, local_date(now, zone))
    name, scope, rate_limit = checked_name(name), checked_scope(scope), checked_rate_limit(rate_limit)

    def add(access: AccessList) -> tuple[AccessList, tuple[Key, str]]:
        if any(key.id == key_id for key in access.keys):
            raise KeyTaken(f'The key "{name}" was issued already.')
        taken = {key.prefix for key in access.keys}
        text = next(text for text in iter(new_key_text, "") if text[:PREFIX_LENGTH] not in taken)
        key = Key(
            id=key_id or new_key_id(),
            prefix=text[:PREFIX_LENGTH],
            name=name,
            hash=key_hash(text.encode("ascii")),
            scope=scope,
            period=period,
            disabled=False,
            rate_limit=rate_limit,
            created_at=now,
        )
        return replace(access, keys=(*access.keys, key)), (key, text)

    return file.edit(add)


class Keep(Enum):
    """The value of a setting that an edit leaves as it is."""

    KEEP = "keep"


KEEP = Keep.KEEP


class KeyChange(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a key that are changed. Those that are not given stay as they are."""

    name: str | None = None
    scope: frozenset[str] | Keep | None = KEEP
    validity: str | None = None
    start: date | None = None
    end: date | None = None
    rate_limit: int | Keep | None = KEEP

    def applied(self, key: Key, today: date) -> Key:
        """Return a key as it is after the change on a day. Raises ``InvalidKeySettings``."""
        return replace(
            key,
            name=key.name if self.name is None else checked_name(self.name),
            scope=key.scope if isinstance(self.scope, Keep) else checked_scope(self.scope),
            period=changed_period(key.period, self.validity, self.start, self.end, today),
            rate_limit=key.rate_limit if isinstance(self.rate_limit, Keep) else checked_rate_limit(self.rate_limit),
        )


def edit_key(
    file: AccessFile, prefix: str, change: KeyChange, *, now: int, zone: tzinfo, takes_away: bool = False
) -> Key:
    """Change a key's name, scope, period or limit; its value stays.

    ``takes_away`` says that the key can do less after it, and nothing that it could not do: where that does not hold,
    since somebody else took more away meanwhile, ``Conflict`` is raised. An end date already past is accepted and
    expires the key at once: ``key_state`` of the result tells.
    Raises ``UnknownKey``, ``InvalidKeySettings`` or ``DamagedDocument``, too.
    """
    today = local_date(now, zone)

    def changed(key: Key) -> Key:
        after = change.applied(key, today)
        if takes_away and after != key and not only_takes_away(key, after):
            raise Conflict(f"The key {prefix} was changed by somebody else meanwhile. Look at it, and try again.")
        return after

    return _replace_key(file, prefix, changed, takes_away=takes_away)


def disable_key(file: AccessFile, prefix: str) -> Key:
    """Make a key be refused until it is enabled again. Raises ``UnknownKey`` or ``DamagedDocument``."""
    return _replace_key(file, prefix, lambda key: replace(key, disabled=True), takes_away=True)


def enable_key(file: AccessFile, prefix: str) -> Key:
    """Take a key out of the disabled state; its period decides again. Raises ``UnknownKey`` or ``DamagedDocument``."""
    return _replace_key(file, prefix, lambda key: replace(key, disabled=False))


def delete_key(file: AccessFile, prefix: str) -> Key:
    """Remove a key for good; returns what it was. Raises ``UnknownKey`` or ``DamagedDocument``."""

    def remove(access: AccessList) -> tuple[AccessList, Key]:
        deleted = find_key(access.keys, prefix)
        return replace(access, keys=tuple(key for key in access.keys if key.id != deleted.id)), deleted

    return file.edit(remove, takes_away=True)


def new_draft_secret(file: AccessFile) -> AccessList:
    """Exchange the draft secret, so that every derived draft key changes. Raises ``DamagedDocument``."""

    def exchanged(access: AccessList) -> tuple[AccessList, AccessList]:
        after = replace(access, draft_secret=secrets.token_bytes(SECRET_BYTES))
        return after, after

    return file.edit(exchanged)


def find_key(keys: Iterable[Key], named: str) -> Key:
    """The key with this prefix or an unambiguous beginning of it, with or without ``pq_``, or with this name.

    Raises ``UnknownKey``, naming the candidates where several are called so.
    """
    start = named[:PREFIX_LENGTH] if named.startswith("pq_") else f"pq_{named}"
    is_beginning = named not in {"", "pq_"}
    keys = tuple(keys)
    found = [key for key in keys if key.prefix == named]  # whatever other keys are called
    found = found or [key for key in keys if key.name == named or (is_beginning and key.prefix.startswith(start))]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f'{key.prefix} ("{key.name}")' for key in found[:5])
        raise UnknownKey(
            f'Several keys begin with "{start[:PREFIX_LENGTH]}" or have this name: {names}. Give more of the prefix.'
        )
    raise UnknownKey(
        f'No key begins with "{start[:PREFIX_LENGTH]}" or has this name. `cms key list` shows prefixes and names.'
    )


def _replace_key(file: AccessFile, prefix: str, changed: Callable[[Key], Key], *, takes_away: bool = False) -> Key:
    def swap(access: AccessList) -> tuple[AccessList, Key]:
        old = find_key(access.keys, prefix)
        new = changed(old)
        return replace(access, keys=tuple(new if key.id == old.id else key for key in access.keys)), new

    return file.edit(swap, takes_away=takes_away)


_Candidate = tuple[str, tuple[str, Key] | None]
"""The hash of a key, and the workspace and the key it is."""
_NOBODY: list[_Candidate] = [("0" * 64, None)]


def valid_key(key: Key, now: int, zone: tzinfo) -> Key:
    """Return the key, where it is enabled and inside its validity at ``now`` (UTC ms). Raises ``KeyRejected``."""
    match key_state(key, local_date(now, zone)):
        case KeyState.DISABLED:
            raise KeyRejected("This API key is disabled.", key.prefix)
        case KeyState.NOT_YET_VALID:
            raise KeyRejected("This API key's validity period has not started yet.", key.prefix)
        case KeyState.EXPIRED:
            raise KeyRejected("This API key has expired.", key.prefix)
    return key


class Keyring:
    """The keys of all workspaces of a store, to tell whose key a request presents."""

    def __init__(self, lists: Mapping[str, AccessList]) -> None:
        self._keys: dict[bytes, list[_Candidate]] = {}
        for workspace, access in lists.items():
            for key in access.keys:
                self._keys.setdefault(key.prefix.encode("ascii"), []).append((key.hash, (workspace, key)))

    def authorize(self, presented: bytes | None, workspace: str, now: int, zone: tzinfo) -> Key:
        """The valid key of ``workspace`` that ``presented`` is, checked in the order of decision 1.

        ``now`` is UTC milliseconds; validity is whole days in ``zone``, the workspace's. Raises
        ``KeyRejected`` (missing, unknown, disabled, outside its validity) or ``WrongWorkspace``; contract 7 and
        decision 26 give the messages.
        """
        return valid_key(self.identify(presented, workspace), now, zone)

    def identify(self, presented: bytes | None, workspace: str) -> Key:
        """The key of ``workspace`` that ``presented`` is, valid now or not. Raises as ``authorize``."""
        owner, key = self._identify(presented)
        if owner != workspace:
            raise WrongWorkspace(key.prefix)
        return key

    def _identify(self, presented: bytes | None) -> tuple[str, Key]:
        if not presented:
            raise KeyRejected("An API key is required.")
        # An unknown prefix is compared too, so that time does not tell it from a known prefix with a wrong rest.
        presented_hash = key_hash(presented)
        found: tuple[str, Key] | None = None
        for expected, candidate in self._keys.get(presented[:PREFIX_LENGTH], _NOBODY):
            if hmac.compare_digest(presented_hash, expected):
                found = candidate
        if found is None:
            raise KeyRejected("This API key is not valid.")
        return found
