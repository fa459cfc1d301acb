"""Write a bound plan as a ``Statement``: the SQL that reads content for lists is written here and nowhere else.

Values are always parameters; identifiers come from the manifest and are quoted. A statement decides by narrow columns
and returns positions among the rows of the API, by which bodies are read. Each language has a table of its own.
"""

# ruff: noqa: S608 - identifiers come from the manifest and are quoted, values are parameters
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.identifiers import quoted
from engine.read.files.data_file import DRAFT_KEY
from engine.read.files.tables import VIEW_TOTALS, Table, value_column
from engine.read.query.parameters import OrderKey
from engine.read.query.plan import VIEWS, BoundCondition, Criteria, Wanted
from engine.read.reader.statement import Parameters, Statement
from engine.timeline.states import IN_STATE
from engine.visibility import Visibility, visible
from snapshots.columns import search_column


def order_statement(
    tables: Mapping[str, Table], visibility: Visibility, keys: Sequence[OrderKey], now: int
) -> Statement:
    """The visible rows in order: ``row``. The last key is the default order, which is total (decision 8).

    ``tables`` are those of the visibility's languages.
    """
    values, by = _sorting(keys)
    if len(tables) > 1:
        values += ['"publishedAt" AS published', '"id" AS entry']
        by += ["published DESC", "entry"]
    else:
        by.append("row")  # rows of one language are stored in default order
    each = (
        f"SELECT {', '.join((f'{table.row} AS row', *values))} FROM {table.name} AS t WHERE {visible(visibility, lang)}"
        for lang, table in tables.items()
    )
    return Statement(f"SELECT row FROM ({' UNION ALL '.join(each)}) ORDER BY {', '.join(by)}", {"now": now})


def _sorting(keys: Sequence[OrderKey]) -> tuple[list[str], list[str]]:
    """The columns with the values of sort keys, and the order by them."""
    values = [f"{_sort_key(key)} AS key{number}" for number, key in enumerate(keys)]
    by = [f"key{number} {'DESC' if key.descending else 'ASC'} NULLS LAST" for number, key in enumerate(keys)]
    return values, by


def _sort_key(key: OrderKey) -> str:
    if key.field == VIEWS:
        return f'coalesce((SELECT v.total FROM {VIEW_TOTALS} AS v WHERE v.id = t."id"), 0)'
    return value_column(key.field)


def versions_statement(
    tables: Sequence[str], criteria: Criteria, wanted: Wanted, columns: Sequence[str], now: int
) -> Statement:
    """The versions in some tables that meet the criteria and are wanted, a page of them in order: ``total``, which is
    that of all pages, the ``number`` of the table, and these columns.

    The order ends as that of a public list, and then by table. ``tables`` are such as ``files_as_table`` returns; no
    public list has one, or a condition of ``Wanted``.
    """
    parameters: Parameters = {"first": wanted.first, "count": wanted.count}
    conditions = [_condition(one, f"value{number}", parameters) for number, one in enumerate(criteria.conditions)]
    met = [f"({f' {criteria.joiner} '.join(conditions)})"] if conditions else []
    if criteria.phrase is not None:
        met.append(_condition(criteria.phrase, "phrase", parameters))
    if wanted.state in IN_STATE:
        met.append(IN_STATE[wanted.state])
        parameters["now"] = now
    if wanted.part_of_id:
        met.append('contains(lower("id"), $part)')
        parameters["part"] = wanted.part_of_id.lower()
    if wanted.ids is not None:
        met.append('"id" IN (SELECT unnest($ids))')
        parameters["ids"] = list(wanted.ids)
    keys, by = _sorting([key for key in criteria.orders if key.field != VIEWS])
    ends = ['"publishedAt"', '"id"']
    each = (
        f"SELECT {', '.join((f'{number} AS number', *dict.fromkeys((*columns, *ends)), *keys))} "
        f"FROM {table} AS t WHERE {' AND '.join(met) or 'true'}"
        for number, table in enumerate(tables)
    )
    shown, order = ", ".join(columns), ", ".join((*by, f"{ends[0]} DESC", ends[1], "number"))
    return Statement(
        f"SELECT count(*) OVER () AS total, number, {shown} FROM ({' UNION ALL '.join(each)}) "
        f"ORDER BY {order} LIMIT $count OFFSET $first",
        parameters,
    )


def draft_keys_statement(table: str, entry_id: str | None) -> Statement:
    """The drafts that a draft key may open: ``id``, the key that the file gives, and whether the ID is that asked for.

    For an entry, its own draft; without one any other, so that both take the same steps. With ``None``, all drafts.
    """
    own, one = ('"id" = $id', "ORDER BY own DESC LIMIT 1") if entry_id is not None else ("true", "")
    parameters: Parameters = {} if entry_id is None else {"id": entry_id}
    return Statement(f'SELECT "id", {DRAFT_KEY}, {own} AS own FROM {table} {one}', parameters)


def draft_statement(table: str, columns: Sequence[str], entry_id: str) -> Statement:
    """These columns of the draft of an entry."""
    return Statement(f'SELECT {", ".join(columns)} FROM {table} WHERE "id" = $id', {"id": entry_id})


def values_statement(table: Table, field: str) -> Statement:
    """The values of a field in one language, with their rows: ``value``, ``row``."""
    column = value_column(field)
    return Statement(f"SELECT {column} AS value, {table.row} AS row FROM {table.name} WHERE {column} IS NOT NULL", {})


def conditions_statement(tables: Iterable[Table], conditions: Sequence[BoundCondition]) -> Statement:
    """The rows that meet at least one condition, and which ones: ``row``, ``meets0``, ``meets1``, ….

    Columns are the row's own: with a fallback, the version that is returned has to meet the condition.
    """
    parameters: Parameters = {}
    texts = [_condition(condition, f"value{number}", parameters) for number, condition in enumerate(conditions)]
    meets = ", ".join(f"coalesce({text}, false) AS meets{number}" for number, text in enumerate(texts))
    where = " OR ".join(texts)
    each = (f"SELECT {table.row} AS row, {meets} FROM {table.name} WHERE {where}" for table in tables)
    return Statement(" UNION ALL ".join(each), parameters)


def _condition(condition: BoundCondition, name: str, parameters: Parameters) -> str:
    """A condition in SQL: one of its fields meets it."""
    texts = [
        condition.sql.format(column=value_column(field), search=quoted(search_column(field)), value=f"${name}")
        for field in condition.fields
    ]
    if condition.value is not None and texts:
        parameters[name] = condition.value
    return f"({' OR '.join(f'({text})' for text in texts) or 'false'})"
