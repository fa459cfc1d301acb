"""What the folder of a site does not say and a person has to: few questions, each with what is known, and the answers.

The first answer of each is the likeliest, and the one taken where nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from snapshots.adoption.definitions import Definition
from snapshots.adoption.languages import UNKNOWN, is_tag
from snapshots.adoption.site import Site, known_timezone
from snapshots.documents.publicity import keeps_back_by_false

MOST: Final = 5
"""Questions of one site; what is left besides is told in comments."""
_UTC: Final = "UTC"
_BY_NAME: Final = frozenset({"plain", "Obsidian"})
"""Sites without a generator that would treat dates in the future in a way of its own."""


class Decision(msgspec.Struct):
    """A question with its answers."""

    question: str
    evidence: str
    """What the site's files say, with numbers."""
    answers: list[str]
    """The likeliest first."""
    by_hand: str
    """How to change the definitions for another answer, for people."""
    file: str
    """The definition file that it is about."""
    take: Callable[[str], None]
    """Changes the definitions for an answer."""
    is_one: Callable[[str], bool] | None = None
    """Tells of any other text whether it is an answer, where others can be."""

    def takes(self, answer: str) -> bool:
        """Return whether a text is an answer."""
        return answer in self.answers or (self.is_one is not None and self.is_one(answer))


def decisions_for(site: Site, definitions: list[Definition]) -> list[Decision]:
    """Return the questions about a site, those that matter most first, ``MOST`` at most.

    Where a person need not be asked, the definitions have the answer already.
    """
    every = [*_main_language(site), *_hidden(site, definitions), *_timezone(site, definitions)]
    every += [*_item_ids(definitions), *_future(site, definitions)]
    for left in every[MOST:]:
        site.notes.append(f"{left.question} {left.evidence} Taken: {left.answers[0]}. Otherwise {left.by_hand}.")
    return every[:MOST]


def comments(decisions: Iterable[Decision], file: str) -> list[str]:
    """Return the lines of a definition file's comment on the questions about it that nobody answered."""
    return [
        f"# TODO: {one.question} {one.evidence} Taken: {one.answers[0]}. Otherwise {one.by_hand}."
        for one in decisions
        if one.file == file
    ]


def _main_language(site: Site) -> Iterator[Decision]:
    if site.main_is_known or not site.languages:
        return
    main, *others = site.languages

    def take(answer: str) -> None:
        rest = [code for code in site.languages[1:] if code != answer]
        had = [main] if main not in (UNKNOWN, answer) and main in others else []
        site.languages = list(dict.fromkeys([answer, *had, *rest]))

    unnamed = f"{site.unnamed:,} {'file names' if site.unnamed == 1 else 'files name'} no language"
    names = f", others name {', '.join(others)}" if others else ""
    told = "" if site.written_in is None else f", and most texts have the letters of {site.written_in}"
    likely = list(dict.fromkeys([main if main != UNKNOWN else (site.written_in or "en"), *others, "en"]))
    if main == UNKNOWN:
        take(likely[0])
    yield Decision(
        "What is the main language?",
        f"The site's configuration does not say: {unnamed}{names}{told}.",
        likely[:6],
        "write it first under 'languages'",
        "workspace.yaml",
        take,
        is_tag,
    )


def _timezone(site: Site, definitions: list[Definition]) -> Iterator[Decision]:
    without = sum(one.found.dates_without_offset for one in definitions)
    every = sum(one.found.dates for one in definitions)
    if site.timezone or not without:
        return

    def take(answer: str) -> None:
        site.timezone = answer

    have = "has" if without == 1 else "have"
    yield Decision(
        "What time zone are dates without an offset in?",
        f"{without:,} of {every:,} dates {have} none, and the site's configuration names no time zone.",
        [_UTC],
        "write its name under 'timezone', such as Asia/Tokyo",
        "workspace.yaml",
        take,
        lambda name: known_timezone(name) != "",
    )


def _hidden(site: Site, definitions: list[Definition]) -> Iterator[Decision]:
    """Ask of each key that may keep pages back, and of which the generator does not say what it means, once."""
    by_key: dict[str, list[Definition]] = {}
    for one in definitions:
        for key in one.found.doubts:
            by_key.setdefault(key, []).append(one)
    for key, those in by_key.items():
        hiding = sum(one.found.doubts[key].hiding for one in those)
        every = sum(one.found.doubts[key].files for one in those)
        values = ", ".join(dict.fromkeys(value for one in those for value in one.found.doubts[key].values))
        apis = ", ".join(one.endpoint for one in those)
        if key.lower() in site.understood:
            verb = "is" if hiding == 1 else "are"
            site.facts.append(
                f"{hiding} of {every} files in {apis} {verb} left out by '{key}' ({values}), as by {site.kind}"
            )
            continue
        leave, publish, preview = "leave them out", "publish them: it means nothing here", "keep them as drafts"
        answers = [leave, publish]
        if keeps_back_by_false(key) and all(one.found.doubts[key].is_truth for one in those):
            answers.append(preview)

        def take(
            answer: str, key: str = key, those: list[Definition] = those, publish: str = publish, preview: str = preview
        ) -> None:
            if answer not in (publish, preview):
                return
            for one in those:
                one.found.hidden = [hidden for hidden in one.found.hidden if hidden.key != key]
                if answer == publish:
                    one.found.meta[key] = None
                else:
                    one.found.meta["status"] = key

        yield Decision(
            f"May pages be seen that say '{key}'?",
            f"{hiding} of {every} files in {apis} have it ({values}), and {site.kind} does not say what it means."
            if site.kind not in _BY_NAME
            else f"{hiding} of {every} files in {apis} have it ({values}).",
            answers,
            f"remove it from 'hidden', and write 'meta: {{{key}: null}}' if it means nothing",
            those[0].file,
            take,
        )


def _item_ids(definitions: list[Definition]) -> Iterator[Decision]:
    for one in definitions:
        keys = one.found.id_keys
        if one.collection.id is None or len(keys) < 2:
            continue

        def take(answer: str, one: Definition = one) -> None:
            one.collection.id = one.found.id = f"{{{answer}}}"

        yield Decision(
            f"Which key of the items in {one.collection.files[0]} never changes, and gives their IDs?",
            f"All {one.found.count} have {' and '.join(keys)}, and no two alike.",
            keys,
            "write another in the template 'id'",
            one.file,
            take,
        )


def _future(site: Site, definitions: list[Definition]) -> Iterator[Decision]:
    those = [one for one in definitions if one.found.may_start]
    if site.kind not in _BY_NAME or not those:
        return
    show, wait = "show them at once", "hold them back until then"

    def take(answer: str) -> None:
        for one in those if answer == wait else ():
            one.found.meta["publishStart"] = one.found.meta["createdAt"]

    yield Decision(
        "Are pages with a date in the future to be seen before?",
        f"{sum(one.found.count for one in those)} files in {', '.join(one.endpoint for one in those)} have a 'date'.",
        [show, wait],
        "add 'publishStart: date' to 'meta'",
        those[0].file,
        take,
    )
