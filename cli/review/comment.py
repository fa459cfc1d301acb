"""Write a review as Markdown for a comment on a pull request; content cannot break out of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from cli.output import wording
from cli.output.problems import problem_count
from cli.review.translations import translation_section
from cli.snapshot.diff import shortened, value_name

if TYPE_CHECKING:
    from cli.review.changes import ReviewedChanges, ReviewedFileChanges
    from snapshots.compare.compatibility import SchemaChange
    from snapshots.compare.diff import EntryDifference
    from snapshots.problems import Problems
    from snapshots.translations.model import Translations

MARK = "<!-- parquetry-review:{workspace} -->"
"""The first line of a comment, by which the next run finds it; it is not shown."""
MOST_CHARACTERS = 60_000
"""GitHub takes comments of up to 65,536 characters."""
MOST_PROBLEMS = 50
MOST_ENTRIES = 30
"""Entries listed of each API and language."""

_MARKUP = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_[]|~"})
_NO_MENTION = "\u200b"
"""A space without width: after ``@`` or ``#`` it keeps a service from notifying a person or linking an issue."""


@dataclass(frozen=True, slots=True)
class Review:
    """The changes that publishing a workspace would make, and all problems of the workspace."""

    workspace: str
    problems: Problems
    changes: ReviewedChanges | None
    """``None`` where there is nothing to compare; ``remark`` says why."""
    remark: str
    """A sentence that says what was compared, or why nothing was."""
    pages: Mapping[str, str]
    """The ``page_url`` of each API whose definition has one, by endpoint."""
    site: str | None
    """The base address of a site that shows the content under review."""
    translations: tuple[Translations, ...] = ()


def comment(review: Review) -> str:
    """Return the comment, of ``MOST_CHARACTERS`` at most."""
    lines = [
        MARK.format(workspace=review.workspace),
        f"### Content of {_code(review.workspace)}",
        "",
        _headline(review),
        "",
    ]
    used = sum(len(line) + 1 for line in lines)
    for line in _body(review):
        used += len(line) + 1
        if used > MOST_CHARACTERS - 200:
            lines += ["", "There is more than a comment can hold: `cms review` in a terminal shows it all."]
            break
        lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def _headline(review: Review) -> str:
    found = problem_count(review.problems)
    if review.problems.errors:
        return f"**Not publishable: {found}.**"
    if review.changes is None:
        return f"{found}. {review.remark}"
    if review.changes.same:
        return f"Publishing this changes nothing. {found}. {review.remark}".rstrip()
    changes = review.changes
    entries = f"{changes.added:,} added, {changes.changed:,} changed, {changes.removed:,} removed"
    breaking = f" **{wording.plural(changes.breaking, 'change')} would break clients.**" if changes.breaking else ""
    return f"Language versions: {entries}.{breaking} {found}. {review.remark}".rstrip()


def _body(review: Review) -> Iterator[str]:
    changes = review.changes
    schema = changes.schema if changes is not None else ()
    yield from _schema("Breaks clients", [change for change in schema if change.breaking])
    yield from _problems(review.problems)
    yield from translation_section(review.translations)
    yield from _schema("Other changes to the definitions", [change for change in schema if not change.breaking])
    if changes is not None:
        for file in changes.files:
            yield from _file(review, file)


def _schema(title: str, changes: Iterable[SchemaChange]) -> Iterator[str]:
    lines = [f"- {_text(str(change))}" for change in changes]
    if lines:
        yield from (f"#### {title}", "", *lines, "")


def _problems(found: Problems) -> Iterator[str]:
    kept = sorted(found.kept, key=lambda problem: problem.severity != "error")
    if not kept:
        return
    yield from ("#### Problems", "", "| where | what |", "|---|---|")
    for problem in kept[:MOST_PROBLEMS]:
        position = _code(f"{problem.file}:{problem.line}")
        yield f"| {position} | {problem.severity}: {_text(problem.text)} |"
    rest = found.errors + found.warnings - min(len(kept), MOST_PROBLEMS)
    yield from ("", f"… and {rest:,} more; `cms check` lists them." if rest else "")


def _file(review: Review, file: ReviewedFileChanges) -> Iterator[str]:
    counts = f"{len(file.added):,} added, {file.changed:,} changed, {len(file.removed):,} removed"
    drafts = ", drafts" if file.draft else ""
    yield f"<details><summary><b>{escape(file.api)}</b>, {escape(file.lang)}{drafts}: {counts}</summary>"
    yield ""
    shown = list(islice(_entries(review, file), MOST_ENTRIES))
    yield from shown
    rest = len(file.added) + file.changed + len(file.removed) - len(shown)
    if rest:
        yield f"- … and {rest:,} more"
    yield from ("", "</details>", "")


def _entries(review: Review, file: ReviewedFileChanges) -> Iterator[str]:
    for change in file.changes():
        yield f"- changed {_entry(review, file, change.id)}: {'; '.join(_values(change))}"
    for entry in file.added:
        yield f"- added {_entry(review, file, str(entry))}"
    for entry in file.removed:
        yield f"- removed {_code(str(entry))}"


def _entry(review: Review, file: ReviewedFileChanges, entry: str) -> str:
    """Return an entry's ID, as a link to its page where there is one to look at; a draft has none of its own."""
    template = review.pages.get(file.api)
    if review.site is None or template is None or file.draft:
        return _code(entry)
    page = template.replace("{id}", quote(entry)).replace("{lang}", quote(file.lang))
    return f'<a href="{escape(urljoin(review.site, page), quote=True)}">{_code(entry)}</a>'


def _values(change: EntryDifference) -> Iterator[str]:
    for value in change.values:
        name = _text(value_name(value.field))
        if value.field == "_draftKey":
            yield name
            continue
        before, after = shortened(value.before, value.after)
        yield f"{name} {_code(before)} → {_code(after)}"


def _code(text: str) -> str:
    """Return a text as code, in which services look for no names of people."""
    return f"<code>{_escaped(text)}</code>"


def _text(text: str) -> str:
    return _escaped(text.replace("@", f"@{_NO_MENTION}").replace("#", f"#{_NO_MENTION}"))


def _escaped(text: str) -> str:
    """Return a text on one line in which nothing is markup."""
    return escape(" ".join(text.split()), quote=False).translate(_MARKUP)
