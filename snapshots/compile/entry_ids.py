"""The IDs of an API's entries: by its rules and a document, or by its rules and a file's path alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from snapshots.compile.dates import Wrong
from snapshots.definitions.model import ApiSource
from snapshots.documents.document import ContentDocument, is_missing, item_name
from snapshots.documents.expressions import FileFacts, parse_expression
from snapshots.ids import ID_IN_WORDS, MAX_ID, is_plain_name, slug_id, valid_id
from snapshots.model import Api, ApiKind
from snapshots.sources.listing import SourceFile
from snapshots.sources.unknown_languages import unknown_language, what_to_do

_CHARACTERS = "A-Z a-z 0-9 _ -"


class EntryId(NamedTuple):
    """The ID of a document."""

    id: str
    of: str | None = None
    """The text that the ID was made of; ``None`` where it is written as it is, in the document or by ``id_map``."""


class EntryIds:
    """Reads the IDs of one API's documents."""

    def __init__(
        self, api: Api, source: ApiSource, spellings: tuple[str, ...], languages: tuple[str, ...] = ()
    ) -> None:
        """``spellings`` are all spellings of the ``languages`` of the workspace."""
        self._api = api
        self._written = parse_expression(dict(source.meta).get("id", "id"), languages=spellings)
        self._template = parse_expression(source.id, languages=spellings) if source.id else None
        self._languages, self._lang_map = languages, source.lang_map
        self._id_map, self._implied_id = source.id_map, source.implied_id
        self._has_patterns = bool(source.patterns)
        self.key = self._written.key
        """The key under which an ID is written."""
        self.expressions = (self._written, *(() if self._template is None else (self._template,)))

    def item_name(self, document: ContentDocument, file_facts: FileFacts) -> str:
        """Return the words by which problems name the document's item in a file of many."""
        if document.item is None:
            return item_name(None, document.key)
        written = next(
            (value for one in self.expressions if (value := one.read(document, file_facts)) is not None), None
        )
        return item_name(document.item, None, written if isinstance(written, str) else None)

    def in_path(self, source: SourceFile, document: ContentDocument) -> str | None:
        """Return the ID that the path of a document's file says, where no template makes it of something else."""
        if self._template is not None or document.item is not None or document.key is not None:
            return None
        named = source.parts.get("id") if self._has_patterns else source.id
        return named if named is not None and valid_id(named) and self._api.kind is ApiKind.LIST else None

    def read(
        self, source: SourceFile, document: ContentDocument, file_facts: FileFacts, wrong: Wrong
    ) -> EntryId | None:
        """Return the ID of a document; ``None``, and a call of ``wrong``, where it has none or a wrong one."""
        written = self._written.read(document, file_facts)
        if not is_missing(written):
            if isinstance(written, str) and valid_id(written):
                return EntryId(str(written))
            if isinstance(written, str) and len(written) > MAX_ID and slug_id(written[:MAX_ID]) == written[:MAX_ID]:
                wrong(
                    "id",
                    self.key,
                    f"{str(written)!r} is not an ID: it has {len(written)} characters, and at most {MAX_ID} are "
                    "allowed: "
                    "shorten it, remove the key so that the file's name gives the ID, or write 'meta: {id: null}' "
                    "in the "
                    "definition and shorten it with an 'id' template or 'id_map'",
                )
                return None
            shown = repr(str(written)) if isinstance(written, (str, int, float)) else "that"
            wrong("id", self.key, f"{shown} is not an ID: {ID_IN_WORDS} are allowed")
            return None
        if self._implied_id and document.item is None:
            implied = source.parts.get("path") if document.key is None else document.key
            if implied:
                return self._made_of(implied)
            if implied is not None:
                wrong("id", None, "no ID: the key of this item is empty")
                return None
        if self._template is not None and not self._implied_id:
            raw = self._template.read(document, file_facts)
            if not isinstance(raw, str) or not raw:
                wrong("id", None, "no ID: nothing that the API's 'id' template names has a value here")
                return None
            return self._made_of(str(raw))
        if self._api.kind is ApiKind.OBJECT:
            return EntryId(self._api.endpoint)
        if source.id is None or document.item is not None:
            wrong("id", None, f"no ID: add an 'id' key ({ID_IN_WORDS})")
            return None
        if not valid_id(source.id):
            unknown = None if source.lang else unknown_language(source.id, self._languages, self._lang_map)
            if unknown is not None and _is_name(source.id.removesuffix(f".{unknown}"), has_patterns=self._has_patterns):
                message = f"the file's name says language {unknown!r}, and {what_to_do(unknown, self._languages)}"
                wrong("unknown-language", None, message)
                return None
            if not _is_name(source.id, has_patterns=self._has_patterns):
                wrong(
                    "id",
                    None,
                    f"the file name gives the ID {source.id!r}, but of ASCII only {_CHARACTERS} are allowed: "
                    "rename the file, add an 'id' key, or give the API an 'id' template such as '{name}', which makes "
                    "every name an ID, with exceptions in 'id_map'",
                )
                return None
        return EntryId(slug_id(source.id), source.id)

    def _made_of(self, text: str) -> EntryId:
        by_hand = self._id_map.get(text)
        return EntryId(slug_id(text), text) if by_hand is None else EntryId(by_hand)


def _is_name(text: str, *, has_patterns: bool) -> bool:
    """Return whether a file's name is the name of an entry.

    Below ``content/`` a name such as ``hello.old`` or ``hello copy`` may be there by mistake; what a ``source`` matches
    is named as other programs have it.
    """
    return has_patterns or is_plain_name(text)


def id_maker(source: ApiSource, lang: str) -> Callable[[dict[str, str], str], str | None]:
    """Return the function that makes IDs of the named parts and the last name of a path, as ``source`` does.

    No look at the file is needed.
    """
    template = parse_expression(source.id, languages=()) if source.id else None

    def make(parts: dict[str, str], name: str) -> str | None:
        if template is None or (source.implied_id and "path" not in parts):
            named = parts.get("id") or parts.get("name") or name
            return slug_id(named) if named and _is_name(named, has_patterns=bool(source.patterns)) else None
        raw = template.read(ContentDocument({}, 1), FileFacts("", name, parts, lang, (lang,)))
        return source.id_map.get(raw) or slug_id(raw) if isinstance(raw, str) and raw else None

    return make
