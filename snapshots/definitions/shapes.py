"""The shapes of workspace.yaml and apis/*.yaml, by which a YAML document becomes a checked model or a list of problems.

Rules for one key are checked here; rules for several keys in apis.py, for several files in workspace.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import cache
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from snapshots.definitions.names import nearest
from snapshots.documents.document import ContentDocument, Plain, RawValue
from snapshots.documents.yaml_reader import describe
from snapshots.ids import ID_FORM, ID_IN_WORDS
from snapshots.model import META_DATES, PREVIEW_PARTS, ApiKind, FieldType
from snapshots.problems import WARNING_CLASSES, Problems

META_KEYS = (
    *META_DATES,
    *("publishStart", "publishEnd", "launch", "aliases", "status", "id", "lang", "draft", "draftKey"),
)
"""The system keys whose place ``meta`` can give; with null or an empty text there they are not read."""

MAX_LANGUAGES = 1_000
"""Every data file has two columns for each other language, so their number grows with the square of this."""

_LANGUAGE = re.compile(r"[A-Za-z0-9]+([-_][A-Za-z0-9]+)*")
_DOMAIN = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.IGNORECASE)
_TRUE, _FALSE = frozenset({"true", "True", "TRUE"}), frozenset({"false", "False", "FALSE"})
_YES_NO = frozenset({"yes", "no", "on", "off", "y", "n"})


def is_null(value: RawValue) -> bool:
    """Return whether a raw value is null, as YAML writes it."""
    return value is None or (isinstance(value, Plain) and value in ("", "~", "null", "Null", "NULL"))


def _text(value: RawValue) -> str:
    if isinstance(value, str) and not is_null(value):
        return str(value)
    raise ValueError(f"expected a text, got {describe(value)}")


def _flag(value: RawValue) -> bool:
    if isinstance(value, Plain):
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
    hint = "; write true or false" if isinstance(value, str) and value.lower() in _YES_NO else ""
    raise ValueError(f"expected true or false, got {describe(value)}{hint}")


def _whole(least: int) -> Callable[[RawValue], int]:
    def check(value: RawValue) -> int:
        if isinstance(value, Plain) and re.fullmatch(r"[0-9]{1,9}", value) and int(value) >= least:
            return int(value)
        raise ValueError(f"expected a whole number from {least}, got {describe(value)}")

    return check


def _matching(pattern: str, rule: str) -> AfterValidator:
    expression = re.compile(pattern)

    def check(value: str) -> str:
        if expression.fullmatch(value):
            return value
        raise ValueError(f"{value!r} is not allowed: {rule}")

    return AfterValidator(check)


def _one_of(known: Collection[str]) -> AfterValidator:
    def check(value: str) -> str:
        if value in known:
            return value
        raise ValueError(f"{value!r} is not one of {', '.join(known)}{nearest(value, known)}")

    return AfterValidator(check)


def _list(value: RawValue) -> list[RawValue]:
    if isinstance(value, list):
        return value
    raise ValueError(f"expected a list, got {describe(value)}")


def _one_or_list(value: RawValue) -> list[RawValue]:
    return value if isinstance(value, list) else [value]


def _mapping(value: RawValue) -> dict[str, RawValue]:
    if isinstance(value, dict):
        return value
    raise ValueError(f"expected a mapping (key: value), got {describe(value)}")


def _language(value: str) -> str:
    if len(value) > 64 or not _LANGUAGE.fullmatch(value):
        raise ValueError(f"{value!r} is not a language code: write one such as en or pt-BR")
    if value == "draft":
        raise ValueError("'draft' cannot be a language: file names use it to mark unpublished changes")
    return value


def _languages(value: list[str]) -> list[str]:
    if not value:
        raise ValueError("is empty: name at least the main language")
    if len(value) > MAX_LANGUAGES:
        raise ValueError(f"{len(value):,} languages; at most {MAX_LANGUAGES:,} are allowed")
    return _unique(value, "the language", "also ignoring case")


def _unique(values: list[str], what: str, how: str) -> list[str]:
    seen: dict[str, str] = {}
    for value in values:
        folded = value.lower() if how else value
        if folded in seen:
            raise ValueError(
                f"{what} {value!r} appears twice ({seen[folded]!r}); each must be unique{', ' + how if how else ''}"
            )
        seen[folded] = value
    return values


def _options(values: list[str]) -> list[str]:
    if not values:
        raise ValueError("is empty: list the allowed values, or leave it out to allow any text")
    return _unique(values, "the option", "")


@cache
def _zones() -> frozenset[str]:
    return frozenset(available_timezones())  # reads six hundred names from the disk


def _timezone(value: str) -> str:
    # Only names of the set go to ZoneInfo, which would open any file of the zone directory that a name leads to.
    zones = _zones()
    if value not in zones:
        raise ValueError(f"{value!r} is not an IANA time zone such as Asia/Tokyo{nearest(value, zones)}")
    ZoneInfo(value)
    return value


def _domain(value: str) -> str:
    if not _DOMAIN.fullmatch(value):
        raise ValueError(f"{value!r} is not a domain: write the host alone, such as www.acme.example or *.acme.example")
    return value.lower()


def _email(value: str) -> str:
    if not re.fullmatch(r"[^@\s<>,;]+@[^@\s<>,;]+", value):
        raise ValueError(f"{value!r} is not an e-mail address")
    return value


def _is_url(value: str) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and value.isprintable() and " " not in value


def _url(value: str) -> str:
    if not _is_url(value):
        raise ValueError(f"{value!r} is not an http or https address")
    return value.rstrip("/")


def _page_url(value: str) -> str:
    filled = _filled(value, ("id", "lang"))
    if not _is_url(filled if not re.match("/(?!/)", filled) else f"https://site.example{filled}"):
        raise ValueError(f"{value!r} is neither an http or https address nor a path that begins with /")
    return value


def _preview_url(value: str) -> str:
    if not _is_url(_filled(value, PREVIEW_PARTS)):
        raise ValueError(f"{value!r} is not an http or https address")
    return value


def _filled(value: str, parts: Collection[str]) -> str:
    """Return an address with its parts filled in by examples."""
    for part in re.findall(r"\{([^{}]*)\}", value):
        if part not in parts:
            known = ", ".join(f"{{{one}}}" for one in parts)
            raise ValueError(f"{{{part}}} is not a placeholder here; use {known}{nearest(part, parts)}")
    filled = re.sub(r"\{[^{}]*\}", "x", value)
    if "{" in filled or "}" in filled:
        raise ValueError(
            f"{value!r} has a brace without its other half; write %7B or %7D for one that stands for itself"
        )
    return filled


Text = Annotated[str, BeforeValidator(_text)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Language = Annotated[Text, AfterValidator(_language)]
EntryId = Annotated[Text, _matching(ID_FORM, ID_IN_WORDS)]
FieldId = Annotated[Text, _matching(r"[A-Za-z][A-Za-z0-9_]{0,63}", "1 to 64 of A-Z a-z 0-9 _, beginning with a letter")]
Description = Annotated[Text, AfterValidator(str.strip)]
LaunchName = Annotated[
    Text, _matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit")
]
LangMap = Annotated[dict[str, Language], BeforeValidator(_mapping)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=False, validate_by_alias=True)


class MemberShape(_Shape):
    name: Text
    email: Annotated[Text, AfterValidator(_email)]
    role: Annotated[Text, _one_of(("owner", "maintainer", "editor"))]


class ViewsShape(_Shape):
    dedupe_minutes: Annotated[int, BeforeValidator(_whole(0))] = 30
    per_address_per_minute: Annotated[int, BeforeValidator(_whole(1))] = 60
    max_keys: Annotated[int, BeforeValidator(_whole(1))] = 1_000_000


class SignalsShape(_Shape):
    next_change: Flag = True


class MarkdownShape(_Shape):
    iframe_hosts: Annotated[list[Annotated[Text, AfterValidator(_domain)]], BeforeValidator(_list)] = Field(
        default_factory=list
    )
    classes: Annotated[
        list[Annotated[Text, _matching(r"[^\s\"'<>&{}]+", "a class is one word, without quotes or brackets")]],
        BeforeValidator(_list),
    ] = Field(default_factory=list)


def _folder(value: str) -> str:
    if value.startswith("/") or any(part in ("", ".", "..") for part in value.rstrip("/").split("/")):
        raise ValueError(f"{value!r} is not a folder of the workspace: write it like static, without . and ..")
    return value


class AssetsShape(_Shape):
    """``assets``; true and false stand for ``delivered`` alone."""

    delivered: Flag = True
    strip: Flag = False
    folders: Annotated[list[Annotated[Text, AfterValidator(_folder)]], BeforeValidator(_one_or_list)] = Field(
        default_factory=list
    )
    missing: Annotated[Text, _one_of(["error", "warn"])] = "error"


def _assets(value: RawValue) -> RawValue:
    if isinstance(value, dict):
        if "delivered" in value:
            raise ValueError("expected true, false or {strip: true}")
        return value
    if not isinstance(value, Plain) or value not in _TRUE | _FALSE:
        raise ValueError(f"expected true, false or {{strip: true}}, got {describe(value)}")
    return {"delivered": value}


class ImagesShape(_Shape):
    widths: Annotated[list[Annotated[int, BeforeValidator(_whole(1))]], BeforeValidator(_list)] = Field(
        default_factory=list
    )


def _shortcode(value: RawValue) -> tuple[str, str]:
    """Return the kind of replacement of a shortcode, and the text that replaces it."""
    if isinstance(value, str) and value in ("leave", "drop"):
        return str(value), ""
    if isinstance(value, dict) and list(value) == ["replace"]:
        return "replace", _text(value["replace"])
    raise ValueError(f"expected leave, drop or {{replace: a text}}, got {describe(value)}")


class WorkspaceShape(_Shape):
    """workspace.yaml."""

    id: Annotated[Text, _matching(r"[a-z0-9][a-z0-9-]{0,62}", "1 to 63 of a-z 0-9 -, not beginning with -")]
    name: Text | None = None
    timezone: Annotated[Text, AfterValidator(_timezone)] = "UTC"
    languages: Annotated[list[Language], BeforeValidator(_list), AfterValidator(_languages)]
    domains: Annotated[list[Annotated[Text, AfterValidator(_domain)]], BeforeValidator(_list)] = Field(
        default_factory=list
    )
    members: Annotated[list[Annotated[MemberShape, BeforeValidator(_mapping)]], BeforeValidator(_list)] = Field(
        default_factory=list
    )
    views: Annotated[ViewsShape, BeforeValidator(_mapping)] = Field(default_factory=ViewsShape)
    signals: Annotated[SignalsShape, BeforeValidator(_mapping)] | None = None
    rate_limit: Annotated[int, BeforeValidator(_whole(1))] = 300
    dashboard_url: Annotated[Text, AfterValidator(_url)] | None = None
    assets: Annotated[AssetsShape, BeforeValidator(_assets)] = Field(default_factory=AssetsShape)
    assets_url: Annotated[Text, AfterValidator(_url)] | None = None
    assets_sizes: Flag = True
    images: Annotated[ImagesShape, BeforeValidator(_mapping)] = Field(default_factory=ImagesShape)
    lang_map: LangMap = Field(default_factory=dict)
    launches: Annotated[dict[LaunchName, Text], BeforeValidator(_mapping)] = Field(default_factory=dict)
    strict: Annotated[list[Annotated[Text, _one_of(tuple(WARNING_CLASSES))]], BeforeValidator(_one_or_list)] = Field(
        default_factory=list
    )
    markdown: Annotated[MarkdownShape, BeforeValidator(_mapping)] = Field(default_factory=MarkdownShape)
    shortcodes: Annotated[
        dict[str, Annotated[tuple[Literal["leave", "drop", "replace"], str], BeforeValidator(_shortcode)]],
        BeforeValidator(_mapping),
    ] = Field(default_factory=dict)


def _collection(value: str) -> str:
    if not re.fullmatch(r"\$(\.[^.\s]+)*", value):
        raise ValueError(f"{value!r} leads nowhere: write $ for the whole file, or $.presets for the value of a key")
    return value


def _former_key(value: str) -> str:
    if value.startswith("$") or not re.fullmatch(r"[^.\s{}]+(\.[^.\s{}]+)*", value):
        raise ValueError(f"{value!r} is not a key: write the one under which files have the value so far")
    return value


class FieldShape(_Shape):
    """One item of ``fields``."""

    id: FieldId
    name: Text | None = None
    description: Description | None = None
    type: Annotated[Text, _one_of([kind.value for kind in FieldType])]
    required: Flag = False
    options: Annotated[list[Text], BeforeValidator(_list), AfterValidator(_options)] | None = None
    api: Text | None = None
    by: Annotated[Text, _one_of(["id", "path"])] = "id"
    apis: Annotated[list[Text], BeforeValidator(_list)] | None = None
    fields: Annotated[list[Annotated[FieldShape, BeforeValidator(_mapping)]], BeforeValidator(_list)] | None = None
    groups: Annotated[list[Annotated[GroupShape, BeforeValidator(_mapping)]], BeforeValidator(_list)] | None = None
    source: Text | None = Field(default=None, alias="from")
    renamed_from: Annotated[Text, AfterValidator(_former_key)] | None = None


class GroupShape(_Shape):
    """One item of ``groups``: a kind."""

    id: FieldId
    name: Text | None = None
    fields: Annotated[list[Annotated[FieldShape, BeforeValidator(_mapping)]], BeforeValidator(_list)]


def _hidden_key(value: RawValue) -> RawValue:
    return value if isinstance(value, dict) else {"key": value}


class HiddenShape(_Shape):
    """One item of ``hidden``: a key, or a key with the values that do not hide."""

    key: Text
    unless: Annotated[list[Text], BeforeValidator(_one_or_list)] = Field(default_factory=list)


class ApiShape(_Shape):
    """apis/*.yaml."""

    uid: EntryId
    name: Text | None = None
    description: Description | None = None
    endpoint: Annotated[
        Text,
        _matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", "1 to 64 of A-Z a-z 0-9 _ -, beginning with a letter or digit"),
    ]
    kind: Annotated[Text, _one_of([kind.value for kind in ApiKind])]
    multilingual: Flag = False
    source: Annotated[list[Text], BeforeValidator(_one_or_list)] = Field(default_factory=list)
    exclude: Annotated[list[Text], BeforeValidator(_one_or_list)] = Field(default_factory=list)
    collection: Annotated[Text, AfterValidator(_collection)] | None = Field(default=None, alias="from")
    id: Text | None = None
    id_map: Annotated[dict[str, EntryId], BeforeValidator(_mapping)] = Field(default_factory=dict)
    meta: Annotated[dict[str, Text], BeforeValidator(_mapping)] = Field(default_factory=dict)
    hidden: Annotated[list[Annotated[HiddenShape, BeforeValidator(_hidden_key)]], BeforeValidator(_one_or_list)] = (
        Field(default_factory=list)
    )
    lang_map: LangMap = Field(default_factory=dict)
    preview_url: Annotated[Text, AfterValidator(_preview_url)] | None = None
    page_url: Annotated[Text, AfterValidator(_page_url)] | None = None
    fields: Annotated[list[Annotated[FieldShape, BeforeValidator(_mapping)]], BeforeValidator(_list)]


Shape = TypeVar("Shape", WorkspaceShape, ApiShape)


def _names(shape: type[BaseModel]) -> list[str]:
    """Return the keys of a shape as files write them."""
    return [info.alias or name for name, info in shape.model_fields.items()]


_KEYS: dict[str, list[str]] = {
    "members": list(MemberShape.model_fields),
    "views": list(ViewsShape.model_fields),
    "signals": list(SignalsShape.model_fields),
    "markdown": list(MarkdownShape.model_fields),
    "assets": ["folders", "missing", "strip"],
    "images": list(ImagesShape.model_fields),
    "fields": _names(FieldShape),
    "groups": list(GroupShape.model_fields),
    "hidden": list(HiddenShape.model_fields),
}
_MISSING = {
    "uid": "; 'cms check --fix' writes one",
    "kind": ": write 'kind: list' or 'kind: object'",
    "languages": ": write 'languages: [en]', the main language first",
    "id": ": write the ID that URLs use, such as 'id: acme'",
    "fields": ": list the fields, each with an id and a type",
}


def read_shape(shape: type[Shape], file: str, document: ContentDocument, problems: Problems) -> Shape | None:
    """Return a definition file's document as its model; ``None``, and every problem with its line, if it is wrong."""
    try:
        return shape.model_validate(_without_nulls(_with_meta_off(document.values)))
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            where = tuple(step for step in detail["loc"] if step != "[key]")
            problems.error(file, document.line_of(*where), "definition", _message(shape, where, dict(detail)))
        return None


def _with_meta_off(values: dict[str, RawValue]) -> dict[str, RawValue]:
    """Return a definition in which a null in ``meta``, which switches a key off, is an empty text."""
    meta = values.get("meta")
    if not isinstance(meta, dict):
        return values
    return {**values, "meta": {key: "" if is_null(value) else value for key, value in meta.items()}}


def _without_nulls(value: RawValue) -> Any:
    """Return a value without the keys that have no value: they count as absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if not is_null(item)}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _message(shape: type[BaseModel], where: tuple[str | int, ...], detail: dict[str, Any]) -> str:
    key = str(where[-1]) if where else ""
    around = [str(step) for step in where[:-1] if isinstance(step, str)]
    path = ".".join(str(step) for step in where)
    if detail["type"] == "missing":
        within = f" of {'.'.join(str(step) for step in where[:-1])}" if around else ""
        return f"'{key}'{within} is missing{'' if around else _MISSING.get(key, '')}"
    if detail["type"] == "extra_forbidden":
        known = _KEYS[around[-1]] if around else _names(shape)
        return f"unknown key {key!r}{nearest(key, known) or ': known are ' + ', '.join(known)}"
    message = detail["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message
