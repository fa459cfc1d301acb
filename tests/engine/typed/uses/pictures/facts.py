"""Prints what a client returns for a task: an entry, addresses of pictures, or nothing but its words."""

from __future__ import annotations

import json
import sys

import copied
from pics import Client, image, srcset


def done(task: str, url: str, key: str = "") -> object:
    match task:
        case "entries":
            with Client(url, key, keep=0) as content:
                first = content.posts.list()["contents"][0]
                return [first, content.posts.entry("x"), content.posts.draft("x", "d"), content.home.get()]
        case "pictures":
            found = []
            for picture, options, widths in json.loads(url):
                some = srcset(picture, widths, q=50) if widths else srcset(picture)
                found.append(
                    [image(picture, **options), some, copied.image(picture, **options), copied.srcset(picture)]
                )
            return found
        case "strict":
            for strict in (False, True, False):
                Client(url, key, keep=0, strict=strict).posts.list()
            return None
    with Client(url, key) as content:
        for _ in range(3):
            content.posts.list(limit=3)
    return None


if __name__ == "__main__":
    try:
        print(json.dumps(done(*sys.argv[1:])))
    except ValueError as error:
        print(json.dumps(str(error)))
