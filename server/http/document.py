"""Serve documents that are the same for everyone, in the best coding, or 304 to clients that have them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from server.http.compression import IDENTITY, coding_for, compressed


class StaticDocument(msgspec.Struct, frozen=True):
    """Bytes that are the same for everyone, ready to be sent."""

    body: bytes
    media_type: str
    etag: str

    def answer(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return 200 in the best coding the client takes, or 304 where the client has these bytes."""
        sent = {**headers, "ETag": self.etag, "Vary": "Accept-Encoding"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=sent)
        accepted = request.headers.get("accept-encoding")
        coding = coding_for(None if accepted is None else accepted.encode("latin-1"), len(self.body))
        if coding == IDENTITY:
            return Response(self.body, headers=sent, media_type=self.media_type)
        sent["Content-Encoding"] = coding
        return Response(_compressed(coding, self.body), headers=sent, media_type=self.media_type)


_compressed = cache(compressed)


def static_document(body: bytes, media_type: str) -> StaticDocument:
    """Return bytes as a document whose entity tag tells them from others."""
    return StaticDocument(body, media_type, f'W/"{sha256(body).hexdigest()[:16]}"')
