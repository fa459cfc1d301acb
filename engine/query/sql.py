"""A bound plan → ``Statement``: SQL text and its parameters. The only place where SQL that reads content is written.

Values are always parameters; identifiers come from the manifest and are quoted. A statement decides which rows an
answer has by narrow columns and returns their positions (``rowid``), by which the bodies are read.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from engine.cache.tables import (
    ENTRY,
    LANG,
    PLACE,
    ROW,
    VIEW_TOTALS,
    quoted,
    rows_table,
    value_column,
)
from engine.query.plan import VIEWS, ListPlan, Visibility
from snapshots.columns import search_column, window_columns
from snapshots.model import Api, Workspace

if TYPE_CHECKING:
    from engine.reader.matches import Matches
    from engine.reader.values import Array

Parameters = dict[str, object]


class Statement(msgspec.Struct, frozen=True):
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters
    positions: Mapping[str, Array] = msgspec.field(default_factory=dict)
    """By name the positions that a table of one column, ``row``, has to hold while the statement runs."""


LIVE = '"live_from" <= $now AND $now < "live_until"'
"""Decision 22, the one place it is written: ``now`` is UTC milliseconds."""


def live_in(lang: str) -> str:
    """Whether the row's entry has a live version in a language of its API."""
    begin, end = window_columns(lang)
    return f"coalesce({quoted(begin)} <= $now AND $now < {quoted(end)}, false)"


def visible(visibility: Visibility, workspace: Workspace, parameters: Parameters) -> str:
    """The rows a request may return: one a live entry, in the language the rule chooses (contract 3.1 and 4.11)."""
    parameters["lang"] = workspace.languages.index(visibility.lang)
    if visibility.fallback is None:
        return f"{LANG} = $lang AND {LIVE}"
    parameters["fallback"] = workspace.languages.index(visibility.fallback)
    return f"{LIVE} AND ({LANG} = $lang OR ({LANG} = $fallback AND NOT {live_in(visibility.lang)}))"


def list_statement(plan: ListPlan, now: int, *, counted: bool, matches: Matches | None = None) -> Statement:
    """The positions of a list's page, in order; where the plan is filtered, each with the number of all matches.

    ``counted``: whether there are any view counts, which then are in the table ``VIEW_TOTALS``.
    """
    workspace = plan.shape.reach.workspace
    parameters: Parameters = {"now": now, "limit": plan.limit, "offset": plan.offset}
    table = rows_table(plan.api)
    found: dict[str, Array] = {}
    where = _matching(plan, workspace, parameters, matches, found)
    keys = _order(plan, counted)
    if not plan.filtered:
        # Rows are stored in default order and a plain LIMIT keeps it, which makes deep offsets as cheap as none.
        sort = "" if keys == _STORED_ORDER else f" ORDER BY {_listed(keys)}"
        text = f"SELECT rowid FROM {table} AS t WHERE {where}{sort} LIMIT $limit OFFSET $offset"
        return Statement(text, parameters)
    stored = ", ".join(f"{key} AS key{n}" for n, (key, _) in enumerate(keys))
    ranked = ", ".join(f"key{n} {direction}" for n, (_, direction) in enumerate(keys))
    text = (
        f"WITH matched AS MATERIALIZED (SELECT rowid AS row, {stored} FROM {table} AS t WHERE {where})\n"
        f"SELECT row, (SELECT count(*) FROM matched) FROM matched ORDER BY {ranked} LIMIT $limit OFFSET $offset"
    )
    return Statement(text, parameters, found)


def matches_statement(plan: ListPlan, rows: range | None, matches: Matches | None) -> Statement:
    """The positions of all rows that meet a filtered list's conditions, ascending, whether they are visible or not.

    ``rows``: the only ones that are looked at.
    """
    parameters: Parameters = {}
    found: dict[str, Array] = {}
    conditions = _conditions(plan, parameters, matches, found)
    if rows is not None:
        parameters |= {"first": rows.start, "end": rows.stop}
        conditions.append("rowid >= $first AND rowid < $end")
    # One thread reads the rows, as they are stored; but a join with what searches found may turn them about.
    order = " ORDER BY rowid" if found else ""
    text = f"SELECT rowid FROM {rows_table(plan.api)} AS t WHERE {' AND '.join(conditions)}{order}"
    return Statement(text, parameters, found)


def visible_statement(api: Api, visibility: Visibility, workspace: Workspace, now: int) -> Statement:
    """The positions of all visible entries of an API in default order."""
    parameters: Parameters = {"now": now}
    where = visible(visibility, workspace, parameters)
    order = ROW if visibility.fallback is None else PLACE
    return Statement(f"SELECT rowid FROM {rows_table(api)} WHERE {where} ORDER BY {order}", parameters)


