"""Exports in which any value may be anything: they are refused with a message, or become a workspace without errors."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from snapshots.importers.losses import Unreadable
from tests.sites.imported import imported, write_files
from tests.snapshots.importers.kinds.contentful.test_export import EXPORT as CONTENTFUL
from tests.snapshots.importers.kinds.directus.test_template import TEMPLATE
from tests.snapshots.importers.kinds.ghost.test_export import EXPORT as GHOST
from tests.snapshots.importers.kinds.notion.test_export import EXPORT as NOTION
from tests.snapshots.importers.kinds.sanity.test_dataset import DATA
from tests.snapshots.importers.kinds.strapi.test_export import V5
from tests.snapshots.importers.kinds.tables.test_export import TABLE
from tests.snapshots.importers.kinds.test_microcms import EXPORT as MICROCMS
from tests.snapshots.importers.kinds.wordpress.test_export import SITE

ROUNDS = 6
EXPORTS: dict[str, dict[str, Any]] = {
    "microcms": MICROCMS,
    "contentful": {"space.json": CONTENTFUL},
    "strapi": V5,
    "sanity": {"data.jsonl": DATA},
    "directus": TEMPLATE,
    "ghost": {"ghost.json": GHOST},
}
FILES = {"contentful": "space.json", "sanity": "data.jsonl", "ghost": "ghost.json"}
HOSTILE: list[Any] = [
    *(None, True, 0, -1, 2**70, 1.5e308, "", " ", "a" * 300, "\0", "\ud800", "../../etc/passwd", "é", "null"),
    *("<script>alert(1)</script><p onclick=x>", "<div>" * 600, "1970-13-45", "[gallery]{{ x }}", "a\r\n\u2028b\x7f"),
    *([], {}, [[]], [None], {"": ""}, {"id": "x"}, [1, "a", {}], {"sys": {"type": "Link", "id": 5}}),
    {"_type": "block"},
]  # fmt: skip


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything inside a value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*way, key)
        yield from places(item, (*way, key))


def mutated(export: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    made = deepcopy(export)
    for _ in range(rng.randint(1, 4)):
        way = rng.choice([way for way in places(made) if len(way) > 1])
        there = made
        for key in way[:-1]:
            there = there[key]
        if isinstance(there, dict) and rng.random() < 0.2:
            del there[way[-1]]
        elif isinstance(there, dict) and rng.random() < 0.2:
            there[rng.choice(["id", "__proto__", "é", "x" * 100, "status"])] = there.pop(way[-1])
        else:
            there[way[-1]] = deepcopy(rng.choice(HOSTILE))
    return made


@pytest.mark.parametrize("kind", EXPORTS)
def test_any_value_may_be_anything(kind: str, tmp_path: Path) -> None:
    messages: list[str] = []
    for seed in range(ROUNDS):
        source = write_files(tmp_path / "export", mutated(EXPORTS[kind], random.Random(f"{kind}{seed}")))
        try:
            imported(
                kind,
                source / FILES.get(kind, ""),
                tmp_path / "site",
                assets="media" if seed % 2 else None,
                warnings=None,
            )
        except Unreadable as error:
            messages.append(str(error))
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
    assert len(messages) < ROUNDS / 2, messages


def test_any_text_of_a_site_may_be_anything(tmp_path: Path) -> None:
    messages: list[str] = []
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE if isinstance(text, str)]
    for seed in range(ROUNDS):
        rng = random.Random(seed)
        parts = SITE.split("<")
        for _ in range(4):
            at = rng.randrange(len(parts))
            name, mark, _ = parts[at].partition(">")
            if mark and not name.endswith("/"):
                hostile = rng.choice(texts).replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "")
                parts[at] = f"{name}>{hostile}"
        source = write_files(tmp_path / "export", {"a.xml": "<".join(parts)}) / "a.xml"
        try:
            imported("wordpress", source, tmp_path / "site", warnings=None)
        except Unreadable as error:
            messages.append(str(error))
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
    assert all(message.startswith("a.xml:") for message in messages)
    assert len(messages) < ROUNDS


@pytest.mark.parametrize("kind", ["csv", "notion"])
def test_any_text_of_a_table_or_a_page_may_be_anything(kind: str, tmp_path: Path) -> None:
    messages: list[str] = []
    texts = [text.encode("utf-8", "replace").decode() for text in HOSTILE if isinstance(text, str)]
    for seed in range(ROUNDS):
        rng = random.Random(f"{kind}{seed}")
        files = {"a.csv": TABLE} if kind == "csv" else dict(NOTION)
        for name, text in files.items():
            if isinstance(text, str):
                parts = re.split("([,:\n ])", text)
                for at in rng.sample(range(len(parts)), min(3, len(parts))):
                    parts[at] = rng.choice(texts)
                files[name] = "".join(parts)
        source = write_files(tmp_path / "export", files)
        try:
            imported(kind, source, tmp_path / "site", assets="media" if seed % 2 else None, warnings=None)
        except Unreadable as error:
            messages.append(str(error))
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
    assert len(messages) < ROUNDS / 2, messages
