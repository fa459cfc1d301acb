"""Sign a request's body with an endpoint's secrets: headers by which a receiver knows who sent it.

Standard Webhooks (https://www.standardwebhooks.com): while a secret is exchanged, both sign, and a receiver that knows
either accepts.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the form of a secret, not one
_SECRET_BYTES: Final = 32


def new_secret() -> str:
    """Return a new signing secret, ``whsec_…``."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")


def can_sign(secret: str) -> bool:
    """Return whether a text is a signing secret: ``whsec_`` and base64."""
    try:
        Webhook(secret)
    except (ValueError, EmptyWebhookSecretError):
        return False
    return secret.startswith(SECRET_PREFIX)


def standard_headers(secret_texts: Iterable[str], message: str, now: int, body: str) -> dict[str, str]:
    """Return the headers of a Standard Webhooks request made at ``now`` (UTC ms): a signature for each secret."""
    at = datetime.fromtimestamp(now // 1000, UTC)
    signatures = [Webhook(secret).sign(msg_id=message, timestamp=at, data=body) for secret in secret_texts]
    return {
        "webhook-id": message,
        "webhook-timestamp": str(now // 1000),
        "webhook-signature": " ".join(signatures),
    }


def microcms_headers(secret: str, body: bytes) -> dict[str, str]:
    """Return the header of a microCMS webhook: HMAC-SHA256 of the body, in hexadecimal, under the secret's text."""
    return {"x-microcms-signature": hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}
