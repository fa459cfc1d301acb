"""The form of entry IDs and draft keys is written down once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from unicodedata import normalize

from hypothesis import example, given
from hypothesis import strategies as st

from snapshots.build.build import check
from snapshots.ids import MAX_ID, hashed_id, slug_id, valid_id
from tests.sites.imported import write_files

WITH_TILDE = r"""
import importlib.util, json, sys

specification = importlib.util.find_spec("snapshots.ids")
source = specification.loader.get_source("snapshots.ids").replace("A-Za-z0-9_-", "A-Za-z0-9_~-")
ids = importlib.util.module_from_spec(specification)
exec(compile(source, "ids", "exec"), ids.__dict__)
sys.modules["snapshots.ids"] = ids
"""
"""Begins a program in which IDs may hold ``~`` too: only ``snapshots/ids.py`` is changed."""

CHECK_AND_READ = """
import re
from pathlib import Path
from snapshots.build.build import check

found = check(Path(), Path("cache"))
assert not found.errors, found.kept

from engine.read.query.answers.view_counts import parse_views_query
from engine.read.query.parameters import parse_entry_query
from engine.views.collecting.targets import entry_key
from server.reference.document import service_document

document = service_document()
schemas = {name: one["schema"] for name, one in document["components"]["parameters"].items()}
taken = [
    parse_entry_query(b"draftKey=a~b", None).draft_key,
    parse_views_query(b"ids=a~b,c").ids[0],
    entry_key("a~b"),
    *document["components"]["schemas"]["PageView"]["properties"]["entryId"]["pattern"].partition("~")[1],
    *(name for name, one in schemas.items() if re.fullmatch(one.get("items", one).get("pattern", ""), "a~b")),
]
print(json.dumps(taken))
"""

WORKSPACE = {
    "workspace.yaml": "id: acme\nname: Acme\nlanguages: [en]\n",
    "apis/posts.yaml": (
        "uid: p~s\nname: Posts\nendpoint: posts\nkind: list\npage_url: /posts/{id}\n"
        "fields:\n  - {id: body, name: Body, type: richtext}\n  - {id: next, name: Next, type: reference, api: posts}\n"
    ),
    "content/posts/a~b.yaml": "status: published\ndraftKey: k~1\nnext: c~d\nbody: <a href='/posts/c~d'>next</a>\n",
    "content/posts/c~d.yaml": "status: published\nid: c~d\n",
}


def test_a_character_more_of_ids_is_taken_wherever_ids_and_draft_keys_are(tmp_path: Path) -> None:
    write_files(tmp_path, WORKSPACE)
    assert any("uid" in problem.message for problem in check(tmp_path, tmp_path / "cache").kept)
    program = [sys.executable, "-c", WITH_TILDE + CHECK_AND_READ]
    wider = subprocess.run(program, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert wider.returncode == 0, wider.stderr
    taken = json.loads(wider.stdout)
    assert taken[:4] == ["a~b", "a~b", "a~b", "~"]
    assert {"draftKey", "X-Draft-Key", "ids"} <= {*taken}


def test_an_id_has_1_to_64_characters() -> None:
    assert all(map(valid_id, ("Aa0_-", "x" * MAX_ID)))
    assert not any(map(valid_id, ("", "x" * (MAX_ID + 1), "a b", "é", "a\n")))


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=90) | st.text(
    st.sampled_from("aé料金-_/. Я\u0301"), min_size=1, max_size=6
)


@given(st.lists(NAMES, min_size=2, max_size=12))
@example(["料金", "公司", "--", "-"])
@example(["e\u0301", "\u00e9"])
def test_names_in_any_script_have_ids_of_their_own(names: list[str]) -> None:
    texts = {normalize("NFC", name) for name in names}
    assert all(map(valid_id, map(slug_id, names)))
    assert {slug_id(text) for text in texts} == {slug_id(name) for name in names}
    others = {text for text in texts if not text.isascii() or valid_id(text)}
    assert len({slug_id(text) for text in others}) == len(others)
    assert len({hashed_id(text, hash_bytes=4) for text in texts}) == len(texts)


def test_an_id_is_the_same_from_release_to_release() -> None:
    same = {
        "guides/second.part": "guides-second-part",
        "William J. Turkel": "William-J--Turkel",
        "料金": "9c77b82d99d5",
        "guides/料金": "guides-d22e2b15f099",
        "Café": "Cafe-223ebf230c22",
        "x" * 65: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-9d1841f9c531",
    }
    assert {text: slug_id(text) for text in same} == same
