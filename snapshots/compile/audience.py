"""Decide from a document who may see it: published, a draft, left out, or kept back because it is in doubt.

A key by which sites keep pages back is either read by the definition, with ``meta``, ``hidden`` or a field, or its
value has to say plainly that everybody may see the page: nothing is published by a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from snapshots.compile.values import described
from snapshots.definitions.model import HiddenKey
from snapshots.documents.document import ContentDocument, RawValue
from snapshots.documents.expressions import FileFacts, parse_expression
from snapshots.documents.publicity import (
    ends_by,
    is_empty,
    is_for_everybody,
    is_truth,
    keeps_back_by_false,
    lines_above,
    plain_truth,
    word_of,
)


class AudienceDoubt(msgspec.Struct, frozen=True):
    """A value that may mean that a document is not for everybody."""

    steps: tuple[str, ...]
    """The keys that lead to the value; none where it is not in the document itself."""
    message: str


class Audience:
    """Judges the documents of one API."""

    def __init__(self, meta: Mapping[str, str], hidden: Iterable[HiddenKey], languages: tuple[str, ...]) -> None:
        """``meta`` holds the places of the system keys that do not stand under their own names, ``hidden`` the keys
        that leave documents out; ``languages`` are all spellings."""
        self._draft = parse_expression(meta.get("draft", "draft"), languages=languages)
        self._in_any_case = "draft" not in meta
        """Whether ``Draft`` counts as ``draft`` where nothing else reads it."""
        self._hidden = [(one, parse_expression(one.key, languages=languages)) for one in hidden]
        self.expressions = (self._draft, *(expression for _, expression in self._hidden))
        self.settled = frozenset(key for key, read_from in meta.items() if not read_from)
        """The keys that mean nothing here."""

    def leaves_out(self, document: ContentDocument, file_facts: FileFacts) -> bool:
        """Return whether the definition leaves a document out by ``hidden``."""
        for one, expression in self._hidden:
            raw = expression.read(document, file_facts)
            if not is_for_everybody(one.key.rpartition(".")[2], raw) and _as_text(raw) not in one.unless:
                return True
        return False

    def shows(self, key: str, raw: RawValue) -> bool:
        """Return whether ``hidden`` names a key's value among those with which everybody may see a version."""
        return any(one.key == key and _as_text(raw) in one.unless for one, _ in self._hidden)

    def counts_as_draft_key(self, key: str) -> bool:
        """Return whether a key that nothing reads by its name is read as ``draft``."""
        return self._in_any_case and word_of(key) == "draft"

    def judge(
        self, document: ContentDocument, file_facts: FileFacts, unread: Iterable[str]
    ) -> tuple[bool, list[AudienceDoubt]]:
        """Return whether a document is marked as unpublished changes, and its doubts.

        ``unread`` are the keys of the document that no expression reads.
        """
        is_draft, doubts = False, list[AudienceDoubt]()
        raw = self._draft.read(document, file_facts)
        if raw is not None and raw is not False:
            truth = plain_truth(raw)
            is_draft = truth is True
            if truth is None and not is_empty(raw) and self._draft.key is not None:
                steps = (self._draft.key, *self._draft.below)
                if not self.shows(".".join(steps), raw):
                    doubts.append(_neither(steps, raw))
        for key in unread:
            raw = document.values[key]
            if word_of(key) is None:
                continue
            if self.counts_as_draft_key(key) and plain_truth(raw) is not None:
                is_draft = is_draft or plain_truth(raw) is True
            elif not is_for_everybody(key, raw):
                doubts.append(_unread(key, raw))
        if not document.values and document.body is not None:
            doubts += [_above(key) for key, raw in lines_above(document.body) if not is_for_everybody(key, raw)]
        doubts += [_around(key) for key in document.kept_back_by if key not in self.settled]
        return is_draft, doubts


def _neither(steps: tuple[str, ...], raw: RawValue) -> AudienceDoubt:
    key = ".".join(steps)
    return AudienceDoubt(
        steps,
        f"{key} is {described(raw)}, which is neither true nor false, and may mean 'not for everybody'. Write true or "
        f"false. Or, in the definition, leave such versions out with 'hidden: [{key}]', or say with "
        "'meta: {draft: null}' that no key marks drafts here",
    )


def _unread(key: str, raw: RawValue) -> AudienceDoubt:
    read_it = f"read it with 'meta: {{{_system_key(key, raw)}: {key}}}'"
    if not (is_truth(key) or ends_by(key) or word_of(key) == "status"):
        read_it = "deliver it as a field, to decide on the site"
    return AudienceDoubt(
        (key,),
        f"{key} is {described(raw)}, which the definition does not read, and may mean 'not for everybody'. In the "
        f"definition, {read_it}, leave such versions out with 'hidden: [{key}]', or "
        f"say with 'meta: {{{key}: null}}' that it means nothing here",
    )


def _system_key(key: str, raw: RawValue) -> str:
    """Return the system key that says what a key does."""
    if ends_by(key):
        return "publishEnd"
    if keeps_back_by_false(key):
        return "publishStart" if plain_truth(raw) is None else "status"
    return "status" if word_of(key) == "status" else "draft"


def _above(key: str) -> AudienceDoubt:
    return AudienceDoubt(
        (),
        f"the text begins with a line of {key!r}, which may mean 'not for everybody' but is not read, because there "
        "is no front matter: write --- above the first of these lines and below the last, or a blank line above them "
        "if they are text",
    )


def _around(key: str) -> AudienceDoubt:
    return AudienceDoubt(
        (),
        f"{key} stands beside the collection and says that it is not for everybody. Take it out of the file, or say in "
        f"the definition with 'meta: {{{key}: null}}' that it means nothing here",
    )


def _as_text(raw: RawValue) -> str:
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return str(raw)
