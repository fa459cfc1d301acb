"""What other sizes of pictures cost: a first one, one that is kept, and reads of `/v1` beside the making of many.

    python -m benchmarks.pictures [--rounds 5] [--seconds 8] [--json]
    python -m benchmarks.pictures --like-imgproxy [--rounds 5]

The pictures are made here, of 12 megapixels, smooth in places and noisy in others, as photographs are. It prints

- a first form of a JPEG, over HTTP, for each format, and a kept one beside the file itself, which take turns;
- the processor time and the memory of libvips and of Pillow for the same work, each in a process of its own;
- the rate of a list of `/v1` alone and beside requests for 1,000 random sizes of 100 pictures, in turns, and how many
  bytes the forms take then, with a bound of 8 MB.

With ``--like-imgproxy`` it prints the processor time for what imgproxy's published benchmark has: pictures as large as
those of DIV2K, each made 512 pixels wide in the format that it has.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageChops

from server.pictures import maker
from server.pictures.workshop import LIMITS
from snapshots.pictures.picture_sizes import MOST_PIXELS, SIDES
from tests.server.pictures.makers import most_memory
from tests.server.pictures.picture_site import keep_pictures
from tests.sites.served_site import Running, Site, eventually, serving

FORMATS = ("jpg", "webp", "avif")
KINDS = {"jpg": "JPEG", "webp": "WEBP", "avif": "AVIF", "png": "PNG"}
BOUND = 8 << 20


def photo(width: int, height: int, seed: int) -> Image.Image:
    """Return a picture with patches of many sizes, and a little noise."""
    chance = np.random.default_rng(seed)
    total = np.zeros((height, width, 3), np.float32)
    for cells, weight in ((4, 60), (16, 40), (64, 20), (256, 10)):
        noise = chance.normal(0, weight, (cells, cells, 3)).astype(np.float32)
        bands = [
            Image.fromarray(noise[..., band]).resize((width, height), Image.Resampling.BICUBIC) for band in range(3)
        ]
        total += np.stack([np.asarray(band) for band in bands], -1)
    total += chance.normal(0, 3, (height, width, 1)).astype(np.float32)
    return Image.fromarray(np.clip(total + 128, 0, 255).astype(np.uint8))


def encoded(picture: Image.Image, kind: str, **options: Any) -> bytes:
    opened = io.BytesIO()
    picture.save(opened, KINDS[kind], **options)
    return opened.getvalue()


class Asker:
    """One connection, kept open."""

    def __init__(self, running: Running) -> None:
        self._connection = HTTPConnection(running.host, timeout=120)

    def seconds(self, target: str, status: int = 200, **headers: str) -> float:
        """Return the time of one request."""
        began = time.perf_counter()
        self._connection.request("GET", target, headers=headers)
        answer = self._connection.getresponse()
        answer.read()
        assert answer.status == status, (target, answer.status)
        return time.perf_counter() - began


def first_and_kept(running: Running, paths: list[str], rounds: int) -> dict[str, float]:
    """Return milliseconds, the medians: of first forms by format, of a kept one, and of a file as small."""
    asker, found = Asker(running), {}
    asker.seconds(f"{paths[-1]}?w=16")  # the process that makes pictures has started
    for kind in FORMATS:
        times = [asker.seconds(f"{path}?w=640&fm={kind}") for path in paths[:rounds]]
        found[f"first {kind}"] = statistics.median(times) * 1000
    kept: list[float] = []
    whole: list[float] = []
    small = f"{paths[0]}?w=640&fm=jpg"
    for _ in range(200 * rounds):
        kept.append(asker.seconds(small))
        whole.append(asker.seconds(paths[-1]))
    return found | {"kept": statistics.median(kept) * 1000, "a file": statistics.median(whole) * 1000}


def with_vips(path: Path, kind: str, width: int) -> Callable[[], object]:
    library = maker._library()
    facts = Image.open(path)
    job = maker.Job(
        str(path),
        width,
        round(width * facts.height / facts.width),
        False,
        kind,
        75 if kind != "png" else 0,
        True,
        MOST_PIXELS,
    )
    return lambda: maker._made(library, job)


def with_pillow(path: Path, kind: str, width: int) -> Callable[[], object]:
    def make() -> bytes:
        with Image.open(path) as opened:
            size = (width, round(width * opened.height / opened.width))
            opened.draft("RGB", (size[0] * 2, size[1] * 2))
            return encoded(opened.convert("RGB").resize(size, Image.Resampling.LANCZOS), kind, quality=75)

    return make


LIBRARIES = {"libvips": with_vips, "Pillow": with_pillow}


def one_library(library: str, path: Path, kind: str, rounds: int, width: int) -> dict[str, float]:
    """Return the processor time (ms) of a form, the median, and the most memory (MB), in this process."""
    make, times = LIBRARIES[library](path, kind, width), []
    for _ in range(rounds):
        began = time.process_time()
        assert make() is not None
        times.append((time.process_time() - began) * 1000)
    return {"ms": statistics.median(times), "MB": most_memory(os.getpid()) / (1 << 20)}


def libraries(files: dict[str, Path], rounds: int) -> Iterator[tuple[str, str, str, dict[str, float]]]:
    """Return (file, format, library, figures), each measured in a process of its own; the libraries take turns."""
    for name, path in files.items():
        for kind in FORMATS:
            for library in LIBRARIES:
                yield name, kind, library, in_a_process(library, path, kind, rounds, 640)


def in_a_process(library: str, path: Path, kind: str, rounds: int, width: int) -> dict[str, float]:
    """Return what ``one_library`` finds in a process of its own."""
    arguments = [library, str(path), kind, str(rounds), str(width)]
    command = [sys.executable, "-m", "benchmarks.pictures", "--one", *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | LIMITS)
    found: dict[str, float] = json.loads(printed.stdout)
    return found


def like_imgproxy(rounds: int) -> Iterator[tuple[str, float]]:
    """Return (format, processor time in ms) of a picture of 2,040 by 1,356 pixels made 512 wide in its own format."""
    whole = photo(2040, 1356, 1)
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        for kind, quality in (("jpg", 75), ("png", 0), ("webp", 75), ("avif", 65)):
            path = Path(folder) / f"a.{kind}"
            path.write_bytes(encoded(whole, kind, quality=quality))
            yield kind, in_a_process("libvips", path, kind, rounds, 512)["ms"]


def beside_reads(running: Running, paths: list[str], key: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Return the reads a second of a list alone and beside the making of pictures, in turns, and the pictures asked."""
    chance, targets = random.Random(1), []
    for _ in range(1000):
        targets.append(
            f"{chance.choice(paths)}?w={chance.choice(SIDES[:12])}&h={chance.choice(SIDES[:12])}&fit=crop&fm=webp"
        )
    stop, asked = threading.Event(), [0]
    rates: dict[str, list[float]] = {"alone": [], "beside": []}

    def ask(number: int) -> None:
        asker, at = Asker(running), number
        while not stop.is_set():
            asker.seconds(targets[at % len(targets)])
            at += 4
            asked[0] += 1

    reader = Asker(running)
    for _ in range(rounds):
        for kind, found in rates.items():
            stop.clear()
            with ThreadPoolExecutor(4) as threads:
                if kind == "beside":
                    for number in range(4):
                        threads.submit(ask, number + asked[0])
                until, count = time.perf_counter() + seconds / 2, 0
                while time.perf_counter() < until:
                    reader.seconds("/v1/acme/posts?limit=1", **{"X-API-KEY": key})
                    count += 1
                stop.set()
            found.append(count / (seconds / 2))
    shares = [beside / alone for alone, beside in zip(rates["alone"], rates["beside"], strict=True)]
    return {
        "reads alone": statistics.median(rates["alone"]),
        "share beside": statistics.median(shares),
        "asked": asked[0],
    }


