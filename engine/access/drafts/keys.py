"""Draft keys, which open a version's unpublished changes; derived where the file gives none (contract 4.10)."""

from __future__ import annotations

import base64
import hashlib
import hmac


def derived_draft_key(secret: bytes, workspace: str, api: str, entry: str, lang: str) -> str:
    """The draft key of one version, 43 characters: stable while ``secret`` is, and not to be guessed without it.

    ``api`` is the API's ``uid``, so a renamed endpoint keeps its preview links.
    """
    # Lengths stand before the parts, so that no two versions spell the same text.
    parts = [part.encode("utf-8") for part in (workspace, api, entry, lang)]
    text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    digest = hmac.new(secret, text, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def draft_key_matches(presented: str, explicit: str | None, derived: str) -> bool:
    """Whether a presented draft key opens a version: by the key its file gives, else by the derived one.

    An explicit key replaces the derived one. Comparing takes the same time for every presented key.
    """
    expected = derived if explicit is None else explicit
    return hmac.compare_digest(presented.encode("utf-8", "replace"), expected.encode("utf-8"))
