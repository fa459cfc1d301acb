"""Values inside groups, and references to several APIs: what they become, and every mistake at its own line."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from snapshots.build.build import build, check
from snapshots.compile.richtext import ImageDoubt
from snapshots.store.store import open_store
from snapshots.translations.model import LOST_REFERENCE
from tests.sites.field_types import FILES, write_field_types

NOW = 1_780_000_000_000
PAGE = FILES["content/pages/home.yaml"]


def found(tmp_path: Path, **changed: str) -> list[str]:
    """The problems of the site, but for images without alternative texts and a reference to a page that is not
    translated, of which it has some."""
    return told(tmp_path, write_field_types(tmp_path / "types", **changed))


def told(tmp_path: Path, root: Path) -> list[str]:
    usual = (ImageDoubt.NO_ALT, LOST_REFERENCE)
    problems = [problem for problem in check(root, tmp_path / "cache").kept if problem.kind not in usual]
    return [f"{p.file}:{p.line} {p.severity}: {p.message}" for p in problems]


def page(tmp_path: Path, *lines: str) -> list[str]:
    """The problems of a page that has these lines from its third on."""
    text = "\n".join(["title: T", "createdAt: 2026-01-01", *lines, ""])
    return [one.removeprefix("content/pages/home.yaml:") for one in found(tmp_path, home=text)]


def test_all_of_it_is_right(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_every_mistake_in_a_group_is_told_at_its_line_in_one_run(tmp_path: Path) -> None:
    assert page(
        tmp_path,
        "authors:",
        "  - name: Mika",
        "    person: Mika Sato",
        "    roles: [sings]",
        "  - person: mika",
        "  -",
        "  - name: [Ken]",
        "seo:",
        "  title: T",
        "  since: soon",
        "gallery:",
        "  - /a.jpg",
        "  - src: /b.jpg",
    ) == [
        '5 error: authors[0].person: "Mika Sato" is not an entry ID: 1 to 64 characters of A-Z a-z 0-9 _ - are allowed',
        '6 error: authors[0].roles: "sings" is not an option; allowed are "writes", "draws"',
        '9 error: authors[3].name: expected text, got a list of 1; write "Ken" without the list',
        "12 error: seo.since: expected a date-time such as 2026-11-01T09:00:00+09:00, or a date such as 2026-11-01, "
        'got "soon"',
        '15 error: gallery[1]: an image has no "src"; allowed are "url", "width", "height", "alt"',
    ]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["seo: T"], '3 error: seo: expected a mapping with the keys title, cover, since, got "T"'),
        (["seo: [{title: T}]"], "3 error: seo: expected a mapping with the keys title, cover, since, got a list of 1"),
        (["seo:", "  cover: {url: /a.jpg, alt: A}"], "3 error: seo.title: required, but has no value"),
        (["seo:", "  title: ''"], "4 error: seo.title: required, but has no value"),
        (["authors:", "  - name: ''"], "4 error: authors[0].name: required, but has no value"),
        (["authors: {person: ken}"], "3 error: authors[0].name: required, but has no value"),
        (["blocks:", "  - text: T"],
         "4 error: blocks[0].fieldId: fieldId must name the kind of group, got nothing; "
         "write one of hero, rule, columns"),
        (["blocks:", "  - {fieldId: heros}"],
         '4 error: blocks[0].fieldId: fieldId must name the kind of group, got "heros"; did you mean "hero"?'),
        (["blocks: [rule]"], '3 error: blocks[0]: expected a mapping with the keys fieldId, got "rule"'),
        (["blocks:", "  - fieldId: columns", "    columns:", "      - body: B", "        by: [x y]"],
         '7 error: blocks[0].columns[0].by: "x y" is not an entry ID: 1 to 64 characters of A-Z a-z 0-9 _ - are '
         "allowed"),
        (["links:", "  - mika", "  - {api: people}"], "5 error: links[1]: a reference needs an id"),
        (["links:", "  - {api: shops, id: a}"], '4 error: links[0].api: expected one of the APIs pages, people, '
         'got "shops"'),
        (["links:", "  - {api: people, id: a b}"],
         '4 error: links[0].id: "a b" is not an entry ID: 1 to 64 characters of A-Z a-z 0-9 _ - are allowed'),
        (["links:", "  - {to: people}"], "4 error: links[0]: a reference has no 'to': write an ID, or {api: …, id: …}"),
        (["settings:", "  a:", "    - 1", "    - 99999999999999999"],
         '6 error: settings.a[1]: "99999999999999999" cannot be kept exactly: numbers go from -9007199254740992 to '
         "9007199254740992; write a longer one as text"),
        (["seo:", "  title: T", "  titel: T"],
         "5 warning: key 'seo.titel' is not a field of pages; did you mean 'seo.title'?"),
        (["blocks:", "  - fieldId: columns", "    columns:", "      - {body: B, 日本: 1}"],
         "6 warning: key 'blocks.columns.日本' is not a field of pages"),
        (["authors:", "  - name: A", "    person: nobody"],
         "5 warning: authors.person: there is no entry 'nobody' in people"),
        (["links: [nobody]"], "3 warning: links: there is no entry 'nobody' in pages or people"),
        (["links: [{api: pages, id: ken}]"], "3 warning: links: there is no entry 'ken' in pages"),
    ],
)  # fmt: skip
def test_one_mistake(tmp_path: Path, lines: list[str], says: str) -> None:
    [problem] = page(tmp_path, *lines)
    assert problem.startswith(says)


def test_an_id_that_several_apis_have_is_warned_of(tmp_path: Path) -> None:
    root = write_field_types(tmp_path / "types")
    (root / "content/people/about.yaml").write_text("name: About\ncreatedAt: 2026-01-01\n")
    message = (
        "warning: links: more than one of pages, people has an entry 'about', and that of the first is taken: "
        "write {api: pages, id: about}"
    )
    assert told(tmp_path, root) == [f"content/pages/home.ja.yaml:4 {message}", f"content/pages/home.yaml:16 {message}"]


def test_a_draft_may_lack_what_is_required_in_a_group(tmp_path: Path) -> None:
    assert found(tmp_path, **{"about.draft": "title: D\ncreatedAt: 2026-01-01\nauthors: [{person: ken}]\n"}) == []


def test_ids_in_groups_follow_the_rule_of_their_api(tmp_path: Path) -> None:
    people = FILES["apis/people.yaml"] + 'id: "{name}"\nid_map: {Ken K.: ken}\nsource: content/people/*.yaml\n'
    root = write_field_types(tmp_path / "types", people=people, late="name: Ken K.\ncreatedAt: 2026-01-01\n")
    (root / "content/people/ken.yaml").unlink()
    (root / "content/people/mika.yaml").write_text("name: Mika\ncreatedAt: 2026-01-01\n")
    (root / "content/pages/home.ja.yaml").unlink()
    (root / "content/pages/about.draft.yaml").unlink()
    (root / "content/pages/home.yaml").write_text(
        "title: T\ncreatedAt: 2026-01-01\nauthors: [{name: K, person: Ken K.}]\n"
        "links: [Ken K., {api: people, id: Ken K.}, {api: pages, id: about}]\n"
    )
    (root / "content/pages/about.yaml").write_text("title: A\ncreatedAt: 2026-01-01\n")
    store = open_store(tmp_path / "store")
    result = build(root, store, now=NOW)
    path = store.workspace("types").snapshots / result.version / "en/pages/all.parquet"
    [(authors, links)] = duckdb.sql(f"SELECT authors, links FROM '{path}' WHERE id = 'home'").fetchall()
    assert authors == [{"name": "K", "person": "ken", "roles": []}]
    assert links == [{"api": None, "id": "ken"}, {"api": "people", "id": "ken"}, {"api": "pages", "id": "about"}]


def test_analysts_read_groups_as_structs_and_lists(tmp_path: Path) -> None:
    store = open_store(tmp_path / "store")
    result = build(write_field_types(tmp_path / "types"), store, now=NOW)
    path = store.workspace("types").snapshots / result.version / "en/pages/all.parquet"
    row = duckdb.sql(
        "SELECT seo.title, seo.since::VARCHAR, list_transform(authors, lambda a: a.person), gallery[2].alt, "
        "menu.fileSize, "
        "settings->'$.target[1]', list_transform(blocks, lambda b: b.fieldId), blocks[3].columns.columns[1].by, "
        f"blocks[1].hero.target FROM '{path}' WHERE id = 'home'"
    ).fetchall()
    assert row == [
        (
            "Home of all", "2025-12-31 15:00:00", ["mika", "late"], "B", 12345, "2.5", ["hero", "rule", "columns"],
            ["ken", "late", "mika"],
            [{"api": None, "id": "mika"}, {"api": "pages", "id": "home"}, {"api": "people", "id": "late"}],
        )
    ]  # fmt: skip
    [(stored, empty)] = duckdb.sql(f"SELECT _.json, blocks FROM '{path}' WHERE id = 'about'").fetchall()
    assert empty == []
    assert json.loads(stored)["links"] == [{"api": "people", "id": "mika"}]


def test_a_reference_to_another_api_is_another_content(tmp_path: Path) -> None:
    """Although answers at depth 0 are the same."""
    root = write_field_types(tmp_path / "types")
    store = open_store(tmp_path / "store")
    first = build(root, store, now=NOW)
    (root / "content/pages/about.yaml").write_text(
        "title: About\ncreatedAt: 2026-02-02\nblocks: []\nlinks: [{api: pages, id: mika}]\n"
    )
    assert build(root, store, now=NOW + 1).version != first.version
