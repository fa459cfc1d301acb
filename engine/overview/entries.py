"""A snapshot → lists of its language versions with their states at an instant, for people who write, not for clients.

The ID, live window and last change of every version are held in memory; other columns are read for the page shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from engine.access.drafts.keys import derived_draft_key
from engine.access.drafts.listing import Draft
from engine.visibility import is_live, is_scheduled
from snapshots.columns import DRAFT_KEY_COLUMN, JSON_COLUMN, FileKind
from snapshots.compare.row_groups import opened_rows
from snapshots.model import ALWAYS, NEVER, TEXT_TYPES, Api
from snapshots.store.durable import StoreError
from snapshots.store.manifest import DataFile, Manifest

if TYPE_CHECKING:
    import pyarrow as pa

    Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

_NARROW = ("id", "updatedAt", "live_from", "live_until")


class State(StrEnum):
    """The state of a language version at an instant (decision 22)."""

    LIVE = "live"
    SCHEDULED = "scheduled"
    ENDED = "ended"
    DRAFT = "draft"
    """Unpublished changes, or a version that was never published."""


STATES = tuple(State)


class Listed(msgspec.Struct, frozen=True):
    """One language version of a list."""

    id: str
    lang: str
    state: State
    title: str | None
    """The value of the API's first text field."""
    updated_at: int
    """UTC milliseconds, like the two ends of the live window below."""
    live_from: int | None
    live_until: int | None
    draft: Draft | None
    """The draft key and path that preview the version; ``None`` unless it is a draft."""


class Page(msgspec.Struct, frozen=True):
    """A part of a list, and the length of the whole list."""

    total: int
    entries: tuple[Listed, ...]


class Content(msgspec.Struct, frozen=True):
    """The fields of one language version."""

    created_at: int
    """UTC milliseconds, like the next field."""
    published_at: int
    values: dict[str, Any]
    """Field ID → value as delivered, references as IDs."""


class EntryOverview:
    """The language versions of one snapshot. Draft keys are derived from ``secret``."""

    def __init__(self, directory: Path, manifest: Manifest, secret: bytes | None) -> None:
        self.manifest = manifest
        self._directory = directory
        self._secret = secret
        self._all_of = cache(self._read)

    def counts(self, api: Api, now: int) -> dict[State, int]:
        """Return the number of versions of an API in each state at ``now``. Raises ``StoreError``."""
        found = Counter(self._all_of(api).states(now).tolist())
        return {state: found[number] for number, state in enumerate(STATES)}

    def page(
        self,
        api: Api,
        now: int,
        *,
        lang: str | None = None,
        state: State | None = None,
        text: str = "",
        first: int = 0,
        count: int = 50,
    ) -> Page:
        """Return ``count`` versions of an API from the ``first`` on, of those in this language and state whose entry ID
        contains ``text`` in whatever case; the last changed come first.

        Raises ``StoreError`` when a file cannot be read.
        """
        rows = self._all_of(api)
        states = rows.states(now)
        wanted = np.ones(len(states), dtype=bool)
        if lang is not None:
            wanted &= rows.in_language(lang)
        if state is not None:
            wanted &= states == STATES.index(state)
        if text:
            wanted &= rows.with_text(text)
        found = np.flatnonzero(wanted)
        found = found[np.argsort(-rows.updated[found], kind="stable")]
        shown = found[first : first + count]
        return Page(len(found), tuple(self._listed(api, rows, shown, states)))

    def versions(self, api: Api, entry: str, now: int) -> tuple[Listed, ...]:
        """Return every version of an entry: languages in the workspace's order, and in each the draft first.

        Raises ``StoreError`` when a file cannot be read.
        """
        rows = self._all_of(api)
        return tuple(self._listed(api, rows, rows.of_entries([entry]), rows.states(now)))

    def content(self, api: Api, version: Listed) -> Content:
        """Return the content of a version from ``page`` or ``versions``. Raises ``StoreError`` if it is unreadable."""
        rows = self._all_of(api)
        kind = FileKind.DRAFTS if version.state is State.DRAFT else FileKind.PUBLISHED
        for at in rows.of_entries([version.id]).tolist():
            file = rows.file_of(at)
            if (file.lang, file.kind) == (version.lang, kind):
                position = np.array([at - rows.starts[rows.files.index(file)]])
                with opened_rows(self._directory / file.path, ("createdAt", "publishedAt", JSON_COLUMN)) as content:
                    [row] = content.take(position).to_pylist()
                return Content(row["createdAt"], row["publishedAt"], msgspec.json.decode(row[JSON_COLUMN]))
        raise StoreError(
            f"{api.endpoint}/{version.id} ({version.lang}) is not in snapshot version {self.manifest.version}."
        )

    def referred(self, api: Api, entries: Sequence[str], lang: str, now: int) -> dict[str, Listed]:
        """Return entry ID → the version that a reference to the entry leads to; entries without a version are left out.

        The version is the live one in ``lang``, else the live one in the main language, else another live one; without
        a live one, that of the next state in ``STATES``, its languages in the same order.

        Raises ``StoreError`` when a file cannot be read.
        """
        rows = self._all_of(api)
        states = rows.states(now)
        wished = (lang, self.manifest.workspace.main_language)
        best: dict[str, tuple[tuple[int, int], int]] = {}
        for at in rows.of_entries(entries).tolist():
            found = rows.file_of(at).lang
            rank = (int(states[at]), wished.index(found) if found in wished else len(wished))
            known = best.setdefault(rows.ids[at].as_py(), (rank, at))
            if rank < known[0]:
                best[rows.ids[at].as_py()] = (rank, at)
        shown = np.array(sorted(at for _, at in best.values()), dtype=np.int64)
        return {one.id: one for one in self._listed(api, rows, shown, states)}

    def published(self, api: Api, entries: Sequence[str], lang: str, now: int) -> dict[str, Listed]:
        """Return entry ID → the entry's published or scheduled version in a language; entries without one are left out.

        Raises ``StoreError`` when a file cannot be read.
        """
        rows = self._all_of(api)
        found = [at for at in rows.of_entries(entries).tolist() if rows.is_published_in(lang, at)]
        shown = np.array(found, dtype=np.int64)
        return {one.id: one for one in self._listed(api, rows, shown, rows.states(now))}

    def _listed(self, api: Api, rows: _Rows, shown: Numbers, states: Numbers) -> Iterator[Listed]:
        details = self._details(api, rows, shown)
        for at in shown.tolist():
            file = rows.file_of(at)
            entry, state = rows.ids[at].as_py(), STATES[states[at]]
            title, given = details[at]
            draft = None
            if state is State.DRAFT:
                workspace = self.manifest.workspace
                derived = self._secret and derived_draft_key(self._secret, workspace.id, api.uid, entry, file.lang)
                draft = Draft(api, entry, file.lang, given or derived or None, derived=given is None)
            begin, end = int(rows.live_from[at]), int(rows.live_until[at])
            window = (None if begin == ALWAYS else begin, None if end == NEVER else end)
            yield Listed(entry, file.lang, state, title, int(rows.updated[at]), *window, draft)

    def _details(self, api: Api, rows: _Rows, shown: Numbers) -> dict[int, tuple[str | None, str | None]]:
        """Return position in ``rows`` → (title, draft key given in its content file) of the versions shown."""
        title = next((field.id for field in api.fields if field.type in TEXT_TYPES), None)
        columns = [DRAFT_KEY_COLUMN, *([title] if title else [])]
        found: dict[int, tuple[str | None, str | None]] = {}
        ordered = np.sort(shown)
        for number, file in enumerate(rows.files):
            mine = ordered[(ordered >= rows.starts[number]) & (ordered < rows.starts[number] + file.rows)]
            if not len(mine):
                continue
            with opened_rows(self._directory / file.path, ["id", *columns]) as content:
                positions = mine - rows.starts[number]
                groups = content.group_of(positions)
                for group in np.unique(groups):
                    batch = content.take(positions[groups == group])
                    texts = batch[title].to_pylist() if title in batch.schema.names else [None] * len(batch)
                    keys = batch[DRAFT_KEY_COLUMN].to_pylist() if file.kind is FileKind.DRAFTS else [None] * len(batch)
                    found.update(zip(mine[groups == group].tolist(), zip(texts, keys, strict=True), strict=True))
        return found

    def _read(self, api: Api) -> _Rows:
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = [
            file
            for lang in self.manifest.workspace.languages_of(api)
            for kind in (FileKind.DRAFTS, FileKind.PUBLISHED)
            if (file := self.manifest.file(api, lang, kind)) is not None
        ]
        tables = []
        for file in files:
            path = self._directory / file.path
            try:
                tables.append(pq.read_table(path, columns=list(_NARROW), partitioning=None))
            except (pa.ArrowException, OSError, KeyError) as error:
                raise StoreError(
                    f"{path} cannot be read: {error}. `cms snapshot verify` says what is damaged."
                ) from None
        return _Rows(files, tables)


