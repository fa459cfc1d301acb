"""Translations that are older than their originals, by git and without it, against a list of who changed what when."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from snapshots.build.build import CheckResult, build, examine
from snapshots.columns import SEGMENT_ENTRIES
from snapshots.store.store import open_store
from snapshots.translations.model import LAGGING, Translations

LANGUAGES = ["en", "de", "ja"]
FILES = {
    "workspace.yaml": "id: w\nlanguages: [en, de, ja]\n",
    "apis/posts.yaml": "uid: api_posts\nendpoint: posts\nkind: list\nmultilingual: true\n"
    "fields: [{id: title, type: text}]\n",
}
Version = tuple[str, str]
"""Entry and language."""
NEW_NAME = "a new name"
Step = dict[Version, str]
"""What is done to versions at one time: new contents, ``""`` to delete them, ``NEW_NAME`` to rename the files only."""


class Site:
    """A workspace whose versions are changed step by step, each in a file of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[Version, Path] = {}
        self.changed: dict[Version, int] = {}
        """The naive model: the step at which what a version says was last changed."""
        self.steps = 0
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def take(self, step: Step) -> None:
        self.steps += 1
        for version, what in step.items():
            before = self.files.get(version)
            if what == "":
                self.files.pop(version).unlink()
                del self.changed[version]
            elif what == NEW_NAME and before is not None:
                self.files[version] = self._place(version)
                self.files[version].parent.mkdir(parents=True, exist_ok=True)
                before.rename(self.files[version])
            else:
                path = self.files.setdefault(version, self._place(version))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"title: {what}\ncreatedAt: 2026-01-01\n")
                self.changed[version] = self.steps

    def _place(self, version: Version) -> Path:
        entry, lang = version
        return self.root / "content" / "posts" / f"step{self.steps}" / f"{entry}.{lang}.yaml"

    def expected(self) -> list[tuple[str, int, list[str]]]:
        """(language, entries that are missing, entries that are older) by the list of changes."""
        entries = sorted(entry for entry, lang in self.changed if lang == "en")
        return [
            (
                lang,
                sum((entry, lang) not in self.changed for entry in entries),
                [entry for entry in entries if self.changed[entry, "en"] > self.changed.get((entry, lang), self.steps)],
            )
            for lang in LANGUAGES[1:]
        ]


def commit(root: Path, number: int) -> None:
    """Commit everything, a minute later each time."""
    when = f"@{1_700_000_000 + 60 * number} +0000"
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": when}
    for command in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(root), *command], env={**os.environ, **names, **settings}, check=True)


def begin(root: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)


def told(found: CheckResult) -> list[tuple[str, int, list[str]]]:
    return [(one.lang, one.missing, list(one.lagging)) for one in found.translations]


def random_step(random: Random, site: Site, number: int) -> Step:
    every = [(entry, lang) for entry in "abcd" for lang in LANGUAGES]
    step: Step = {}
    for version in random.sample(every, random.randrange(1, 5)):
        there = version in site.files
        step[version] = random.choice(["", NEW_NAME, NEW_NAME] if there and random.random() < 0.4 else [f"{number}"])
        step[version] = f"{number} {'-'.join(version)}" if step[version] == f"{number}" else step[version]
    return step


@pytest.mark.parametrize("uncommitted", [False, True])
def test_commits_tell_who_changed_later(tmp_path: Path, uncommitted: bool) -> None:
    seen = 0
    for seed in range(4):
        site, random = Site(tmp_path / f"w{seed}"), Random(seed)
        begin(site.root)
        for number in range(9):
            site.take(random_step(random, site, number))
            if number < 8 or not uncommitted:
                commit(site.root, number)
            elif seed % 2:
                subprocess.run(["git", "-C", str(site.root), "add", "-A"], check=True)
            if number > 5:
                found = examine(site.root, tmp_path / "cache")
                assert told(found) == site.expected()
                seen += sum(len(names) for _, _, names in told(found))
    assert seen > 10


@pytest.mark.parametrize("segment_entries", [pytest.param(SEGMENT_ENTRIES, marks=pytest.mark.slow), 2])
def test_versions_in_the_store_tell_it_without_git(tmp_path: Path, segment_entries: int) -> None:
    seen = 0
    for seed in range(2):
        site, random, store = Site(tmp_path / f"w{seed}"), Random(seed), open_store(tmp_path / f"store{seed}")
        for number in range(7):
            site.take(random_step(random, site, number))
            # Before it is built a change is later than all that was; and building changes nothing of that.
            expected = site.expected()
            if number > 3:
                assert told(examine(site.root, tmp_path / f"other{seed}", published=store)) == expected
            built = build(site.root, store, now=1_790_000_000_000 + number, segment_entries=segment_entries)
            assert told(CheckResult(built.problems, built.translations)) == expected
            again = build(site.root, store, now=1_790_000_000_000 + 100 + number, segment_entries=segment_entries)
            assert (again.changed, again.translations) == (False, built.translations)
            seen += sum(len(names) for _, _, names in expected)
    assert seen > 10


