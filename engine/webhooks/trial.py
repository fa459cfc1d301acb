"""Try an endpoint with a request now, and tell the outcome."""

from __future__ import annotations

import asyncio
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec

from engine.webhooks.addresses import parse_target
from engine.webhooks.endpoint import Endpoint
from engine.webhooks.events import trial_event
from engine.webhooks.formats import FORMATS
from engine.webhooks.post import Post, PostResult, WebhookClient, system_resolver, trusted_authorities, unforeseen
from snapshots.model import Workspace


class Trial(msgspec.Struct, frozen=True):
    """The answer to a trial request."""

    result: PostResult
    seconds: float


def try_endpoint(endpoint: Endpoint, workspace: Workspace, *, allow_loopback: bool, now: int) -> Trial:
    """Send an endpoint an event of the type webhook.test, or for a purge format a purge of a tag that nothing has.

    ``now`` is UTC milliseconds. It may take ``post.SECONDS``. Raises ``WebhookUrlRefused``.
    """
    event = trial_event(endpoint, workspace.id, now, f"msg_{secrets.token_hex(16)}")
    message = FORMATS[endpoint.format].trial(event, workspace.id, endpoint, now)
    request = Post(parse_target(endpoint.url, allow_loopback=allow_loopback), *message)
    started = time.monotonic()
    with ThreadPoolExecutor(1) as threads:
        client = WebhookClient(
            allow_loopback=allow_loopback, trust=trusted_authorities(), resolve=system_resolver(threads)
        )
        try:
            result = asyncio.run(client.post(request, now))
        except Exception as error:
            result = unforeseen(error)
    return Trial(result, time.monotonic() - started)
