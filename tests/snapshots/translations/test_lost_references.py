"""A reference that a translation loses is a warning: exactly where a request in that language gets nothing for it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.read.query.answers.answer import Source, answer_to
from engine.read.query.answers.bind import bind, target_of
from engine.read.reader.reader import Reader, open_reader
from snapshots.build.build import build, check
from snapshots.store.store import open_store
from snapshots.translations.model import LOST_REFERENCE

FILES = {
    "workspace.yaml": "id: w\nlanguages: [en, de, ja]\n",
    "apis/posts.yaml": (
        "uid: api_posts\nendpoint: posts\nkind: list\nmultilingual: true\nfields:\n"
        "  - {id: title, type: text}\n"
        "  - {id: one, type: reference, api: posts}\n"
        "  - {id: related, type: references, api: posts}\n"
        "  - {id: author, type: reference, api: people}\n"
        "  - {id: several, type: references, apis: [posts, people]}\n"
        "  - {id: parts, type: groups, fields: [{id: to, type: reference, api: posts}]}\n"
    ),
    "apis/people.yaml": "uid: api_people\nendpoint: people\nkind: list\nfields: [{id: title, type: text}]\n",
    "content/people/ken.yaml": "title: Ken\ncreatedAt: 2026-01-01\n",
    "content/people/a.yaml": "title: A person of the same name\ncreatedAt: 2026-01-01\n",
}
IDS = ["a", "b", "c", "d"]
SAID = re.compile(r"[^:]*\.(\w+)\.yaml:\d+: ([a-z.]+): '(\w+)' .*")


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in {**FILES, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def post(**fields: Any) -> str:
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in {"createdAt": "2026-01-01", **fields}.items())


def warned(root: Path, cache: Path) -> list[str]:
    found = [problem for problem in check(root, cache).kept if problem.kind == LOST_REFERENCE]
    assert {problem.severity for problem in found} <= {"warning"}
    return [f"{problem.file}:{problem.line}: {problem.message}" for problem in found]


def test_the_warning_says_where_and_what_to_do(tmp_path: Path) -> None:
    root = write(
        tmp_path / "w",
        {
            "content/posts/a.yaml": post(related=["b"]),
            "content/posts/a.de.yaml": post(related=["b", "c", "nobody"], author="ken"),
            "content/posts/b.yaml": post(),
            "content/posts/c.de.yaml": post(),
        },
    )
    assert warned(root, tmp_path / "cache") == [
        "content/posts/a.de.yaml:2: related: 'b' is not translated into de, so requests with lang=de get this entry "
        "without it; translate it, or have them ask for lang_fallback=true"
    ]


@pytest.mark.parametrize("status", ["status: draft", "status: scheduled\npublishStart: 2099-01-01", "title: [wrong"])
def test_a_translation_that_is_only_not_published_yet_is_none_that_is_missing(tmp_path: Path, status: str) -> None:
    files = {"content/posts/a.de.yaml": post(related=["b"]), "content/posts/b.yaml": post()}
    root = write(tmp_path / "w", files | {"content/posts/b.de.yaml": f"{post()}{status}\n"})
    broken = "wrong" in status  # no YAML: what its version would be is not known
    assert len(warned(root, tmp_path / "cache")) == int(broken)


def test_a_translation_with_an_error_of_its_own_is_there(tmp_path: Path) -> None:
    files = {"content/posts/a.de.yaml": post(related=["b"]), "content/posts/b.yaml": post()}
    root = write(tmp_path / "w", files | {"content/posts/b.de.yaml": post(parts="wrong")})
    assert warned(root, tmp_path / "cache") == []


def test_an_entry_that_is_published_in_no_language_cannot_be_lost(tmp_path: Path) -> None:
    files = {"content/posts/a.de.yaml": post(related=["b"]), "content/posts/b.yaml": post(status="draft")}
    assert warned(write(tmp_path / "w", files), tmp_path / "cache") == []


def random_posts(random: Random) -> dict[str, str]:
    """Posts in random languages, which refer to each other and to people at random, and to who is not there."""

    def some() -> list[str]:
        return random.sample([*IDS, "ken", "nobody"], random.randrange(4))

    files = {}
    for entry in IDS:
        for lang in ("", ".de", ".ja"):
            if random.random() < 0.6:
                fields: dict[str, Any] = {
                    "one": random.choice([None, *IDS]),
                    "related": some(),
                    "author": random.choice([None, "ken", "nobody"]),
                    "several": [random.choice([one, {"api": "posts", "id": one}]) for one in some()],
                    "parts": [{"to": one} for one in some()],
                }
                files[f"content/posts/{entry}{lang}.yaml"] = post(**{k: v for k, v in fields.items() if v})
    return files


def lost_in_answers(reader: Reader, lang: str) -> Counter[tuple[str, str]]:
    """(field, ID) of each reference that a list in a language has no entry for, but for IDs that no entry has."""

    def contents(depth: int) -> list[dict[str, Any]]:
        plan = bind(reader, None, target_of(f"posts?lang={lang}&limit=100&orders=createdAt&depth={depth}"), {})
        found: list[dict[str, Any]] = json.loads(answer_to(plan, Source(reader, 1_800_000_000_000)).body)["contents"]
        return found

    def referred(entry: dict[str, Any]) -> Counter[tuple[str, str]]:
        named = {name: entry[name] for name in ("one", "related", "author", "several")}
        named["parts.to"] = [part["to"] for part in entry["parts"]]
        every = {name: value if isinstance(value, list) else [value] for name, value in named.items()}
        ids = [(name, one["id"] if isinstance(one, dict) else one) for name, ones in every.items() for one in ones]
        return Counter((name, one) for name, one in ids if one is not None)

    there = {entry for entry in IDS for each in reader.workspace.languages if has(reader, entry, each)}
    lost: Counter[tuple[str, str]] = Counter()
    for stored, expanded in zip(contents(0), contents(1), strict=True):
        lost += referred(stored) - referred(expanded)
    return Counter({one: count for one, count in lost.items() if one[1] in there})


def has(reader: Reader, entry: str, lang: str) -> bool:
    plan = bind(reader, None, target_of(f"posts?lang={lang}&filters=id[equals]{entry}"), {})
    return bool(json.loads(answer_to(plan, Source(reader, 1_800_000_000_000)).body)["totalCount"])


def test_what_is_warned_of_is_what_requests_lose(tmp_path: Path) -> None:
    seen = 0
    for seed in range(5):
        root = write(tmp_path / f"w{seed}", random_posts(Random(seed)))
        store = open_store(tmp_path / f"store{seed}")
        version = build(root, store, now=1_790_000_000_000).version
        workspace = store.workspace("w")
        said = [SAID.fullmatch(one) for one in warned(root, store.cache)]
        reader = open_reader(workspace.snapshots / version, workspace.manifest(version), store.cache)
        try:
            for lang in ("de", "ja"):
                mine = Counter((one[2], one[3]) for one in said if one is not None and one[1] == lang)
                assert mine == lost_in_answers(reader, lang)
                seen += mine.total()
        finally:
            reader.close()
    assert seen > 20
