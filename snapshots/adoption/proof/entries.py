"""What a workspace says of every content file: the versions that are live, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
from selectolax.lexbor import LexborHTMLParser

from snapshots.adoption.folders import is_markdown
from snapshots.adoption.generator import Generator
from snapshots.adoption.proof.addresses import ContentFile
from snapshots.adoption.proof.built_pages import text_of
from snapshots.adoption.proof.texts import Text
from snapshots.adoption.reading import documents_of
from snapshots.adoption.site import Site
from snapshots.build.build import Surveyed
from snapshots.build.cached.chunks import ChunkReader
from snapshots.build.checks import CheckedApi
from snapshots.columns import JSON_COLUMN
from snapshots.compile.dates import CHANGED_BY_GIT, GIVEN, GUESSED
from snapshots.compile.markdown import render
from snapshots.compile.rows import LIVE
from snapshots.documents.document import ContentDocument
from snapshots.documents.publicity import is_for_everybody, word_of
from snapshots.model import META_DATES, NEVER, Api, FieldType
from snapshots.times import format_datetime

_TITLES: Final = ("title", "name", "heading")
Rows: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"


class Entry(msgspec.Struct):
    """A language version that is live."""

    api: str
    id: str
    lang: str
    title: str
    content: Text
    days: frozenset[str]
    """The days that it states, such as ``2020-01-31``; none where no file gives its dates."""
    source: ContentFile
    is_page: bool
    """Whether the generator makes a page of it; otherwise it makes other pages with it."""

    @property
    def name(self) -> str:
        """Return how people name it: ``posts/hello (en)``."""
        return f"{self.api}/{self.id} ({self.lang})"


class HeldBack(msgspec.Struct):
    """A content file that gives no live version, and why."""

    why: str
    title: str
    content: Text
    source: ContentFile


class Bases:
    """The folders of the content of a site, as its generator has them."""

    def __init__(self, root: Path, generator: Generator) -> None:
        self._bases = sorted(generator.folders(root), key=len, reverse=True)
        self._places = {} if generator.content_of is None else generator.content_of(root)

    def of(self, file: str) -> tuple[str, str]:
        """Return the folder of the content in which a file lies, and that at which the pages of its files are."""
        base = next((base for base in self._bases if file.startswith(base)), "")
        return base, self._places.get(base, "")


def live_entries(root: Path, surveyed: Surveyed, site: Site, bases: Bases, now: int) -> list[Entry]:
    """Return every language version of the workspace at ``root`` that is live at ``now`` (UTC milliseconds)."""
    unpaged = {file for collection in site.collections if not collection.has_pages for file in collection.files}
    languages = () if surveyed.inputs is None else surveyed.inputs.definitions.workspace.languages
    found: list[Entry] = []
    documents: dict[str, ContentDocument | None] = {}
    for checked in surveyed.checked:
        for row, columns in _live_rows(checked, now):
            file = checked.files[row["file"]]
            if file not in documents:
                documents[file] = next(iter(documents_of(root, file)), None)
            front = documents[file]
            values = front.values if front is not None and not row["item"] else {}
            fields = msgspec.json.decode(columns[JSON_COLUMN])
            title = next((fields[name] for name in _TITLES if isinstance(fields.get(name), str)), "")
            days = _days(columns, fields, checked.api, dated=row["dated"])
            source = ContentFile(file, *bases.of(file), values, title, next(iter(days), ""), row["id"])
            is_page = is_markdown(file) and file not in unpaged
            lang = languages[row["lang"]]
            text = " ".join(_rich_texts(checked.api, fields))
            found.append(
                Entry(checked.api.endpoint, row["id"], lang, title, _text(text), frozenset(days), source, is_page)
            )
    return found


def _live_rows(checked: CheckedApi, now: int) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the rows of the index that are live, each with its columns."""
    index = checked.index
    state, begin, end = (index[name].to_numpy() for name in ("state", "live_from", "live_until"))
    live = np.flatnonzero((state == LIVE) & (begin <= now) & (now < end))
    chunks = index["chunk"].to_numpy()[live]
    for number in np.unique(chunks).tolist():
        mine = live[chunks == number]
        mine = mine[np.argsort(index["row"].to_numpy()[mine])]
        rows = index.take(mine).select(["file", "item", "lang", "id", "dated", "row"]).to_pylist()
        reader = ChunkReader(checked.chunks[number])
        try:
            taken = reader.take(np.array([row["row"] for row in rows], dtype=np.int32))
            dates = [taken[name].cast("int64").to_pylist() for name in META_DATES]
            texts = taken[JSON_COLUMN].to_pylist()
        finally:
            reader.close()
        for row, text, *given in zip(rows, texts, *dates, strict=True):
            yield row, {JSON_COLUMN: text, **dict(zip(META_DATES, given, strict=True))}


def _days(columns: Mapping[str, Any], fields: Mapping[str, Any], api: Api, *, dated: int) -> list[str]:
    """Return the days of an entry, that of its publication first."""
    of_file = ("publishedAt", "createdAt", "updatedAt") if dated in (GIVEN, GUESSED) else ()
    stamps = [columns[name] for name in (("publishedAt", "createdAt") if dated == CHANGED_BY_GIT else of_file)]
    days = [datetime.fromtimestamp(at / 1000, UTC).date().isoformat() for at in stamps]
    for field in api.fields:
        value = fields.get(field.id)
        if field.type is FieldType.DATETIME and isinstance(value, str):
            days.append(value[:10])
    return list(dict.fromkeys(days))


def _rich_texts(api: Api, fields: Mapping[str, Any]) -> Iterator[str]:
    for field in api.fields:
        value = fields.get(field.id)
        if field.type is FieldType.RICHTEXT and isinstance(value, str):
            yield value


def _text(html: str) -> Text:
    return Text(text_of(LexborHTMLParser(html))) if html else Text("")


def held_back(
    root: Path, files: Iterable[str], surveyed: Surveyed, site: Site, bases: Bases, live: set[str], now: int
) -> Iterator[HeldBack]:
    """Return the Markdown files of a site that give no live version, with the reasons."""
    states = dict(_states(surveyed, now))
    for file in files:
        if file in live or not is_markdown(file):
            continue
        document = next(iter(documents_of(root, file)), None)
        if document is None:
            continue
        title = document.values.get("title")
        try:
            content = _text(render(document.body or ""))
        except ValueError:
            content = Text(document.body or "")
        source = ContentFile(file, *bases.of(file), document.values, title if isinstance(title, str) else "")
        yield HeldBack(_why(file, document, states, site), source.title, content, source)


def _states(surveyed: Surveyed, now: int) -> Iterator[tuple[str, str]]:
    for checked in surveyed.checked:
        for row in checked.index.select(["file", "state", "live_from", "live_until"]).to_pylist():
            if row["state"] != LIVE:
                why = "a draft"
            elif row["live_from"] > now:
                why = "never live" if row["live_from"] == NEVER else f"live from {format_datetime(row['live_from'])}"
            else:
                why = f"live until {format_datetime(row['live_until'])}"
            yield checked.files[row["file"]], why


def _why(file: str, document: ContentDocument, states: Mapping[str, str], site: Site) -> str:
    if file in states:
        return states[file]
    if file in site.kept_back:
        return site.kept_back[file][1]
    hiding = [key for key, value in document.values.items() if word_of(key) and not is_for_everybody(key, value)]
    if hiding:
        return f"'{hiding[0]}' may mean that it is not for everybody"
    return "read by no API"
