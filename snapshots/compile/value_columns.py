"""Raw values of one field, many at once → their typed, JSON and searchable forms: what ``values`` gives for each.

What is usual is done for all in one go; the rest value by value. Only the plain values of JSON are understood here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from snapshots.compile.html_columns import search_texts
from snapshots.compile.values import IMAGE_KEYS, MAX_INTEGER, Compiler
from snapshots.documents.document import RawValue
from snapshots.model import Field, FieldType

Columns: TypeAlias = tuple[Sequence[Any], Sequence[Any], Sequence[str | None]]
"""``Compiled`` of every value: the typed ones, the JSON, the search texts."""
ColumnCompiler: TypeAlias = Callable[[Sequence[RawValue]], Columns]

RICH_TEXTS = 1 << 17
"""From so many characters on, looking at HTML together takes less time than looking at each."""

_TEXT = frozenset({str})
_TEXT_OR_NONE = frozenset({str, type(None)})
_INTEGER_OR_NONE = frozenset({int, type(None)})
_NUMBERS = frozenset({int, float})
_BOOLEAN_OR_NONE = frozenset({bool, type(None)})


def column_compiler(field: Field, compile_value: Compiler) -> ColumnCompiler:
    """The function that turns a field's raw values, one or more, into ``Columns``.

    ``compile_value`` is the field's, for one value; the function raises ``InvalidValue`` where that would.
    """
    match field.type:
        case FieldType.TEXT | FieldType.TEXTAREA:
            return partial(_texts, compile_value)
        case FieldType.RICHTEXT:
            return partial(_rich_texts, compile_value)
        case FieldType.NUMBER:
            return partial(_numbers, compile_value)
        case FieldType.DATETIME | FieldType.BOOLEAN | FieldType.SINGLE_SELECT | FieldType.REFERENCE:
            return partial(_repeating, compile_value)
        case FieldType.MULTIPLE_SELECT | FieldType.REFERENCES:
            return partial(_lists, compile_value)
        case FieldType.IMAGE:
            return partial(_images, compile_value)


def _each(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    typed, json, search = zip(*map(compile_value, raws), strict=True)
    return typed, json, search


def _texts(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    if _TEXT.issuperset(map(type, raws)):
        texts: Sequence[Any] = raws
        joined = "".join(texts)
        if joined.isascii() and "\0" not in joined:
            return texts, texts, [text.lower() for text in texts]
    return _each(compile_value, raws)


def _rich_texts(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    htmls: Sequence[Any] = raws
    if not _TEXT.issuperset(map(type, raws)) or sum(map(len, htmls)) < RICH_TEXTS:
        return _each(compile_value, raws)
    found = search_texts(htmls)
    if None not in found:
        return htmls, htmls, found
    each = zip(htmls, found, strict=True)
    typed, json, search = zip(
        *(compile_value(html) if text is None else (html, html, text) for html, text in each), strict=True
    )
    return typed, json, search


def _numbers(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    if not _NUMBERS.issuperset(map(type, raws)):
        return _each(compile_value, raws)
    numbers: Sequence[Any] = raws
    if not (min(numbers) >= -MAX_INTEGER and max(numbers) <= MAX_INTEGER):
        return _each(compile_value, raws)
    exact = [int(number) if type(number) is float and number.is_integer() else number for number in numbers]
    return list(map(float, exact)), exact, ()


def _repeating(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    """Values of which many are the same: each different one is looked at once."""
    kinds = set(map(type, raws))
    if not (_TEXT_OR_NONE.issuperset(kinds) or _BOOLEAN_OR_NONE.issuperset(kinds)):  # 1 is equal to True
        return _each(compile_value, raws)
    scalars: Sequence[Any] = raws
    compiled = {raw: compile_value(raw) for raw in set(scalars)}
    if all(typed is raw and json is raw for raw, (typed, json, _) in compiled.items()):
        return scalars, scalars, ()
    return [compiled[raw][0] for raw in scalars], [compiled[raw][1] for raw in scalars], ()


def _lists(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    if not {list}.issuperset(map(type, raws)):
        return _each(compile_value, raws)
    lists: Sequence[Any] = raws
    items = list(chain.from_iterable(lists))
    if not _TEXT.issuperset(map(type, items)):
        return _each(compile_value, raws)
    different = list(set(items))
    compiled = compile_value(different)[0]
    if compiled == different:
        return lists, lists, ()
    kept = dict(zip(different, compiled, strict=True))
    typed = [[kept[item] for item in one] for one in lists]
    return typed, typed, ()


def _images(compile_value: Compiler, raws: Sequence[RawValue]) -> Columns:
    images: Sequence[Any] = raws
    if not {dict}.issuperset(map(type, raws)) or not set().union(*images).issubset(IMAGE_KEYS):
        return _each(compile_value, raws)
    urls, widths, heights, alts = ([image.get(key) for image in images] for key in IMAGE_KEYS)
    if not (_are_urls(urls) and _are_pixels(widths) and _are_pixels(heights) and _are_plain(alts)):
        return _each(compile_value, raws)
    of_images = zip(urls, widths, heights, alts, strict=True)
    typed = [{"url": url, "width": width, "height": height, "alt": alt} for url, width, height, alt in of_images]
    return typed, typed, ()


def _are_urls(urls: Sequence[Any]) -> bool:
    """Whether all are URLs without doubt: those with spaces may be none."""
    if not _TEXT.issuperset(map(type, urls)) or "" in urls:
        return False
    joined = "".join(urls)
    return joined.isprintable() and " " not in joined


def _are_pixels(sizes: Sequence[Any]) -> bool:
    if not _INTEGER_OR_NONE.issuperset(map(type, sizes)):
        return False
    given = {size for size in sizes if size is not None}
    return not given or (min(given) >= 1 and max(given) <= MAX_INTEGER)


def _are_plain(alts: Sequence[Any]) -> bool:
    """Whether all are nothing, or texts of ASCII."""
    if not _TEXT_OR_NONE.issuperset(map(type, alts)):
        return False
    joined = "".join(filter(None, alts))
    return joined.isascii() and "\0" not in joined
