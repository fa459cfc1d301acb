"""webhooks.json: the endpoints of one workspace and their ledgers, changed by compare-and-set.

<store>/<workspace>/webhooks.json      mode 0600 in a directory: it holds signing secrets and tokens
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from engine.webhooks.addresses import WebhookUrlRefused, parse_target
from engine.webhooks.endpoint import Endpoint
from engine.webhooks.formats import FORMATS
from engine.webhooks.signatures import can_sign
from snapshots.problems import ParquetryError
from snapshots.store.changes import announce
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import UNCHANGED, Objects, Result

WEBHOOKS: Final = "webhooks.json"
FORMAT: Final = 1
"""The newest form of webhooks.json that this program writes; it refuses newer ones."""
_KEPT_WRITES: Final = 50
"""The number of write ids that are kept, by which ``Objects.edit`` recognises its own change."""

Endpoints: TypeAlias = tuple[Endpoint, ...]
"""In the order in which they were added."""


class WebhooksFileError(ParquetryError):
    """webhooks.json is damaged, or of a newer form than this program knows."""


class _Stored(msgspec.Struct, frozen=True):
    format: int
    writes: tuple[str, ...]
    """Write ids, the newest first."""
    endpoints: Endpoints


class _Form(msgspec.Struct):
    format: int


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(_Stored).decode
_decode_form: Final = msgspec.json.Decoder(_Form).decode


class WebhooksFile:
    """The webhooks.json of one workspace in a store."""

    def __init__(self, objects: Objects, workspace_id: str) -> None:
        self._objects = objects
        self._workspace = workspace_id
        self._key = f"{workspace_id}/{WEBHOOKS}"
        self._tag: str | None = None
        self._known: Endpoints = ()

    def read(self) -> Endpoints:
        """Return the endpoints as they are now; none where there is no file.

        Raises ``WebhooksFileError``, and ``StoreError`` when it cannot be read.
        """
        tag = self._tag
        found = self._objects.read(self._key) if tag is None else self._objects.read_if_changed(self._key, tag)
        if found is UNCHANGED:
            return self._known
        if found is None:
            self._tag, self._known = None, ()
        else:
            self._known = self._decoded(found.data).endpoints
            self._tag = found.tag
        return self._known

    def edit(self, change: Callable[[Endpoints], tuple[Endpoints, Result]], *, announced: bool = True) -> Result:
        """Put what a change makes of the newest endpoints in their place; return what it returned beside them.

        In a bucket, whoever sends webhooks is told of it, unless it is the sender's own (``announced=False``).
        ``change`` sees the newest endpoints, once more where somebody else was quicker, and what is returned is of the
        try that was stored. Killed at any instant, the file is the old one or the new one. Raises
        ``WebhooksFileError`` where it is damaged (it is never overwritten then), and ``StoreError`` when it cannot be
        written.
        """

        def changed(data: bytes | None, write: str) -> tuple[bytes | None, tuple[bool, Result]]:
            before = _Stored(FORMAT, (), ()) if data is None else self._decoded(data)
            after, result = change(before.endpoints)
            if after == before.endpoints:
                return None, (False, result)
            writes = (write, *before.writes)[:_KEPT_WRITES]
            stored = msgspec.json.encode(_Stored(FORMAT, writes, after), order="deterministic")
            return msgspec.json.format(stored, indent=1) + b"\n", (True, result)

        is_new, result = self._objects.edit(self._key, changed, private=True).result
        if is_new and announced and not isinstance(self._objects, DirectoryObjects):
            announce(self._objects, self._workspace)
        return result

    def _decoded(self, data: bytes) -> _Stored:
        where = f"{self._objects.location}/{self._key}"
        try:
            if (form := _decode_form(data).format) > FORMAT:
                raise WebhooksFileError(
                    f"{where}: format {form} is newer than this program reads ({FORMAT}). Upgrade parquetry here."
                )
            stored = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WebhooksFileError(
                f"{where}: damaged: {error}. No webhook is sent until it is repaired; without the file, there are none."
            ) from None
        if len({endpoint.id for endpoint in stored.endpoints}) < len(stored.endpoints):
            raise WebhooksFileError(f"{where}: damaged: two webhooks have the same id.")
        for endpoint in stored.endpoints:
            if (fault := _fault(endpoint)) is not None:
                raise WebhooksFileError(
                    f"{where}: damaged: webhook {endpoint.id}: {fault} No webhook is sent until it is repaired."
                )
        return stored


def _fault(endpoint: Endpoint) -> str | None:
    """Return why an endpoint can never be told anything, which `cms webhook` would not have written."""
    try:
        parse_target(endpoint.url, allow_loopback=True)  # the address is judged when it is connected to
    except WebhookUrlRefused as refusal:
        return str(refusal)
    if endpoint.format not in FORMATS:
        return f'There is no format "{endpoint.format}". There are: {", ".join(FORMATS)}.'
    if FORMATS[endpoint.format].takes_token:
        return None if endpoint.token else f"The format {endpoint.format} needs a token."
    if not endpoint.secrets or not all(can_sign(secret.text) for secret in endpoint.secrets):
        return "It needs secrets to sign with, such as `cms webhook add` makes: whsec_ and base64."
    return None