class _Rows:
    """The columns of an API's language versions, file by file."""

    def __init__(self, files: list[DataFile], tables: list[pa.Table]) -> None:
        import pyarrow as pa

        def numbers(name: str) -> Numbers:
            parts = [np.asarray(table[name].cast(pa.int64())) for table in tables]
            return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

        self.files = files
        self.starts = np.cumsum([0, *(file.rows for file in files)])[:-1]
        self.ids = pa.chunked_array([chunk for table in tables for chunk in table["id"].chunks], pa.string())
        self.updated = numbers("updatedAt")
        self.live_from = numbers("live_from")
        self.live_until = numbers("live_until")

    def file_of(self, at: int) -> DataFile:
        """Return the file of the version at position ``at``."""
        return self.files[int(np.searchsorted(self.starts, at, side="right")) - 1]

    def is_published_in(self, lang: str, at: int) -> bool:
        """Whether the version at position ``at`` is no draft, and in a language."""
        file = self.file_of(at)
        return (file.lang, file.kind) == (lang, FileKind.PUBLISHED)

    def states(self, now: int) -> Numbers:
        """Return the position in ``STATES`` of each version's state at ``now``."""
        ended = np.where(
            is_live(self.live_from, self.live_until, now), STATES.index(State.LIVE), STATES.index(State.ENDED)
        )
        states = np.where(is_scheduled(self.live_from, now), STATES.index(State.SCHEDULED), ended)
        states[self._of_files([file.kind is FileKind.DRAFTS for file in self.files])] = STATES.index(State.DRAFT)
        return states

    def in_language(self, lang: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return self._of_files([file.lang == lang for file in self.files])

    def with_text(self, text: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
        import pyarrow.compute as pc

        return np.asarray(pc.match_substring(self.ids, text, ignore_case=True))

    def of_entries(self, entries: Sequence[str]) -> Numbers:
        """Return the positions of all versions of these entries, ascending."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return np.flatnonzero(np.asarray(pc.is_in(self.ids, pa.array(entries, pa.string()))))

    def _of_files(self, which: list[bool]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.repeat(np.array(which, dtype=bool), [file.rows for file in self.files])