def row_ids_statement(api: Api) -> Statement:
    """The entry ID of every row, by position."""
    return Statement(f'SELECT "id" FROM {rows_table(api)} ORDER BY rowid', {})


def ids_statement(api: Api) -> Statement:
    """The IDs of all entries that have a version which is or was to be published."""
    return Statement(f'SELECT DISTINCT "id" FROM {rows_table(api)}', {})


def count_statement(plan: ListPlan, now: int, matches: Matches | None = None) -> Statement:
    """How many entries a list has in all, for a page that has none of them to tell."""
    parameters: Parameters = {"now": now}
    found: dict[str, Array] = {}
    where = _matching(plan, plan.shape.reach.workspace, parameters, matches, found)
    return Statement(f"SELECT count(*) FROM {rows_table(plan.api)} WHERE {where}", parameters, found)


def epoch_statement(api: Api, visibility: Visibility, workspace: Workspace, now: int) -> Statement:
    """How many entries are visible, and between which two instants nothing about that changes (design 4)."""
    parameters: Parameters = {"now": now}
    where = visible(visibility, workspace, parameters)
    languages = f"{LANG} = $lang" if visibility.fallback is None else f"{LANG} IN ($lang, $fallback)"
    text = (
        f"SELECT count(*) FILTER (WHERE {where}),\n"
        'max(CASE WHEN "live_until" <= $now THEN "live_until" WHEN "live_from" <= $now THEN "live_from" END),\n'
        'min(CASE WHEN "live_from" > $now THEN "live_from" WHEN "live_until" > $now THEN "live_until" END)\n'
        f"FROM {rows_table(api)} WHERE {languages}"
    )
    return Statement(text, parameters)


def numbers_statement(target: Api, ids: Sequence[str]) -> Statement:
    """The numbers of the entries with these IDs, whether any of their versions is live or not."""
    return Statement(
        f'SELECT DISTINCT "id", {ENTRY} FROM {rows_table(target)} WHERE "id" IN (SELECT unnest($ids::VARCHAR[]))',
        {"ids": list(ids)},
    )


_STORED_ORDER = [("rowid", "ASC")]


def _order(plan: ListPlan, counted: bool) -> list[tuple[str, str]]:
    """The sort keys with their directions, ending with decision 8's tie-breakers, so that the order is total."""
    keys = []
    for key in plan.orders:
        direction = "DESC NULLS LAST" if key.descending else "ASC NULLS LAST"
        if key.field != VIEWS:
            keys.append((value_column(key.field), direction))
        elif counted:  # without any count all are zero, and the key decides nothing
            keys.append((f'coalesce((SELECT v.total FROM {VIEW_TOTALS} AS v WHERE v.id = t."id"), 0)', direction))
    if plan.visibility.fallback is None:
        return [*keys, *_STORED_ORDER]
    return [*keys, (PLACE, "ASC")]


def _listed(keys: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{key} {direction}" for key, direction in keys)


def _matching(
    plan: ListPlan,
    workspace: Workspace,
    parameters: Parameters,
    matches: Matches | None = None,
    found: dict[str, Array] | None = None,
) -> str:
    """The whole WHERE of a list; columns are the row's own, so with a fallback the returned version is judged."""
    shown = visible(plan.visibility, workspace, parameters)
    return " AND ".join([f"({shown})", *_conditions(plan, parameters, matches, {} if found is None else found)])


def _conditions(plan: ListPlan, parameters: Parameters, matches: Matches | None, found: dict[str, Array]) -> list[str]:
    """What a list asks of its rows besides being visible; all must hold."""
    parts = []
    conditions = []
    for number, condition in enumerate(plan.conditions):
        positions = None if matches is None else matches.condition(number)
        if positions is not None:
            conditions.append(_among(f"@found{number}", positions, found))
            continue
        name = f"value{number}"
        if condition.value is not None:
            parameters[name] = condition.value
        conditions.append(
            condition.rule.sql.format(
                column=value_column(condition.field), search=quoted(search_column(condition.field)), value=f"${name}"
            )
        )
    if conditions:
        parts.append("(" + f" {plan.joiner.upper()} ".join(f"({condition})" for condition in conditions) + ")")
    if matches is not None and matches.phrase is not None:
        parts.append(_among("@found", matches.phrase, found))
    elif plan.phrase is not None:
        parameters["phrase"] = plan.phrase
        fields = [f"contains({quoted(search_column(field))}, $phrase)" for field in plan.searched]
        parts.append("(" + (" OR ".join(fields) or "false") + ")")
        if not fields:
            del parameters["phrase"]
    return parts


def _among(name: str, positions: Array, found: dict[str, Array]) -> str:
    found[name] = positions
    return f"rowid IN (SELECT row FROM {quoted(name)})"
