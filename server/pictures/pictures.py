"""Find or make the form of a picture that a request asks for."""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from concurrent.futures import Future
from pathlib import Path
from typing import Final

import msgspec

from server.pictures.form_cache import FormCache
from server.pictures.forms import Asked, Form, form_of
from server.pictures.maker import ENCODER, Job
from server.pictures.workshop import Workshop
from snapshots.pictures.image_size import HEADER_BYTES, ImageFacts, image_facts
from snapshots.pictures.picture_sizes import MOST_BYTES, MOST_PIXELS

KNOWN: Final = 10_000
"""Pictures of which a process remembers facts."""


class Made(msgspec.Struct, frozen=True):
    """A form that there is: its file, or its bytes where it is not kept."""

    descriptor: int | None = None
    """To be closed by who gets it."""
    data: bytes = b""


class _Making:
    """A form that is not there yet, and how many wait for it."""

    def __init__(self, ordered: Future[bytes | None], kept: asyncio.Task[Made | None]) -> None:
        self.ordered = ordered
        self.kept = kept
        self.waiting = 0


class Pictures:
    """Makes each form once, for all who ask for it at the same time, and keeps it. To be used on the event loop."""

    def __init__(self, cache: Path, most_bytes: int) -> None:
        """``most_bytes`` is the bound of the kept forms."""
        self._forms = FormCache(cache, most_bytes)
        self._workshop = Workshop(self._forms.directory)
        self._facts: OrderedDict[str, ImageFacts | None] = OrderedDict()
        """By digest; ``None`` for pictures without forms."""
        self._making: dict[tuple[str, str], _Making] = {}

    def stop(self) -> None:
        """Make nothing more."""
        self._workshop.stop()

    async def form(self, path: Path, digest: str, size: int, asked: Asked, accept: str) -> Form | None:
        """Return the form that is asked for of a picture's file of ``size`` bytes; ``None`` where it has none."""
        if digest not in self._facts:
            facts = await asyncio.to_thread(_facts, path) if size <= MOST_BYTES else None
            self._know(digest, facts)
        self._facts.move_to_end(digest)
        facts = self._facts[digest]
        return None if facts is None else form_of(facts, asked, accept)

    async def made(self, path: Path, digest: str, form: Form) -> Made | None:
        """Return a form, kept or just made; ``None`` where it cannot be made. Raises ``PicturesBusy``.

        When all who wait for a form are cancelled, it leaves the queue. One that is being made then is kept.
        """
        name = f"{ENCODER}-{form.name}"
        descriptor = self._forms.opened(digest, name)
        if descriptor is not None:
            return Made(descriptor)
        making = self._making.get((digest, name)) or self._begin(path, digest, form, name)
        making.waiting += 1
        try:
            found = await asyncio.shield(making.kept)
        finally:
            making.waiting -= 1
            if not making.waiting and making.ordered.cancel():
                self._making.pop((digest, name), None)  # whoever asks next orders it anew
        return found if found is None else self._one_more(digest, name, found)

    def _begin(self, path: Path, digest: str, form: Form, name: str) -> _Making:
        """Order a form. Raises ``PicturesBusy``."""
        facts = self._facts.get(digest)
        turned = facts is not None and facts.format != "webp"  # browsers do not look at WebP's metadata
        job = Job(str(path), form.width, form.height, form.crop, form.format, form.quality, turned, MOST_PIXELS)
        ordered = self._workshop.order(job)
        making = _Making(ordered, asyncio.ensure_future(self._keep(ordered, digest, name)))
        self._making[digest, name] = making

        def forget(kept: asyncio.Task[Made | None]) -> None:
            if self._making.get((digest, name)) is making:
                del self._making[digest, name]
            if not kept.cancelled():
                kept.exception()  # whoever asked may have gone

        making.kept.add_done_callback(forget)
        return making

    async def _keep(self, ordered: Future[bytes | None], digest: str, name: str) -> Made | None:
        data = await asyncio.wrap_future(ordered)
        if data is None:
            self._know(digest, None)
            return None
        await asyncio.to_thread(self._forms.keep, digest, name, data)
        return Made(data=data)

    def _one_more(self, digest: str, name: str, found: Made) -> Made:
        """Return a form for one more of those who asked while it was made."""
        descriptor = self._forms.opened(digest, name)
        return found if descriptor is None else Made(descriptor)

    def _know(self, digest: str, facts: ImageFacts | None) -> None:
        self._facts[digest] = facts
        while len(self._facts) > KNOWN:
            self._facts.popitem(last=False)


def _facts(path: Path) -> ImageFacts | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return image_facts(os.read(descriptor, HEADER_BYTES))
    finally:
        os.close(descriptor)