def site_with(root: Path, older: int) -> Site:
    """A site in git of which this many German texts are older than the English ones."""
    site = Site(root)
    begin(root)
    names = [f"entry-{number}" for number in range(older + 1)]
    site.take({(name, lang): f"{name} {lang}" for name in names for lang in ("en", "de")})
    commit(root, 1)
    site.take({(name, "en"): f"{name} again" for name in names[:older]})
    commit(root, 2)
    return site


@pytest.mark.parametrize(
    ("older", "message"),
    [
        (0, None),
        (1, "1 translation into de is older than the original in en: posts/entry-0"),
        (
            7,
            "7 translations into de are older than the original in en: posts/entry-0, posts/entry-1, posts/entry-2, "
            "posts/entry-3, posts/entry-4 and 2 more",
        ),
    ],
)
def test_one_warning_a_language_names_the_first_five(tmp_path: Path, older: int, message: str | None) -> None:
    site = site_with(tmp_path / "w", older)
    found = examine(site.root, tmp_path / "cache")
    warnings = [(one.file, one.line, one.severity, one.message) for one in found.problems.kept if one.kind == LAGGING]
    place = str(site.files["entry-0", "de"].relative_to(site.root))
    assert warnings == ([] if message is None else [(place, 1, "warning", message)])
    assert found.translations == (
        Translations("posts", "de", 0, tuple(f"entry-{number}" for number in range(older))),
        Translations("posts", "ja", older + 1, ()),
    )


def test_a_text_that_is_still_right_is_confirmed_by_any_change_of_its_file(tmp_path: Path) -> None:
    site = site_with(tmp_path / "w", 1)
    path = site.files["entry-0", "de"]
    path.write_text(f"{path.read_text()}updatedAt: 2026-02-01\n")
    commit(site.root, 3)
    assert [one.lagging for one in examine(site.root, tmp_path / "cache").translations] == [(), ()]


@pytest.mark.parametrize("dates", ["", ', "createdAt": "2026-01-01", "updatedAt": "2026-01-01"'])
def test_files_that_hold_several_versions_are_not_dated_by_their_commits(tmp_path: Path, dates: str) -> None:
    root, store = tmp_path / "w", open_store(tmp_path / "store")
    Site(root)
    begin(root)
    lines = {lang: [f'{{"id": "{one}", "title": "{lang}"{dates}}}' for one in "ab"] for lang in ("en", "de")}
    for number in range(2):
        for lang, texts in lines.items():
            (root / "content" / f"posts.{lang}.jsonl").parent.mkdir(exist_ok=True)
            (root / "content" / f"posts.{lang}.jsonl").write_text("\n".join(texts) + "\n")
        commit(root, number)
        built = build(root, store, now=1_790_000_000_000 + number)
        lines["en"][0] = f'{{"id": "a", "title": "changed"{dates}}}'
    assert [one.lagging for one in built.translations] == [("a",) if dates else (), ()]


def test_content_that_git_ignores_is_as_if_there_was_no_git(tmp_path: Path) -> None:
    site, store = Site(tmp_path / "w"), open_store(tmp_path / "store")
    (site.root / ".gitignore").write_text("content\n")
    begin(site.root)
    commit(site.root, 1)
    site.take({("a", "en"): "1", ("a", "de"): "1"})
    build(site.root, store, now=1_790_000_000_000)
    assert told(examine(site.root, tmp_path / "cache", published=store)) == [("de", 0, []), ("ja", 1, [])]
    site.take({("a", "en"): "2"})
    assert told(examine(site.root, tmp_path / "cache", published=store)) == [("de", 0, ["a"]), ("ja", 1, [])]


def test_drafts_are_no_originals_and_no_translations(tmp_path: Path) -> None:
    site = site_with(tmp_path / "w", 1)
    for lang, name in (("en", "entry-1"), ("de", "entry-0")):
        path = site.files[name, lang]
        path.write_text(f"{path.read_text()}status: draft\n")
    commit(site.root, 3)
    found = examine(site.root, tmp_path / "cache").translations
    assert [(one.missing, one.lagging) for one in found] == [(1, ()), (1, ())]
