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
from snapshots.store.document import Document, JsonCodec
from snapshots.store.objects import Objects, Result

WEBHOOKS: Final = "webhooks.json"
FORMAT: Final = 1
"""The newest form of webhooks.json that this program writes; it refuses newer ones."""

Endpoints: TypeAlias = tuple[Endpoint, ...]
"""In the order in which they were added."""


class _Stored(msgspec.Struct, frozen=True):
    format: int
    writes: tuple[str, ...]
    """Write ids, the newest first."""
    endpoints: Endpoints


class WebhooksFile:
    """The webhooks.json of one workspace in a store."""

    def __init__(self, objects: Objects, workspace_id: str, announce: Callable[[], object] = lambda: None) -> None:
        """``announce`` tells whoever sends webhooks of changes; the sender does not tell itself of its own."""
        self._document: Document[Endpoints] = Document(
            objects, f"{workspace_id}/{WEBHOOKS}", _CODEC, (), private=True, announce=announce
        )

    def read(self) -> Endpoints:
        """Return the endpoints as they are now; none where there is no file. Raises as ``Document.read``."""
        return self._document.read()

    def edit(self, change: Callable[[Endpoints], tuple[Endpoints, Result]]) -> Result:
        """Replace the newest endpoints by the endpoints that ``change`` returns; return its other result.

        Raises as ``Document.edit``.
        """
        return self._document.edit(lambda endpoints, _: change(endpoints))


def _checked(stored: _Stored) -> Endpoints:
    if len({endpoint.id for endpoint in stored.endpoints}) < len(stored.endpoints):
        raise ValueError("two webhooks have the same id")
    for endpoint in stored.endpoints:
        if (fault := _fault(endpoint)) is not None:
            raise ValueError(f"webhook {endpoint.id}: {fault}")
    return stored.endpoints


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


_CODEC: Final = JsonCodec(
    _Stored,
    _checked,
    lambda endpoints: _Stored(FORMAT, (), endpoints),
    repair="No webhook is sent until it is repaired; without the file, there are none.",
    newest=FORMAT,
    for_people=True,
)
