"""Large JSONL files are compiled in units, of which a build takes those that are as they were from its cache."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from snapshots.build.build import BuildResult, build
from snapshots.build.pieces import PieceCompiler
from snapshots.documents.units import cut_file
from snapshots.store.store import Store, open_store
from tests.sites.site_folders import write_folder

NOW = 1_780_000_000_000
API = """
uid: api_posts0000000
endpoint: posts
kind: list
multilingual: true
fields:
  - {id: title, type: text}
  - {id: body, type: richtext}
  - {id: next, type: reference, api: posts}
"""
UNIT = 400


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snapshots.build.pieces.BULK_BYTES", 2 * UNIT)
    monkeypatch.setattr("snapshots.documents.units.UNIT_BYTES", UNIT)
    monkeypatch.setattr("snapshots.documents.units.MORE_BYTES", UNIT // 2)
    monkeypatch.setattr("snapshots.documents.units.MOST_BYTES", 8 * UNIT)


DEFINED = {"workspace.yaml": "id: acme\nlanguages: [en, ja]\n", "apis/posts.yaml": API}


def line(source: random.Random, number: int) -> str:
    """An entry of a JSONL file: now and then one with a warning, an error, an unknown key, or that is none."""
    entry = {
        "id": f"e{number}",
        "lang": source.choice(["en", "ja"]),
        "createdAt": "2026-01-01",
        "title": source.choice("abc") * source.randrange(1, 60),
        "body": f"<p>{source.randrange(9)}</p>" + source.choice(["", "", "<video></video>"]),
        "next": f"e{source.randrange(120)}",
    }
    return source.choice(
        [json.dumps(entry)] * 12 + [json.dumps(entry | {"odd": 1}), "", json.dumps({"title": "no id"})]
    )


def edited(source: random.Random, lines: list[str]) -> list[str]:
    """The lines with some changed, new, gone and moved."""
    lines = list(lines)
    for _ in range(source.randrange(1, 4)):
        at = source.randrange(len(lines))
        what = source.randrange(4)
        if what == 0:
            lines[at] = line(source, 1000 + source.randrange(1000))
        elif what == 1:
            lines.insert(at, line(source, 1000 + source.randrange(1000)))
        elif what == 2:
            del lines[at : at + source.randrange(9)]
        else:
            lines.insert(source.randrange(len(lines)), lines.pop(at))
    return lines or [""]


def publish(root: Path, store: Store, lines: list[str], now: int) -> tuple[BuildResult, dict[str, str]]:
    """Build these lines; return the result, and the SHA-256 of each data file."""
    write_folder(root, {"content/posts.jsonl": "\n".join(lines)})
    made = build(root, store, now=now, lenient=True, allow_breaking=True, segment_entries=10)
    manifest = store.workspace("acme").manifest(made.version)
    return made, {file.path: file.sha256 for file in manifest.files}


@pytest.mark.usefixtures("small_units")
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))])
def test_what_is_built_again_is_what_a_fresh_build_gives(tmp_path: Path, seed: int) -> None:
    source = random.Random(seed)
    root = write_folder(
        tmp_path / "site", {"workspace.yaml": "id: acme\nlanguages: [en, ja]\n", "apis/posts.yaml": API}
    )
    store, lines = open_store(tmp_path / "store"), [line(source, number) for number in range(100)]
    publish(root, store, lines, NOW)
    for number in range(1, 4):
        lines = edited(source, lines)
        again, files = publish(root, store, lines, NOW + number)
        fresh, expected = publish(root, open_store(tmp_path / f"fresh{number}"), lines, NOW)
        assert files == expected
        assert again.version.rpartition("-")[2] == fresh.version.rpartition("-")[2]
        assert sorted(map(str, again.problems.kept)) == sorted(map(str, fresh.problems.kept))
        assert again.problems.counts == fresh.problems.counts


@pytest.mark.usefixtures("small_units")
def test_only_lines_near_a_change_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[int] = []
    read = PieceCompiler._read

    def counted(*given: object) -> bytes | None:
        data = read(*given)  # type: ignore[arg-type]
        compiled.append(len(data or b""))
        return data

    source = random.Random(1)
    root = write_folder(
        tmp_path / "site", {"workspace.yaml": "id: acme\nlanguages: [en, ja]\n", "apis/posts.yaml": API}
    )
    store, lines = open_store(tmp_path / "store"), [line(source, number) for number in range(300)]
    publish(root, store, lines, NOW)
    monkeypatch.setattr(PieceCompiler, "_read", counted)
    lines.insert(150, json.dumps({"id": "new", "createdAt": "2026-01-01", "title": "New"}))
    publish(root, store, lines, NOW + 1)
    assert 0 < sum(compiled) < 10 * UNIT < (root / "content/posts.jsonl").stat().st_size / 5


@pytest.mark.usefixtures("small_units")
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_units_are_all_of_a_file(tmp_path: Path, end: str) -> None:
    source = random.Random(2)
    lines = [line(source, number) for number in range(80)] + ["x" * 9 * UNIT]
    text = "\n".join(lines) + end
    (tmp_path / "posts.jsonl").write_text(text)
    units = cut_file(tmp_path / "posts.jsonl", {}).units
    assert [unit.start for unit in units] == [0, *(unit.end for unit in units[:-1])]
    assert units[-1].end == len(text)
    assert all(text[: unit.start].count("\n") == unit.first for unit in units)
    assert all(unit.start == 0 or text[unit.start - 1] == "\n" for unit in units)
    assert len(units) > 9
