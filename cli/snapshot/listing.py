"""``cms snapshot list`` and ``show``: the versions of a workspace, and what is in one of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final
from zoneinfo import ZoneInfo

import typer

from cli.location import choose_workspace
from cli.options import Json, MissingIn, StoreLocation, WorkspaceId
from cli.output import documents, lines, tables, wording
from cli.snapshot.commits import commit_author, commit_document, commit_sentence, commit_subject
from cli.snapshot.held import held_document
from cli.snapshot.languages import Languages, show_languages
from cli.snapshot.versions import Version, current_if_known, named_version, warn_of_damaged_holds
from snapshots.shown_times import shown_time
from snapshots.times import format_datetime, now_ms

if TYPE_CHECKING:
    from engine.timeline.coming import Coming, Moment
    from engine.timeline.timeline import Summary
    from snapshots.store.manifest import Manifest


NEXT: Final = 10
"""Times that are listed, unless ``--next`` is given."""
NAMED: Final = 15
"""Entries that are named of each."""


def list_versions(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """List the snapshot versions, newest first.

    An asterisk marks the current one. Those that are held were rolled back from: no build makes their content current
    again.
    """
    from engine.administration.version_list import listed_versions

    chosen = choose_workspace(store, workspace_id)
    current = current_if_known(chosen)
    warn_of_damaged_holds(chosen)
    listed: list[dict[str, object]] = []
    rows: list[tuple[str, ...]] = []
    held: list[str] = []
    for one in listed_versions(chosen.workspace_store, chosen.workspace_store.versions()):
        mark = "*" if current is not None and one.version == current.version else ""
        document: dict[str, object] = {"version": one.version, "current": bool(mark)}
        manifest = one.manifest
        if manifest is None:
            listed.append({**document, "problem": one.problem})
            rows.append((mark, one.version, "cannot be read", "", "", "", "", ""))
            lines.warning(str(one.problem))
            continue
        listed.append(
            {
                **document,
                "createdAt": format_datetime(manifest.created_at),
                "createdBy": manifest.created_by,
                "commit": manifest.commit,
                "committed": commit_document(manifest),
                "entries": manifest.entries,
                "bytes": one.bytes,
                "quick": not manifest.full,
                "problem": None,
                "held": None if one.held is None else held_document(one.held),
            }
        )
        if one.held is not None:
            held.append(f"{one.version} is held since {wording.instant(one.held.at)}, when {one.held.by} went back.")
        built, by = wording.moment(manifest.created_at), manifest.created_by
        if not manifest.full:
            by += ", quick"
        if one.held is not None:
            mark = "held"
        commit = (commit_subject(manifest), commit_author(manifest))
        rows.append((mark, one.version, built, f"{manifest.entries:,}", wording.size(one.bytes), by, *commit))
    if json:
        documents.write_json(listed)
    elif rows:
        columns: tuple[str, ...] = ("", "VERSION", "BUILT (UTC)", "ENTRIES", "SIZE", "BY", "COMMIT", "AUTHOR")
        spare: tuple[str, ...] = ("SIZE", "BY", "AUTHOR")
        if not any(subject for *_, subject, _ in rows):
            columns, rows, spare = columns[:-2], [row[:-2] for row in rows], ("SIZE",)
        tables.table(columns, rows, right=("ENTRIES", "SIZE"), whole=("VERSION", "BUILT (UTC)"), spare=spare)
    else:
        lines.message(
            f'Workspace "{chosen.workspace_store.id}" has no snapshot versions yet. `cms snapshot build` makes one.'
        )
    if rows and current is None and not json:
        lines.message("None is current, so nothing is served: `cms snapshot activate VERSION` makes one current.")
    if held and not json:
        for sentence in held:
            lines.message(sentence)
        lines.message("No build makes this content current, but `cms snapshot activate VERSION` or `build --again`.")


def show(
    version: Version = None,
    languages: Languages = False,
    missing: MissingIn = None,
    most: Annotated[
        int, typer.Option("--next", min=1, metavar="N", help="Times to list at which entries go live or end.")
    ] = NEXT,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """Show a snapshot version, and what goes live or ends next.

    For each API and language, it counts the language versions that are live now, scheduled, ended and drafts. The next
    times are in the workspace's time zone. With --languages, it counts what is not translated, and what is older than
    the original, instead.
    """
    from engine.timeline.coming import coming
    from engine.timeline.timeline import Timeline

    chosen = choose_workspace(store, workspace_id)
    found = named_version(chosen, version)
    manifest = chosen.workspace_store.manifest(found)
    if languages or missing is not None:
        show_languages(chosen.workspace_store, manifest, missing, json=json)
        return
    timeline = Timeline(chosen.workspace_store, manifest)
    summary = timeline.summary(now_ms(), flips=0)
    following = coming(timeline, manifest.workspace.languages, summary.now, most)
    if json:
        documents.write_json(summary_document(manifest, summary, following))
        return
    size = sum(file.bytes for file in manifest.files)
    kind = "" if manifest.full else "; quick, by `cms dev`: without search indexes"
    tables.facts(
        [
            ("Workspace", f"{manifest.workspace.name} ({manifest.workspace.id})"),
            ("Version", found),
            ("Built", f"{wording.instant(manifest.created_at)} by {manifest.created_by}, {manifest.builder}{kind}"),
            ("Commit", commit_sentence(manifest)),
            ("Holds", f"{wording.plural(manifest.entries, 'language version')}, {wording.size(size)}"),
        ]
    )
    lines.answer("")
    tables.table(
        ("API", "LANGUAGE", "LIVE", "SCHEDULED", "ENDED", "DRAFTS"),
        [
            (one.api, one.lang, *(f"{count:,}" for count in (one.live, one.scheduled, one.ended, one.drafts)))
            for one in summary.counts
        ],
        right=("LIVE", "SCHEDULED", "ENDED", "DRAFTS"),
    )
    lines.answer("")
    _show_next(following, manifest.workspace.timezone)


def _show_next(following: Coming, timezone: str) -> None:
    """Print a line for each instant at which something goes live or ends, and what is left out."""
    zone = ZoneInfo(timezone)
    if not following.moments:
        lines.answer("Nothing goes live or ends after this.")
        return
    rows = []
    for one in following.moments:
        usual = _usual_languages(one)
        rows.append((shown_time(one.at, zone), _what(one), ", ".join(usual), _entries(one, usual)))
    time = f"NEXT ({timezone})"
    tables.table((time, "", "LANGUAGES", "ENTRIES"), rows, whole=(time, ""), wrapped=("ENTRIES",))
    if following.last is not None:
        times = f"{wording.plural(following.later, 'later time')} with {following.later_versions:,}"
        versions = wording.plural(following.later_versions, "language version", number=False)
        last = shown_time(following.last, zone)
        lines.answer(f"Left out: {times} {versions}, the last on {last}. --next {NEXT * 10} shows more.")


def _what(one: Moment) -> str:
    if not one.is_whole:
        return f"{wording.plural(one.versions, 'language version')} {'go live' if one.live else 'end'}"
    if len(one.entries) == 1:
        return "goes live" if one.live else "ends"
    return f"{wording.plural(len(one.entries), 'entry')} {'go live' if one.live else 'end'}"


def _usual_languages(one: Moment) -> tuple[str, ...]:
    """Return the languages that most entries of a moment have, of several the most."""
    counts = Counter(entry.languages for entry in one.entries)
    return max(counts, key=lambda languages: (counts[languages], len(languages)))


def _entries(one: Moment, usual: tuple[str, ...]) -> str:
    """Return the first entries of a moment, those in other languages than is usual with theirs."""
    named = [
        f"{entry.api}/{entry.id}" + ("" if entry.languages == usual else f" ({', '.join(entry.languages)})")
        for entry in one.entries[:NAMED]
    ]
    if not one.is_whole:
        return f"{', '.join(named)} and more"
    more = len(one.entries) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def summary_document(manifest: Manifest, summary: Summary, following: Coming) -> dict[str, object]:
    """Return a version at an instant as ``--json`` prints it."""
    flips = [flip for one in following.moments for entry in one.entries for flip in entry.flips]
    unknown = sum(one.versions for one in following.moments) - len(flips)
    return {
        "workspace": manifest.workspace.id,
        "version": manifest.version,
        "createdAt": format_datetime(manifest.created_at),
        "createdBy": manifest.created_by,
        "builder": manifest.builder,
        "commit": manifest.commit,
        "committed": commit_document(manifest),
        "entries": manifest.entries,
        "bytes": sum(file.bytes for file in manifest.files),
        "quick": not manifest.full,
        "at": format_datetime(summary.now),
        "counts": [
            {
                "api": one.api,
                "lang": one.lang,
                "rows": one.rows,
                "live": one.live,
                "scheduled": one.scheduled,
                "ended": one.ended,
                "drafts": one.drafts,
            }
            for one in summary.counts
        ],
        "nextFlips": [
            {"at": format_datetime(flip.at), "api": flip.api, "lang": flip.lang, "id": flip.entry, "live": flip.live}
            for flip in flips
        ],
        "flipsLeftOut": unknown + following.later_versions,
    }
