"""The search index against looking into every text: whatever the texts, the term and the sizes of the parts."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.files.array_file import ArrayFile, ArrayFileWriter
from engine.read.files.search_arrays import search_array
from engine.read.materialise.search_files import word_pieces, write_search
from engine.read.materialise.search_files.write_search import SearchWriter
from engine.read.materialise.search_files.write_vocabulary import joined_vocabulary
from engine.read.search import postings, row_bits, term_index
from engine.read.search.row_bits import RowBits, mark_places, unpacked
from engine.read.search.term_index import TermIndex
from snapshots.columns import search_column
from snapshots.compile.values import normalise_search
from snapshots.search import index as search_index
from snapshots.search import reuse, vocabulary
from snapshots.search.index import write_search_index
from snapshots.search.reuse import OlderIndex
from tests.generated.any_text import CHARACTERS
from tests.generated.budget import RANDOM, TIMES

TOKEN = b"0123456789abcdef"
PIECES = [
    *"aAbßeéİıſz09 _%.-\n\u00a0。、のてい東京都タ🎉👩\u200d💻กำเ한글ждةعe\u0301",
    *("the ", "ing", "and", "of ", "ている", "東京", "hello", " world", "2024", "''", "\ud7ff", "\uffff", "\U0010ffff"),
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(CHARACTERS, max_size=8)


def written(text: str) -> str:
    return normalise_search("".join(c for c in text if c != "\0" and unicodedata.category(c) != "Cs"))


@contextmanager
def indexed(*parts: list[str | None]) -> Iterator[TermIndex]:
    """The index of these texts as those of a field, in parts, opened, until the end of the block."""
    with TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as place:
        files = [ArrayFile(made(Path(place, str(number)), texts), TOKEN) for number, texts in enumerate(parts)]
        # Parts in which the API has no rows in a language have numbers too.
        numbered = {2 * at + 1: file for at, file in enumerate(files)}
        vocabulary = Path(place, "vocabulary")
        with ArrayFileWriter(vocabulary, TOKEN) as writer:
            for name, values in joined_vocabulary({number: arrays(file) for number, file in numbered.items()}, None):
                writer.append(search_array("en", "body", name), values)
        joined = ArrayFile(vocabulary, TOKEN) if len(parts) > 1 else None
        yield TermIndex(numbered, joined, RowBits([len(texts) for texts in parts]), "en", "body")


def arrays(file: ArrayFile) -> Callable[[str], Any]:
    return lambda name: file.array(search_array("en", "body", name))


def made(place: Path, texts: list[str | None]) -> Path:
    """The search file of a part with these texts."""
    place.mkdir()
    data, index = place / "data.parquet", place / "index.parquet"
    column = pa.array(texts, pa.string())
    pq.write_table(pa.table({search_column("other"): column[::-1], search_column("body"): column}), data)
    write_search_index(data, ["other", "body"], index)
    with SearchWriter(place / "made", TOKEN) as writer:
        writer.add_texts("en", "body", data)
        writer.add("en", "body", index)
    return place / "made"


def check(index: TermIndex, texts: list[str | None], term: str) -> None:
    held = np.array([text is not None and term in text for text in texts])
    [places] = np.nonzero(~unpacked(index.places.spare))
    for before in (np.zeros(len(texts), dtype=bool), np.arange(len(texts)) % 3 == 0):
        marked = index.places.spare.copy()
        mark_places(marked, places[before])
        index.mark_matching(term, marked, lambda: None)
        assert unpacked(marked)[places].tolist() == (held | before).tolist(), term


@settings(RANDOM, max_examples=40 * TIMES)
@given(
    st.lists(st.none() | TEXT.map(written), min_size=1, max_size=12),
    st.lists(TEXT.map(written).filter(bool), min_size=1, max_size=8),
    st.data(),
)
def test_every_term_finds_the_rows_whose_text_holds_it(
    texts: list[str | None], terms: list[str], data: st.DataObject
) -> None:
    known = [text for text in texts if text]
    if known:
        text = data.draw(st.sampled_from(known))
        first = data.draw(st.integers(0, len(text) - 1))
        terms = [
            *terms,
            text[first : data.draw(st.integers(first + 1, len(text)))],
            text[first],
            text[first : first + 2],
        ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_index, "BLOCK_ROWS", data.draw(st.sampled_from([4, 8, 65_536])))
        patch.setattr(search_index, "_BATCH_ROWS", data.draw(st.sampled_from([1, 2, 4])))
        patch.setattr(search_index, "_BATCH_BYTES", data.draw(st.sampled_from([40, 1 << 19])))
        patch.setattr(vocabulary, "_MOST", data.draw(st.sampled_from([5, 1 << 18])))
        patch.setattr(vocabulary, "_SLOT_BITS", data.draw(st.sampled_from([3, 17])))
        patch.setattr(vocabulary, "_ASKED", data.draw(st.sampled_from([0, 3, 16])))
        patch.setattr(vocabulary, "_FEW", data.draw(st.sampled_from([0, 256])))
        patch.setattr(write_search, "DENSE", data.draw(st.sampled_from([1, 4, 32])))
        patch.setattr(word_pieces, "_AT_ONCE", data.draw(st.sampled_from([1, 5, 1 << 18])))
        patch.setattr(write_search, "_TOKENS_AT_ONCE", data.draw(st.sampled_from([3, 256])))
        patch.setattr(write_search, "_ROWS_AT_ONCE", data.draw(st.sampled_from([2, 1024])))
        patch.setattr(term_index, "_MARKED_MEANWHILE", data.draw(st.sampled_from([0, 1, 400])))
        patch.setattr(term_index, "_FEW", data.draw(st.sampled_from([0, 2, 2_000])))
        patch.setattr(term_index, "_HEAD", data.draw(st.sampled_from([2, 65_536])))
        patch.setattr(term_index, "_AT_ONCE", data.draw(st.sampled_from([1, 4, 100])))
        patch.setattr(postings, "_WORDS_AT_A_TIME", data.draw(st.sampled_from([1, 5, 1 << 17])))
        patch.setattr(postings, "_TEXTS_AT_A_TIME", data.draw(st.sampled_from([1, 4_096])))
        patch.setattr(row_bits, "_WORDS", data.draw(st.sampled_from([0, 1, 64])))
        cuts = sorted(data.draw(st.sets(st.integers(1, len(texts)), max_size=3)) - {len(texts)})
        parts = [texts[first:end] for first, end in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
        with indexed(*parts) as index:
            for term in terms:
                check(index, texts, term)


def test_one_and_two_characters_find_the_rows_of_all_words_that_hold_them() -> None:
    """Be the words in many rows or in few, in one part or in several, and in any alphabet."""
    random = np.random.default_rng(7)
    characters = np.array(list("abcdeéß9ω한글"))
    words = ["".join(random.choice(characters, length)) for length in random.integers(1, 7, 300)]
    often = 1 / (1 + np.arange(len(words)))
    texts: list[str | None] = [
        " ".join(random.choice(words, random.integers(0, 12), p=often / often.sum())) for _ in range(700)
    ]
    for parts in ([texts], [texts[:150], texts[150:155], texts[155:]]):
        with indexed(*parts) as index:
            for first in characters:
                for term in (first, *(first + second for second in characters)):
                    check(index, texts, term)


@settings(RANDOM, max_examples=40 * TIMES)
@given(st.lists(st.none() | TEXT.map(written), min_size=1, max_size=12), st.data())
def test_an_older_index_changes_nothing_but_the_texts_that_are_read(
    texts: list[str | None], data: st.DataObject
) -> None:
    others = st.none() | TEXT.map(written) | st.sampled_from(texts)
    changed = list(texts)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(changed)))
        changed[at : at + data.draw(st.integers(0, 2))] = data.draw(st.lists(others, max_size=2))
    read: list[str | None] = []
    add = search_index._Block._add_texts

    def watched(block: search_index._Block, texts: pa.StringArray, first: int) -> None:
        read.extend(texts.to_pylist())
        add(block, texts, first)

    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory(dir=os.environ.get("PYTEST_DEBUG_TEMPROOT")) as place,
    ):
        rows = data.draw(st.sampled_from([4, 8, 65_536]))
        patch.setattr(search_index, "BLOCK_ROWS", rows)
        patch.setattr(search_index, "_BATCH_ROWS", data.draw(st.sampled_from([1, 2, 4])))
        patch.setattr(search_index, "_BATCH_BYTES", data.draw(st.sampled_from([40, 1 << 19])))
        few = data.draw(
            st.sampled_from([0, 2, 16])
        )  # of texts that may be read again: all, half, none in these batches
        patch.setattr(reuse, "_FEW", few)
        old, new, index, again, anew = (Path(place, name) for name in ("old", "new", "index", "again", "anew"))
        for path, held in ((old, texts), (new, changed)):
            column = pa.array(held, pa.string())
            fields = {
                search_column("body"): column,
                search_column("other"): pa.array([t and t[:2] for t in held], pa.string()),
            }
            pq.write_table(pa.table(fields), path)
        write_search_index(old, ["body"], index)
        write_search_index(new, ["body", "other"], anew)
        patch.setattr(search_index._Block, "_add_texts", watched)
        write_search_index(new, ["body", "other"], again, OlderIndex(old, index))
        assert again.read_bytes() == anew.read_bytes()
        if rows > len(texts) + 6 and few == 16:
            assert not set(read[: len(changed)]) & (set(texts) - {None, ""})


def test_more_words_than_two_bytes_count_are_told_apart(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(70_000)]
    texts = [" ".join(words[at : at + 500]) for at in range(0, len(words), 500)]
    pq.write_table(pa.table({search_column("f"): texts + texts[::-1]}), tmp_path / "data.parquet")
    write_search_index(tmp_path / "data.parquet", ["f"], tmp_path / "index.parquet")
    index = pq.read_table(tmp_path / "index.parquet")
    rows = dict(zip(index["token"].to_pylist(), index["rows"].to_pylist(), strict=True))
    assert rows.pop(" ") == list(range(280))
    assert rows == {f"w{number}": [number // 500, 279 - number // 500] for number in range(70_000)}


def test_indexing_holds_a_small_part_of_a_file_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = pa.schema([(search_column("f"), pa.string())])
    random = np.random.default_rng(1)
    with pq.ParquetWriter(tmp_path / "data.parquet", schema) as file:
        for _ in range(30):
            texts = [random.bytes(2_000).hex(" ", 100) for _ in range(64)]
            file.write_table(pa.table([texts], schema=schema))
    before, held = pa.total_allocated_bytes(), []
    table = search_index._Block.table

    def watched(block: search_index._Block) -> pa.Table:
        held.append(pa.total_allocated_bytes())
        return table(block)

    monkeypatch.setattr(search_index._Block, "table", watched)
    monkeypatch.setattr(search_index, "_BATCH_ROWS", 64)
    monkeypatch.setattr(search_index, "BLOCK_ROWS", 64)
    write_search_index(tmp_path / "data.parquet", ["f"], tmp_path / "index.parquet")
    assert len(held) == 30
    assert max(held) - before < (tmp_path / "data.parquet").stat().st_size / 4
