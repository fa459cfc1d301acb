"""A bound plan → ``Statement``: the SQL that reads content for lists, and the only place where it is written.

Values are always parameters; identifiers come from the manifest and are quoted. A statement decides by narrow columns
and returns positions (``rowid``), by which bodies are read.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

from collections.abc import Sequence

from engine.cache.tables import ENTRY, LANG, PLACE, VIEW_TOTALS, quoted, rows_table, value_column
from engine.query.parameters import OrderKey
from engine.query.plan import VIEWS, BoundCondition
from engine.reader.statement import Parameters, Statement
from engine.visibility import Visibility, visible
from snapshots.columns import search_column
from snapshots.model import Api, Workspace


def order_statement(
    api: Api, visibility: Visibility, keys: Sequence[OrderKey], workspace: Workspace, now: int
) -> Statement:
    """The visible rows in order: ``row``. The last key is the default order's place, which is total (decision 8)."""
    parameters: Parameters = {"now": now}
    where = visible(visibility, workspace, parameters)
    by = [f"{_sort_key(key)} {'DESC' if key.descending else 'ASC'} NULLS LAST" for key in keys]
    by.append("rowid" if visibility.fallback is None else PLACE)  # rows of one language are stored in default order
    return Statement(
        f"SELECT rowid AS row FROM {rows_table(api)} AS t WHERE {where} ORDER BY {', '.join(by)}", parameters
    )


def _sort_key(key: OrderKey) -> str:
    if key.field == VIEWS:
        return f'coalesce((SELECT v.total FROM {VIEW_TOTALS} AS v WHERE v.id = t."id"), 0)'
    return value_column(key.field)


def values_statement(api: Api, field: str, lang: str, workspace: Workspace) -> Statement:
    """The values of a field in one language, ascending, with their rows: ``value``, ``row``."""
    column = value_column(field)
    where = f"{LANG} = $lang AND {column} IS NOT NULL"
    return Statement(
        f"SELECT {column} AS value, rowid AS row FROM {rows_table(api)} WHERE {where} ORDER BY value",
        {"lang": workspace.languages.index(lang)},
    )


def conditions_statement(api: Api, conditions: Sequence[BoundCondition]) -> Statement:
    """The rows that meet any of some conditions, and whether they meet the first, the second …: ``row``, ``meets0``, ….

    Columns are the row's own, so with a fallback the version that is returned is judged.
    """
    parameters: Parameters = {}
    texts = [_condition(condition, f"value{number}", parameters) for number, condition in enumerate(conditions)]
    meets = ", ".join(f"coalesce({text}, false) AS meets{number}" for number, text in enumerate(texts))
    return Statement(f"SELECT rowid AS row, {meets} FROM {rows_table(api)} WHERE {' OR '.join(texts)}", parameters)


def _condition(condition: BoundCondition, name: str, parameters: Parameters) -> str:
    """A condition in SQL: one of its fields meets it."""
    texts = [
        condition.sql.format(column=value_column(field), search=quoted(search_column(field)), value=f"${name}")
        for field in condition.fields
    ]
    if condition.value is not None and texts:
        parameters[name] = condition.value
    return f"({' OR '.join(f'({text})' for text in texts) or 'false'})"


def numbers_statement(target: Api, ids: Sequence[str]) -> Statement:
    """The numbers of the entries with these IDs, whether any of their versions is live or not."""
    return Statement(
        f'SELECT DISTINCT "id", {ENTRY} FROM {rows_table(target)} WHERE "id" IN (SELECT unnest($ids::VARCHAR[]))',
        {"ids": list(ids)},
    )
