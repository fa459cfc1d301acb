"""The process that makes pictures: told on standard input what to make, it answers on standard output.

    request: length (4 bytes), ``Job`` as JSON
    answer:  ``MADE`` or ``NONE`` (1 byte), length (4 bytes), the picture

It reads files of content, which may be damaged or made to do harm, so that it has no secret, writes no file, and ends
when it takes more memory or time than any picture needs. It is started as a module, and ends with its standard input.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    import pyvips

MADE: Final = b"+"
NONE: Final = b"-"
"""The picture cannot be made: it is damaged, animated or too large."""
READY: Final = b"!"
"""Sent once, at the start."""
ENCODER: Final = 2
"""Counted up whenever forms come out otherwise, so that kept ones are made again."""

MEMORY_BYTES: Final = 1 << 30
"""Memory that the process may have."""
MEMORY_SETTING: Final = "PICTURE_MEMORY"
"""The variable of the environment that says it."""
CPU_SECONDS: Final = 20
"""Seconds of a processor that one picture may take."""
IDLE_SECONDS: Final = 60
"""Seconds without a request after which the process ends."""
NICENESS: Final = 10
_LENGTH: Final = struct.Struct(">I")
_LOADERS: Final = ("Jpeg", "Png", "Webp", "Heif", "Nsgif")
_AVIF_QUALITIES: Final = {50: 35, 75: 50, 90: 70}
"""AVIF's own scale: with these it looks as the other formats do with the quality asked for."""
_AVIF_EFFORTS: Final = ((1_500_000, 0), (250_000, 1), (0, 2))
"""Effort by the pixels that a picture has more of. More effort makes a file smaller by some 15 %, and takes twice as
long, so that a large one would not be there in time."""


class Job(msgspec.Struct, frozen=True):
    """A picture to make."""

    path: str
    width: int
    height: int
    crop: bool
    format: str
    quality: int
    turned: bool
    """Whether its metadata can have it turned."""
    most_pixels: int


def main() -> None:
    """Make pictures until standard input ends, or nothing was asked for a while."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    os.nice(NICENESS)
    questions, answers = sys.stdin.fileno(), sys.stdout.fileno()
    vips = _library()
    _limit(resource.RLIMIT_DATA, int(os.environ.get(MEMORY_SETTING, MEMORY_BYTES)))
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _send(answers, READY)
    decode = msgspec.json.Decoder(Job).decode
    while (question := _received(questions)) is not None:
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (used + CPU_SECONDS + 1, resource.RLIM_INFINITY))
        try:
            made = _made(vips, decode(question))
        except (vips.Error, OSError, ValueError, MemoryError):
            made = None
        _send(answers, NONE + _LENGTH.pack(0) if made is None else MADE + _LENGTH.pack(len(made)) + made)


def _library() -> Any:
    """Return the library, with nothing but the formats of pictures on the web."""
    import pyvips  # noqa: PLC0415 - 0.1 s and 20 MB, which only this process needs

    pyvips.cache_set_max(0)
    pyvips.block_untrusted_set(True)
    pyvips.operation_block_set("VipsForeignLoad", True)
    for loader in _LOADERS:
        pyvips.operation_block_set(f"VipsForeignLoad{loader}", False)
    return pyvips


def _limit(what: int, most: int) -> None:
    with suppress(ValueError, OSError):  # not every system has each of them
        resource.setrlimit(what, (most, most))


def _made(vips: Any, job: Job) -> bytes | None:
    """Return a picture's form; ``None`` for one that has none. Raises the library's error, ``OSError`` and others."""
    with open(job.path, "rb") as opened:  # noqa: PTH123 - this process starts with as little as it can
        data = opened.read()
    header = vips.Image.new_from_buffer(data, "", access="sequential")
    pages = header.get("n-pages") if header.get_typeof("n-pages") else 1
    if pages > 1 or header.width * header.height > job.most_pixels:
        return None
    made = _loaded(vips, data, header, job).thumbnail_image(
        job.width,
        height=job.height,
        # The proportions are those of the picture already, to a pixel.
        **{"crop": "centre"} if job.crop else {"size": "force"},
        no_rotate=not job.turned,
        export_profile="srgb",
    )
    if (made.width, made.height) != (job.width, job.height):
        return None
    if made.get_typeof("orientation"):  # else an AVIF would be turned by it again
        made = made.copy()
        made.remove("orientation")
    return _encoded(made, job)


def _loaded(vips: Any, data: bytes, header: pyvips.Image, job: Job) -> pyvips.Image:
    """Return a picture that fails where its file is damaged, shrunk while it is loaded, to twice the size at least."""
    turned = job.turned and header.get_typeof("orientation") and header.get("orientation") >= 5
    width, height = (job.height, job.width) if turned else (job.width, job.height)
    most = min(header.width / width, header.height / height) / 2
    options: dict[str, Any] = {}
    match header.get("vips-loader"):
        case "jpegload_buffer":
            options["shrink"] = next((shrink for shrink in (8, 4, 2) if shrink <= most), 1)
        case "webpload_buffer":
            options["scale"] = min(1.0, 1 / most)
    return vips.Image.new_from_buffer(data, "", access="sequential", fail_on="error", **options)


def _encoded(made: pyvips.Image, job: Job) -> bytes:
    options: dict[str, Any] = {"keep": "none"}
    match job.format:
        case "jpg":
            options |= {"Q": job.quality, "optimize_coding": True, "background": [255, 255, 255]}
        case "webp":
            options |= {"Q": job.quality, "effort": 2}
        case "avif":
            effort = next(effort for least, effort in _AVIF_EFFORTS if job.width * job.height > least)
            options |= {"Q": _AVIF_QUALITIES[job.quality], "effort": effort, "bitdepth": 8}
    encoded = made.write_to_buffer(f".{job.format}", **options)
    assert isinstance(encoded, bytes)  # as it does
    return encoded


def _received(questions: int) -> bytes | None:
    if not select.select([questions], [], [], IDLE_SECONDS)[0]:
        return None
    head = _read(questions, _LENGTH.size)
    return None if head is None else _read(questions, _LENGTH.unpack(head)[0])


def _read(questions: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        more = os.read(questions, size - len(data))
        if not more:
            return None
        data += more
    return data


def _send(answers: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(answers, view) :]


def packed(job: Job) -> bytes:
    """Return a request for a process."""
    data = msgspec.json.encode(job)
    return _LENGTH.pack(len(data)) + data


def answer_length(head: bytes) -> int:
    """Return the length of the picture that follows the head of an answer."""
    length: int = _LENGTH.unpack(head[1:])[0]
    return length


HEAD_BYTES: Final = 1 + _LENGTH.size


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
