"""Requests to a provider: encrypted, without redirects, and no longer than an answer has to be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, cast

import httpx2

from engine.access.sign_in.oidc.configuration import is_secure
from engine.access.sign_in.oidc.failures import AnswerRefused

LARGEST_ANSWER: Final = 512 << 10
"""Bytes of an answer: the keys and the configuration of a large provider are some ten thousand."""
HEADERS: Final = {"Accept": "application/json", "Accept-Encoding": "identity"}


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Makes requests by ``inner``. Only where ``loopback`` is allowed they may go unencrypted, to this machine."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, loopback: bool) -> None:
        self._inner = inner
        self._loopback = loopback

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not is_secure(str(request.url), loopback=self._loopback):
            raise AnswerRefused(f"the provider wants to be asked at {request.url.host} without encryption")
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise AnswerRefused("the provider compresses an answer although it was asked not to")
        if response.is_redirect:
            await response.aclose()
            raise AnswerRefused(f"the provider answers {request.url.path} with a redirect, which is not followed")
        stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))
        return httpx2.Response(response.status_code, headers=response.headers, stream=stream)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """The bytes of an answer, as far as they may go."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise AnswerRefused(f"an answer of the provider is longer than {LARGEST_ANSWER >> 10} KiB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
