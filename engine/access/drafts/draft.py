"""The unpublished changes of a version, with the key and the addresses that preview them (contract 4.10)."""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from engine.access.drafts.keys import derived_draft_key
from snapshots.model import Api, ApiKind, Workspace


class Draft(msgspec.Struct, frozen=True):
    """The unpublished changes of one version."""

    api: Api
    entry: str
    lang: str
    key: str | None
    """``None`` where the file gives none and there is no secret to derive one with."""
    derived: bool
    """Whether the key is derived, not given by the file."""

    def path(self, main_language: str) -> str:
        """The path of its preview below the workspace, with the draft key as a parameter."""
        path = self.api.endpoint if self.api.kind is ApiKind.OBJECT else f"{self.api.endpoint}/{self.entry}"
        lang = "" if self.lang == main_language else f"lang={self.lang}&"
        return f"{path}?{lang}draftKey={self.key or ''}"

    def page(self) -> str | None:
        """The address at which people see it on the site; ``None`` without a key or the API's ``preview_url``."""
        return None if self.key is None else preview_page(self.api, self.entry, self.lang, self.key)


def draft_of(workspace: Workspace, api: Api, entry: str, lang: str, given: str | None, secret: bytes | None) -> Draft:
    """Return the unpublished changes of a version with the draft key that its file gives, else the derived one."""
    key = given or (secret and derived_draft_key(secret, workspace.id, api.uid, entry, lang))
    return Draft(api, entry, lang, key or None, derived=given is None)


def preview_page(api: Api, entry: str, lang: str, key: str) -> str | None:
    """Fill the values into the API's ``preview_url``, percent-encoded; ``None`` where it has none."""
    if api.preview_url is msgspec.UNSET:
        return None
    values = {"id": entry, "lang": lang, "draftKey": key}
    return re.sub(r"\{(\w+)\}", lambda part: quote(values[part[1]], safe=""), api.preview_url)
