"""Reads all entries, and stops after the first until it is told to go on."""

from __future__ import annotations

import json
import sys

from acme import Client

with Client(*sys.argv[1:]) as content:
    titles: list[str | None] = []
    for post in content.posts.all():
        titles.append(post["title"])
        if len(titles) == 1:
            print("first", flush=True)
            sys.stdin.readline()
    print(json.dumps([titles, content.posts.list(limit=1)["contents"][0]["title"]]))
