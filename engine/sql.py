"""A bound plan → ``Statement``: SQL text and its parameters. The only place where SQL that reads content is written.

Values are always parameters; identifiers come from the manifest and are quoted. A statement decides which rows an
answer has by narrow columns and returns their positions (``rowid``), by which the bodies are read.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.plan import VIEWS, Expansion, ListPlan, Visibility
from engine.tables import (
    ENTRY,
    LANG,
    PLACE,
    VIEW_TOTALS,
    entries_table,
    entry_numbers_column,
    quoted,
    rows_table,
    value_column,
)
from snapshots.columns import search_column, window_columns
from snapshots.model import Api, Workspace

Parameters = dict[str, object]


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement and the values of its named parameters."""

    text: str
    parameters: Parameters


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


def row_columns(api: Api, expansions: Sequence[Expansion], include_langs: bool, workspace: Workspace) -> list[str]:
    """What is read of each returned row: its position, the entries its references name, and for ``_langs`` its
    language and which languages are live."""
    columns = ["rowid", *(entry_numbers_column(expansion.field) for expansion in expansions)]
    if include_langs:
        columns += [LANG, *(live_in(lang) for lang in workspace.languages_of(api))]
    return columns


def list_statement(plan: ListPlan, now: int, *, counted: bool) -> Statement:
    """The page of a list, in order. Where the plan is filtered each row ends with the number of all matches.

    ``counted``: whether there are any view counts, which then are in the table ``VIEW_TOTALS``.
    """
    workspace = plan.shape.reach.workspace
    parameters: Parameters = {"now": now, "limit": plan.limit, "offset": plan.offset}
    table = rows_table(plan.api)
    where = _matching(plan, workspace, parameters)
    keys = _order(plan, counted)
    order = ", ".join(f"{key} {direction}" for key, direction in keys)
    columns = row_columns(plan.api, plan.shape.expansions, plan.shape.include_langs, workspace)
    tables = []
    if plan.filtered:
        stored = ", ".join(f"{key} AS key{n}" for n, (key, _) in enumerate(keys))
        tables.append(f"matched AS MATERIALIZED (SELECT rowid AS row, {stored} FROM {table} AS t WHERE {where})")
        ranked = ", ".join(f"key{n} {direction}" for n, (_, direction) in enumerate(keys))
        row, page, total = "row", f"FROM matched ORDER BY {ranked}", ", (SELECT count(*) FROM matched)"
    else:
        # Rows are stored in default order and a plain LIMIT keeps it, which makes deep offsets as cheap as none.
        sort = "" if keys == _STORED_ORDER else f" ORDER BY {order}"
        row, page, total = "rowid", f"FROM {table} AS t WHERE {where}{sort}", ""
    if len(columns) == 1:
        text = f"SELECT {row}{total} {page} LIMIT $limit OFFSET $offset"
    else:
        # More columns than the position are read of the page's rows only.
        text = (
            f"SELECT {', '.join(columns)}{total} FROM {table} AS t\n"
            f"WHERE rowid IN (SELECT {row} {page} LIMIT $limit OFFSET $offset)\n"
            f"ORDER BY {order}"
        )
    return Statement(f"WITH {', '.join(tables)}\n{text}" if tables else text, parameters)


def positions_statement(plan: ListPlan, now: int) -> Statement:
    """The positions of all entries of a list that is not filtered, in order, where there are view counts."""
    parameters: Parameters = {"now": now}
    where = _matching(plan, plan.shape.reach.workspace, parameters)
    order = ", ".join(f"{key} {direction}" for key, direction in _order(plan, counted=True))
    return Statement(f"SELECT rowid FROM {rows_table(plan.api)} AS t WHERE {where} ORDER BY {order}", parameters)


def page_statement(plan: ListPlan, positions: Sequence[int], now: int) -> Statement:
    """The rows of a list at these positions, in no order, each with the columns of ``list_statement``."""
    shape = plan.shape
    columns = row_columns(plan.api, shape.expansions, shape.include_langs, shape.reach.workspace)
    return Statement(
        f"SELECT {', '.join(columns)} FROM {rows_table(plan.api)} AS t WHERE rowid IN (SELECT unnest($rows::BIGINT[]))",
        {"rows": list(positions)} | ({"now": now} if shape.include_langs else {}),
    )


def ids_statement(api: Api) -> Statement:
    """The IDs of all entries that have a version which is or was to be published."""
    return Statement(f'SELECT DISTINCT "id" FROM {rows_table(api)}', {})


def count_statement(plan: ListPlan, now: int) -> Statement:
    """How many entries a list has in all, for a page that has none of them to tell."""
    parameters: Parameters = {"now": now}
    where = _matching(plan, plan.shape.reach.workspace, parameters)
    return Statement(f"SELECT count(*) FROM {rows_table(plan.api)} WHERE {where}", parameters)


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


def entry_statement(
    api: Api,
    entry_id: str | None,
    visibility: Visibility,
    columns: Sequence[str],
    workspace: Workspace,
    now: int,
) -> Statement:
    """The versions of one entry, or of an object API's item, each row ending with whether it is the visible one."""
    parameters: Parameters = {"now": now}
    shown = visible(visibility, workspace, parameters)
    # Nothing but the ID stands in WHERE: with a second condition the index would not be used.
    where = ""
    if entry_id is not None:
        parameters["id"] = entry_id
        where = ' WHERE "id" = $id'
    chosen = ", ".join([*columns, f"{LANG} = $lang", shown])
    return Statement(f"SELECT {chosen} FROM {rows_table(api)}{where}", parameters)


def references_statement(
    target: Api, entries: Sequence[int], visibility: Visibility, expansions: Sequence[Expansion], now: int
) -> Statement:
    """The visible versions of the entries with these numbers, as rows of: the number, the version's position (NULL
    where none is visible), and the entries its own references name."""
    # The narrow table of entries decides alone; a condition on the rows themselves would have every row looked at.
    chosen = f"CASE WHEN {live_in(visibility.lang)} THEN {quoted(visibility.lang)}"
    if visibility.fallback is not None:
        chosen += f" WHEN {live_in(visibility.fallback)} THEN {quoted(visibility.fallback)}"
    found = f"FROM {entries_table(target)} WHERE rowid IN (SELECT unnest($entries::BIGINT[]))"
    if expansions:
        columns = ", ".join([ENTRY, "rowid", *(entry_numbers_column(expansion.field) for expansion in expansions)])
        text = f"SELECT {columns} FROM {rows_table(target)}\nWHERE rowid IN (SELECT {chosen} END {found})"
    else:
        text = f"SELECT rowid, {chosen} END {found}"
    return Statement(text, {"now": now, "entries": list(entries)})


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


def _matching(plan: ListPlan, workspace: Workspace, parameters: Parameters) -> str:
    """The whole WHERE of a list; columns are the row's own, so with a fallback the returned version is judged."""
    parts = [f"({visible(plan.visibility, workspace, parameters)})"]
    conditions = []
    for number, condition in enumerate(plan.conditions):
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
    if plan.phrase is not None:
        parameters["phrase"] = plan.phrase
        found = [f"contains({quoted(search_column(field))}, $phrase)" for field in plan.searched]
        parts.append("(" + (" OR ".join(found) or "false") + ")")
        if not found:
            del parameters["phrase"]
    return " AND ".join(parts)
