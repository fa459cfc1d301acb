"""The report of a review as an editor reads it: a launch of twelve of which one slipped, a rename, a removed entry."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.cli.review.test_review import page
from tests.programs.command_line import Cms, in_process

WORKSPACE = "id: bakery\ntimezone: Europe/Berlin\nlanguages: [en, de, ja]\n"
LAUNCHES = "launches: {spring: 2127-03-01T09:00}\n"
API = """\
uid: api_Posts00000001
name: Posts
endpoint: posts
kind: list
multilingual: true
page_url: /{lang}/posts/{id}/
fields:
  - {id: title, name: Title, type: text}
  - {id: day, name: Day, type: datetime}
  - {id: related, name: Related, type: references, api: posts}
  - {id: parts, name: Parts, type: groups, fields: [{id: post, type: reference, api: posts}]}
  - {id: body, name: Text, type: richtext}
"""
GRAINS = ("rye", "wheat", "spelt", "oat", "barley", "corn", "rice", "millet", "teff", "einkorn", "emmer", "sorghum")
LANGUAGES = ("en", "de", "ja")
TEXT = " ".join(f"Sentence {number} tells of flour, **water** and salt." for number in range(400))


class Site:
    """A workspace as it is published, and as it is proposed."""

    def __init__(self, root: Path) -> None:
        self.before, self.after = root / "before", root / "after"
        for one in (self.before, self.after):
            (one / "apis").mkdir(parents=True)
            (one / "content/posts").mkdir(parents=True)
            (one / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
            (one / "apis/posts.yaml").write_text(API, encoding="utf-8")

    def entry(self, name: str, front: str, body: str = "", *, before: bool = True, after: bool = True) -> None:
        for is_there, root, updated in ((before, self.before, 1), (after, self.after, 2)):
            if is_there:
                text = f"---\ncreatedAt: 2026-01-01\nupdatedAt: 2026-0{updated}-01\n{front}\n---\n{body}\n"
                (root / f"content/posts/{name}.md").write_text(text, encoding="utf-8")

    def translated(self, name: str, front: str, body: str = "", *, before: bool = True, after: bool = True) -> None:
        for lang in LANGUAGES:
            suffix = "" if lang == "en" else f".{lang}"
            self.entry(f"{name}{suffix}", front.replace("LANG", lang), f"{body} {lang}", before=before, after=after)

    def launch(self) -> None:
        (self.after / "workspace.yaml").write_text(WORKSPACE + LAUNCHES, encoding="utf-8")
        for grain in GRAINS:
            slipped = "\npublishStart: 2127-04-01T09:00" if grain == "teff" else ""
            self.translated(grain, f"title: {grain.title()}\nlaunch: spring{slipped}", before=False)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


Review = Callable[..., str]


@pytest.fixture
def review(cms: Cms, site: Site) -> Review:
    def run(form: str = "text") -> str:
        ran = cms("review", str(site.after), "--base", str(site.before), "--format", form)
        assert ran.status == 0, ran.err
        return ran.out

    return run


def section(shown: str, title: str) -> list[str]:
    """The lines of a section of the text."""
    lines = shown.splitlines()
    first = next((at for at, line in enumerate(lines) if line.partition(":")[0] == title), len(lines))
    last = next((at for at, line in enumerate(lines) if at > first and not line.startswith(" ")), len(lines))
    return [line.strip() for line in lines[first + 1 : last]]


def test_the_twelve_of_a_launch_are_a_line_and_the_one_that_slipped_another(review: Review, site: Site) -> None:
    site.launch()
    shown = review()
    assert section(shown, "Goes live and ends") == [
        "1 Mar 2127, 09:00 (launch spring): 11 entries go live, in en, de and ja: "
        + ", ".join(grain.title() for grain in sorted(GRAINS) if grain != "teff"),
        "1 Apr 2127, 09:00: Teff (en, de and ja) goes live, a month later than the 11 of 1 Mar 2127, 09:00",
    ]
    assert "Times are Europe/Berlin." in shown
    assert shown.count("teff.de.md:") == 1
    [many] = [line for line in section(shown, "posts") if line.startswith("added 11 entries")]
    assert many.startswith("added 11 entries (en, de, ja), live from 1 Mar 2127, 09:00: barley, corn, ")


def test_a_translation_that_is_not_in_the_launch_is_told_first(review: Review, site: Site) -> None:
    site.launch()
    (site.after / "content/posts/oat.de.md").write_text("---\ntitle: Hafer\n---\n", encoding="utf-8")
    first, launched, _ = section(review(), "Goes live and ends")
    assert first == "At once: Oat (de) goes live, before en and ja (1 Mar 2127, 09:00)"
    assert ": 11 entries go live, in en, de and ja: Oat (only en and ja), Barley, Corn, " in launched


def test_one_edit_that_moves_a_launch_is_a_line(review: Review, site: Site) -> None:
    site.launch()
    for path in (site.after / "content/posts").iterdir():
        (site.before / "content/posts" / path.name).write_bytes(path.read_bytes())
    (site.before / "workspace.yaml").write_text(WORKSPACE + LAUNCHES.replace("-03-01", "-02-01"), encoding="utf-8")
    shown = review()
    [line] = section(shown, "Goes live and ends")
    assert line.startswith(
        "1 Mar 2127, 09:00 (launch spring): 11 entries go live a month later than before (1 Feb 2127, 09:00), in en, de"
    )
    assert section(shown, "posts") == ["33 language versions with another time to go live or end, and no other change"]


def test_a_changed_word_of_a_long_text_is_told_in_plain_text_among_the_words_around_it(
    review: Review, site: Site
) -> None:
    site.entry("mill", "title: The mill\nday: 2026-08-01T10:00", TEXT, after=False)
    changed = TEXT.replace("Sentence 200 tells of flour, **water**", "Sentence 200 sings of flour, **milk**")
    site.entry("mill", "title: The mill\nday: 2026-09-01T10:00", changed, before=False)
    assert section(review(), "posts") == [
        "changed mill, The mill (en)",
        "Day: 1 Aug 2026, 10:00 → 1 Sep 2026, 10:00",
        "Text: … flour, water and salt. Sentence 200 [-tells] [+sings] of flour, [-water] [+milk] and salt. "
        "Sentence 201 tells of …",
    ]
    shown = page(review("markdown"))
    assert [node.text() for node in shown.css("del")] == ["tells", "water"]
    assert [node.text() for node in shown.css("ins")] == ["sings", "milk"]
    assert "updatedAt" not in review()


def test_other_links_or_formatting_are_told_as_such(review: Review, site: Site) -> None:
    site.entry("mill", "title: M", "See [here](https://one.example/).", after=False)
    site.entry("mill", "title: M", "See [here](https://two.example/).", before=False)
    [line] = section(review(), "posts")
    assert line.startswith("changed mill, M (en): Text, the same words with other links or formatting: ")
    assert "[-one] [+two]" in line


def test_only_another_date_of_the_last_change_is_a_count(review: Review, site: Site) -> None:
    for number in range(3):
        site.entry(f"e{number}", "title: Same")
    assert section(review(), "posts") == [
        "3 language versions with another date of the last change, and no other change"
    ]


def test_renamed_and_removed_entries_are_told_apart_with_what_ends(review: Review, site: Site) -> None:
    site.translated("opening", "title: Opening LANG", "Come in.", after=False)
    site.translated("our-opening", "title: Opening LANG", "Come in.", before=False)
    site.translated("old", "title: Old LANG", "Gone.", after=False)
    site.entry("stays", "title: Stays")
    site.entry("stays.de", "title: Bleibt", after=False)
    site.entry("links", "title: Links\nrelated: [opening, old]")
    site.entry("links.de", "title: Links\nrelated: [old]")
    site.entry("deep", "title: Deep\nparts: [{post: old}]")
    site.entry("planned.draft", "title: Planned\nrelated: [old]")
    shown = review()
    assert "0 added, 5 changed, 3 renamed, 4 removed." in shown
    assert section(shown, "Renamed") == [
        "posts/opening is now posts/our-opening, with the same content in en, de and ja",
        "these addresses end: /en/posts/opening/, /de/posts/opening/, /ja/posts/opening/",
        "1 entry still refers to it: posts/links (related; en)",
        "with aliases: [opening] in our-opening, references and links to the old ID lead to the new one",
    ]
    assert section(shown, "Removed") == [
        "posts/old, Old en (en, de, ja)",
        "these addresses end: /en/posts/old/, /de/posts/old/, /ja/posts/old/",
        "3 entries still refer to it: posts/deep (parts.post; en), posts/links (related; en and de), "
        "posts/planned (related; en draft)",
        "posts/stays, Bleibt (de)",
        "this address ends: /de/posts/stays/",
        "it is still there in en",
    ]
    markdown = review("markdown")
    assert [title.text() for title in page(markdown).css("h4")] == ["Problems", "Translations", "Renamed", "Removed"]


def test_nearly_the_same_under_another_name_is_said(review: Review, site: Site) -> None:
    body = "A long enough text about flour, water, salt, the old mill, its wheel and the people who bake there."
    site.entry("mill", "title: The mill", body, after=False)
    site.entry("tower", "title: The mill", body.replace("old", "new"), before=False)
    shown = review()
    assert "1 added, 0 changed, 1 removed." in shown
    assert section(shown, "Removed")[-1] == (
        "tower has nearly the same words: if that is a new name of it, write aliases: [mill] there"
    )


def test_drafts_that_are_published_and_entries_that_are_taken_back(review: Review, site: Site) -> None:
    site.entry("one", "title: One\nstatus: draft", after=False)
    site.entry("one", "title: One", before=False)
    site.entry("two", "title: Two", after=False)
    site.entry("two", "title: Two\nstatus: draft", before=False)
    shown = review()
    assert section(shown, "Removed") == [
        "posts/two, Two (en)",
        "this address ends: /en/posts/two/",
        "it is still there in en (draft)",
    ]
    assert section(shown, "posts") == ["added one, One (en), a draft before"]


def test_windows_that_move(review: Review, site: Site) -> None:
    for name, before, after in (
        ("later", "publishStart: 2127-01-01", "publishStart: 2127-02-01"),
        ("at-once", "publishStart: 2127-01-01", ""),
        ("held", "", "publishStart: 2127-01-01"),
        ("ends", "", "publishEnd: 2127-01-01"),
        ("for-ever", "publishEnd: 2127-01-01", ""),
    ):
        site.entry(name, f"title: {name}\npublishedAt: 2026-01-01\n{before}", after=False)
        site.entry(name, f"title: {name}\npublishedAt: 2026-01-01\n{after}", before=False)
    shown = review()
    assert section(shown, "Goes live and ends") == [
        "1 Jan 2127, 00:00: ends (en) ends",
        "1 Jan 2127, 00:00: held (en) goes live",
        "1 Feb 2127, 00:00: later (en) goes live a month later than before (1 Jan 2127, 00:00)",
    ]
    assert section(shown, "posts") == [
        "changed at-once (en): goes live at once instead of 1 Jan 2127, 00:00",
        "changed for-ever (en): does not end on 1 Jan 2127, 00:00 any more",
        "3 language versions with another time to go live or end, and no other change",
    ]


def test_lists_and_values_without_words(review: Review, site: Site) -> None:
    site.entry("a", "title: A")
    site.entry("b", "title: B")
    site.entry("lists", "title: L\nrelated: [a, b]", after=False)
    site.entry("lists", "title: ~\nrelated: [b, lists]", before=False)
    site.entry("order", "title: O\nrelated: [a, b]", after=False)
    site.entry("order", "title: O\nrelated: [b, a]", before=False)
    assert section(review(), "posts") == [
        "changed lists (en)",
        "Title: L → nothing",
        "Related: [-a] [+lists]",
        "changed order, O (en): Related: the same in another order: b, a",
        "2 language versions with another date of the last change, and no other change",
    ]


def test_the_text_is_for_terminals_and_the_comment_for_pull_requests(cms: Cms, site: Site) -> None:
    site.entry("a", "title: A", after=False)
    arguments = ("review", str(site.after), "--base", str(site.before))
    assert cms(*arguments).out == cms(*arguments, "--format", "markdown").out
    assert cms(*arguments).out.startswith("<!-- parquetry-review:bakery -->")
    text = cms(*arguments, "--format", "text").out
    assert text.startswith("Content of bakery\nLanguage versions: 0 added, 0 changed, 1 removed.")
    assert not re.search(r"[<>]|&#|\*\*", text)
    assert cms(*arguments, "--format", "html").status == 2
    assert isinstance(page(cms(*arguments).out), LexborHTMLParser)