def measured(rounds: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        place = Path(folder)
        site = Site(place / "store")
        site.publish("one")
        whole = photo(4000, 3000, 1)
        # The same picture at other places of itself, so that each has a name of its own and costs as much.
        large = {f"large-{n}.jpg": encoded(ImageChops.offset(whole, 50 * n), "jpg", quality=90) for n in range(rounds)}
        parts = (whole.crop((20 * n, 10 * n, 20 * n + 1200, 10 * n + 900)) for n in range(100))
        small = {f"small-{n}.jpg": encoded(part, "jpg", quality=85) for n, part in enumerate(parts)}
        few = {"few.jpg": encoded(whole.resize((640, 480)), "jpg", quality=75)}
        paths = keep_pictures(site.store, {**large, **small, **few})
        files = {"12 MP JPEG": place / "a.jpg", "12 MP PNG": place / "a.png", "12 MP WebP": place / "a.webp"}
        for path in files.values():
            path.write_bytes(encoded(whole, path.suffix[1:]))
        _, key = site.key(rate_limit=100_000_000)
        with serving(site.store, place / "log", CMS_PICTURE_CACHE=f"{BOUND >> 20}MB") as running:
            eventually(lambda: running.get("/readyz").status == 200)
            times = first_and_kept(running, [*(paths[name] for name in large), paths["few.jpg"]], rounds)
            beside = beside_reads(running, [paths[name] for name in small], key, rounds, seconds)
        kept = sum(path.stat().st_size for path in (site.store.cache / ".pictures").rglob("*.*") if path.is_file())
        compared = [
            {"file": name, "format": kind, "library": library, **found}
            for name, kind, library, found in libraries(files, rounds)
        ]
    return {"ms": times, **beside, "kept bytes": kept, "bound": BOUND, "libraries": compared}


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        library, path, kind, rounds, width = sys.argv[2:]
        print(json.dumps(one_library(library, Path(path), kind, int(rounds), int(width))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--like-imgproxy", action="store_true")
    options = parser.parse_args()
    if options.like_imgproxy:
        for kind, spent in like_imgproxy(options.rounds):
            print(f"{kind:5} {spent:6.0f} ms of a processor")
        return
    found = measured(options.rounds, options.seconds)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found["ms"].items():
        print(f"{name:12} {value:8.1f} ms")
    print(
        f"reads of /v1 alone {found['reads alone']:.0f} a second; beside pictures {found['share beside']:.0%} of that"
    )
    print(f"{found['asked']:,} pictures asked for; {found['kept bytes']:,} bytes kept, of {found['bound']:,}")
    for row in found["libraries"]:
        print(f"{row['file']:10} → 640 {row['format']:4} {row['library']:8} {row['ms']:6.0f} ms {row['MB']:6.0f} MB")


if __name__ == "__main__":
    main()
