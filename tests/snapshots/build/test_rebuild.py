"""Any edits, one build after another in one process: the same snapshot each time as a build from nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from snapshots.build.build import build, check
from snapshots.problems import Problems, WorkspaceRefused
from snapshots.store.store import open_store

FUTURE = 4_000_000_000_000_000_000
NOW = 1_780_000_000_000
WORKSPACE = "id: acme\nlanguages: [en, ja]\n"
PAGES = """uid: api_Pages00000001
name: Pages
endpoint: pages
kind: list
multilingual: true
source: ["pages/{topic}/{name}.md", "pages.{lang}/{topic}/{name}.md"]
id: "{topic}-{name}"
fields:
  - {id: title, name: Title, type: text, required: true}
  - {id: topic, name: Topic, type: text, from: $topic}
  - {id: body, name: Body, type: richtext}
  - {id: author, name: Author, type: reference, api: people}
"""
# The same files are sources of a second API, so that what is remembered of a path has to say both.
TITLES = """uid: api_Titles0000001
name: Titles
endpoint: titles
kind: list
multilingual: true
source: "pages/{topic}/{id}.md"
fields:
  - {id: title, name: Title, type: text}
"""
PEOPLE = """uid: api_People0000001
name: People
endpoint: people
kind: list
fields:
  - {id: name, name: Name, type: text, required: true}
"""


def content(random: Random) -> str:
    lines = [f"title: {random.choice(['One', 'Two', '三'])}", "createdAt: 2026-01-02"]
    if random.random() < 0.3:
        lines.append(f"author: {random.choice(['mika', 'nobody'])}")
    if random.random() < 0.2:
        lines.append("publishEnd: 2027-01-01")
    if random.random() < 0.2:
        lines.append("status: draft")
    if random.random() < 0.1:
        lines.append("colour: red")
    return "---\n" + "\n".join(lines) + f"\n---\n# {random.randrange(1000):03}\n"


def pages(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("pages*/*/*") if path.is_file())


def new_page(root: Path, random: Random) -> Path:
    folder = random.choice(["pages", "pages", "pages.ja", "pages.xx"])
    name = f"{random.choice(['a', 'b', 'c'])}{random.randrange(30)}{random.choice(['', '', '.draft'])}.md"
    path = root / folder / random.choice(["home", "work"]) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def new_workspace(place: Path, random: Random, files: int) -> Path:
    """A workspace to edit, with so many pages."""
    root = place / "workspace"
    (root / "apis").mkdir(parents=True)
    for name, text in (("pages", PAGES), ("titles", TITLES), ("people", PEOPLE)):
        (root / f"apis/{name}.yaml").write_text(text)
    (root / "workspace.yaml").write_text(WORKSPACE)
    (root / "content/people").mkdir(parents=True)
    (root / "content/people/mika.yaml").write_text("name: Mika\ncreatedAt: 2026-01-01\n")
    for _ in range(files):
        new_page(root, random).write_text(content(random))
    return root


def change(root: Path, random: Random) -> None:
    random.choice(pages(root)).write_text(content(random))


def change_in_place(root: Path, random: Random) -> None:
    """Keep size, time and inode, as only an edit can whose file was as fresh at the last build."""
    known = [path for path in pages(root) if path.parent.parent.name == "pages"]
    fresh = [path for path in known if path.stat().st_mtime_ns == FUTURE]
    path = random.choice(fresh if len(fresh) > 3 else known)
    if path in fresh:
        before, text = path.stat(), path.read_text()
        path.write_text(f"{text[:-4]}{random.randrange(1000):03}\n")
        assert (path.stat().st_size, path.stat().st_ino) == (before.st_size, before.st_ino)
    os.utime(path, ns=(FUTURE, FUTURE))


def add(root: Path, random: Random) -> None:
    new_page(root, random).write_text(content(random))


def remove(root: Path, random: Random) -> None:
    random.choice(pages(root)).unlink()


def rename(root: Path, random: Random) -> None:
    random.choice(pages(root)).replace(new_page(root, random))


def swap(root: Path, random: Random) -> None:
    """Two files change places, times and all."""
    one, other = random.sample(pages(root), 2)
    one.rename(root / "aside")
    other.rename(one)
    (root / "aside").rename(other)


def touch(root: Path, random: Random) -> None:
    os.utime(random.choice(pages(root)), ns=(NOW, random.randrange(NOW * 1_000_000)))


def link(root: Path, random: Random) -> None:
    place = new_page(root, random)
    place.unlink(missing_ok=True)
    place.symlink_to(random.choice([random.choice(pages(root)), root / "nothing.md", root]))


def define(root: Path, random: Random) -> None:
    text = random.choice([PAGES, PAGES.replace("name: Title", "name: Heading"), PAGES.replace("{topic}-", "")])
    (root / "apis/pages.yaml").write_text(text)
    if random.random() < 0.5:
        (root / "apis/titles.yaml").write_text(TITLES)
    else:
        (root / "apis/titles.yaml").unlink(missing_ok=True)
    (root / "workspace.yaml").write_text(WORKSPACE if random.random() < 0.8 else "id: acme\nlanguages: [ja, en]\n")


EDITS: list[Callable[[Path, Random], None]] = [
    change, change, change, add, add, remove, rename, swap, touch, link, define,
]  # fmt: skip


def outcome(root: Path, store: Path, now: int) -> tuple[object, ...]:
    """The content of the snapshot and every problem."""

    def told(problems: Problems) -> list[str]:
        return [*map(str, problems.kept), *map(str, problems.counts)]

    checked = told(check(root, open_store(store).cache, lenient=True))
    try:
        result = build(root, open_store(store), now=now, lenient=True, allow_breaking=True, segment_entries=3)
    except WorkspaceRefused as refused:
        return ("refused", told(refused.problems), checked)
    manifest = open_store(store).workspace("acme").manifest(result.version)
    return (
        manifest.content,
        [(file.path, file.sha256, file.rows) for file in manifest.files],
        told(result.problems),
        checked,
    )


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_rebuilds_equal_builds_from_nothing(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = EDITS
    if seed == 0:
        edits = EDITS + [change_in_place] * 9
    else:  # trust times as those of files that were left alone for two seconds, so that they are all that is looked at
        monkeypatch.setattr("snapshots.build.file_states.RACY_NS", 0)
        monkeypatch.setattr("snapshots.build.inputs.RACY_NS", 0)
    random = Random(seed)
    root = new_workspace(tmp_path, random, 25)
    seen = set()
    for step in range(10):
        for path in root.glob("pages*/*/*"):
            if path.is_symlink() and random.random() < 0.7:
                path.unlink()  # most links are errors, which would end all building
        for _ in range(random.choice([0, 2, 3, 4])):
            random.choice(edits)(root, random)
        warm = outcome(root, tmp_path / "store", NOW + step)
        cold = outcome(root, tmp_path / f"cold-{step}", NOW + step)
        assert warm == cold, f"step {step}"
        seen.add(warm[0])
    assert len(seen) > 3
