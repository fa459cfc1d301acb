"""The nouns: a workspace, its APIs and fields, and the window in which a version is live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

import msgspec

ALWAYS = -62_135_596_800_000
"""``live_from`` of a version without a publish start: 0001-01-01T00:00:00.000Z in UTC milliseconds."""
NEVER = 253_402_300_799_999
"""``live_until`` of a version without a publish end: 9999-12-31T23:59:59.999Z in UTC milliseconds."""


class ValueKind(StrEnum):
    """The form that one value of a field has: its column, SQL, types and pages follow from it."""

    TEXT = "text"
    NUMBER = "number"
    INSTANT = "instant"
    BOOLEAN = "boolean"
    OPTION = "option"
    ENTRY = "entry"
    """The ID of an entry."""
    RECORD = "record"
    """An object of which the type names the members: ``FieldFacts.record``."""
    GROUP = "group"
    """An object of fields of its own: ``Field.kinds``."""
    JSON = "json"
    """Any JSON."""


class RecordMember(msgspec.Struct, frozen=True):
    """One member of a record: a text, or with ``unit`` a whole number."""

    name: str
    required: bool = False
    unit: str | None = None
    least: int = 0
    """The smallest number."""
    about: str | None = None
    """For people who read the OpenAPI document."""


class Record(msgspec.Struct, frozen=True):
    """An object whose members are the same in every workspace; the first is an address, as text."""

    name: str
    """The name of its type in descriptions of a workspace."""
    article: str
    noun: str
    """The words for one, in messages."""
    members: tuple[RecordMember, ...]


IMAGE = Record(
    "Image",
    "an",
    "image",
    (
        RecordMember("url", required=True),
        RecordMember("width", unit="pixels", least=1, about="Pixels."),
        RecordMember("height", unit="pixels", least=1, about="Pixels."),
        RecordMember("alt", about="The alternative text."),
    ),
)


FILE = Record(
    "File", "a", "file", (RecordMember("url", required=True), RecordMember("fileSize", unit="bytes", about="Bytes."))
)


class FieldFacts(msgspec.Struct, frozen=True):
    """The facts of a field type, except how its values are read and filtered."""

    kind: ValueKind
    is_array: bool = False
    """A value is an array, and no value an empty one, not null (decisions 10 and 13)."""
    is_searched: bool = False
    """``q`` and ``contains`` search it; there is a ``<field>__search`` column."""
    is_sortable: bool = False
    record: Record | None = None


class FieldType(StrEnum):
    """The field types by the names ``_schema`` uses (decision 18)."""

    TEXT = "text"
    TEXTAREA = "textarea"
    RICHTEXT = "richtext"
    NUMBER = "number"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    SINGLE_SELECT = "single_select"
    MULTIPLE_SELECT = "multiple_select"
    REFERENCE = "reference"
    REFERENCES = "references"
    IMAGE = "image"
    IMAGES = "images"
    FILE = "file"
    GROUP = "group"
    GROUPS = "groups"
    JSON = "json"

    @property
    def facts(self) -> FieldFacts:
        return _FACTS[self]


_FACTS = {
    FieldType.TEXT: FieldFacts(ValueKind.TEXT, is_searched=True, is_sortable=True),
    FieldType.TEXTAREA: FieldFacts(ValueKind.TEXT, is_searched=True),
    FieldType.RICHTEXT: FieldFacts(ValueKind.TEXT, is_searched=True),
    FieldType.NUMBER: FieldFacts(ValueKind.NUMBER, is_sortable=True),
    FieldType.DATETIME: FieldFacts(ValueKind.INSTANT, is_sortable=True),
    FieldType.BOOLEAN: FieldFacts(ValueKind.BOOLEAN, is_sortable=True),
    FieldType.SINGLE_SELECT: FieldFacts(ValueKind.OPTION),
    FieldType.MULTIPLE_SELECT: FieldFacts(ValueKind.OPTION, is_array=True),
    FieldType.REFERENCE: FieldFacts(ValueKind.ENTRY),
    FieldType.REFERENCES: FieldFacts(ValueKind.ENTRY, is_array=True),
    FieldType.IMAGE: FieldFacts(ValueKind.RECORD, record=IMAGE),
    FieldType.IMAGES: FieldFacts(ValueKind.RECORD, is_array=True, record=IMAGE),
    FieldType.FILE: FieldFacts(ValueKind.RECORD, record=FILE),
    FieldType.GROUP: FieldFacts(ValueKind.GROUP),
    FieldType.GROUPS: FieldFacts(ValueKind.GROUP, is_array=True),
    FieldType.JSON: FieldFacts(ValueKind.JSON),
}
"""The table of field types: a new one is a row here, and only where its values are of a new kind more than that."""


def types_where(is_so: Callable[[FieldFacts], bool]) -> frozenset[FieldType]:
    """Return the field types of which something is so."""
    return frozenset(one for one in FieldType if is_so(one.facts))


TEXT_TYPES = types_where(lambda facts: facts.is_searched)
REFERENCE_TYPES = types_where(lambda facts: facts.kind is ValueKind.ENTRY)
ARRAY_TYPES = types_where(lambda facts: facts.is_array)
SORTABLE_TYPES = types_where(lambda facts: facts.is_sortable)
RECORDS = tuple(dict.fromkeys(one.facts.record for one in FieldType if one.facts.record is not None))
_OBJECTS = (ValueKind.RECORD, ValueKind.GROUP, ValueKind.JSON)
KEPT_AS_FLAG = types_where(lambda facts: facts.kind in _OBJECTS) | {FieldType.RICHTEXT}
"""Types of which a reader keeps only whether there is a value: no filter asks for more."""

PREVIEW_PARTS = ("id", "lang", "draftKey")
"""The names that may stand in braces in an API's ``preview_url``."""

GROUP_KIND = "fieldId"
"""The member that says of which kind one of several kinds of groups is."""

META_DATES = ("createdAt", "updatedAt", "publishedAt")


class ApiKind(StrEnum):
    LIST = "list"
    OBJECT = "object"


class Status(StrEnum):
    """The publication status a version's file gives it."""

    PUBLISHED = "published"
    SCHEDULED = "scheduled"
    DRAFT = "draft"


class ReferenceTarget(msgspec.Struct, frozen=True):
    """One of several APIs that a field refers to."""

    endpoint: str
    uid: str | None
    """``None`` when there is no such API."""


class Group(msgspec.Struct, frozen=True):
    """One kind of group. Where a field has one kind only, it has no ID."""

    id: str
    name: str
    fields: tuple[Field, ...]


class Field(msgspec.Struct, frozen=True):
    """One field of an API or of a group, as clients see it."""

    id: str
    name: str
    type: FieldType
    required: bool = False
    options: tuple[str, ...] | None = None
    """The allowed values of a select field; ``None`` allows any string."""
    target: str | None = None
    """For reference fields: the ``uid`` of the referenced API; ``None`` when it is not set or not there."""

    targets: tuple[ReferenceTarget, ...] | msgspec.UnsetType = msgspec.UNSET
    """For references to several APIs: all of them, in the order in which an ID alone is looked for."""
    fields: tuple[Field, ...] | msgspec.UnsetType = msgspec.UNSET
    """For a group, and for groups of one kind: the fields of each."""
    groups: tuple[Group, ...] | msgspec.UnsetType = msgspec.UNSET
    """For groups of several kinds: the kinds. Each value then has the member ``GROUP_KIND``."""
    renamed_from: str | msgspec.UnsetType = msgspec.UNSET
    """The key of the field's values in files that do not have its present one yet. Clients are never told; absent where
    there is none, so that definitions without it keep their content hash."""
    description: str | msgspec.UnsetType = msgspec.UNSET
    """What the field is for, told to developers. Absent where nothing is said, so that definitions without it keep
    their content hash."""

    @property
    def kinds(self) -> tuple[Group, ...]:
        """The kinds of the field's groups; none for other types."""
        if self.groups is not msgspec.UNSET:
            return self.groups
        return () if self.fields is msgspec.UNSET else (Group("", "", self.fields),)

    def kind_of(self, value: Mapping[str, Any]) -> Group:
        """Return the kind of one of the field's groups, as delivered."""
        return next(kind for kind in self.kinds if kind.id == value.get(GROUP_KIND, ""))

    @property
    def target_uids(self) -> tuple[str | None, ...]:
        """The ``uid``s of the APIs that the field may refer to."""
        if self.targets is not msgspec.UNSET:
            return tuple(target.uid for target in self.targets)
        return () if self.target is None else (self.target,)

    def lacks(self, value: object) -> bool:
        """Return whether a delivered value counts as none: null, and but for JSON an empty text or array."""
        return value is None or (self.type.facts.kind is not ValueKind.JSON and value in ("", []))


class FieldPath(msgspec.Struct, frozen=True):
    """A field and the way to it: fields and, where a field has several, kinds of groups, from an API's field on."""

    steps: tuple[str, ...]
    field: Field
    is_array: bool
    """Whether an entry may have several values of the field."""

    @property
    def name(self) -> str:
        """The way as text, such as ``authors.name``; an API has no two of the same."""
        return ".".join(self.steps)

    def inside(self) -> Iterator[FieldPath]:
        """Return the field and those inside its groups."""
        yield self
        for kind in self.field.kinds:
            for path in self.of_kind(kind):
                yield from path.inside()

    def of_kind(self, kind: Group) -> Iterator[FieldPath]:
        """Return the fields of one kind of the field's groups."""
        steps = (*self.steps, kind.id) if kind.id else self.steps
        for field in kind.fields:
            yield FieldPath((*steps, field.id), field, self.is_array or field.type.facts.is_array)


def field_path(field: Field) -> FieldPath:
    """Return the way to a field of an API."""
    return FieldPath((field.id,), field, field.type.facts.is_array)


class Api(msgspec.Struct, frozen=True):
    """One API of a workspace, as clients see it. ``uid`` is its identity and survives renames."""

    uid: str
    name: str
    endpoint: str
    kind: ApiKind
    multilingual: bool
    fields: tuple[Field, ...]
    preview_url: str | msgspec.UnsetType = msgspec.UNSET
    """The address at which people see a draft on the site, with ``{…}`` for ``PREVIEW_PARTS``. Absent where none is
    given, so that definitions without it keep their content hash."""
    description: str | msgspec.UnsetType = msgspec.UNSET
    """What the API is for, told to developers; absent where nothing is said."""

    def field(self, field_id: str) -> Field | None:
        return next((f for f in self.fields if f.id == field_id), None)

    def every_field(self) -> Iterator[FieldPath]:
        """Return the fields, those inside groups after the group."""
        for field in self.fields:
            yield from field_path(field).inside()

    @property
    def references(self) -> tuple[FieldPath, ...]:
        """The reference fields, those inside groups too."""
        return tuple(path for path in self.every_field() if path.field.type in REFERENCE_TYPES)


class Member(msgspec.Struct, frozen=True):
    """A member of the workspace; owners and maintainers get the e-mails before a key expires."""

    name: str
    email: str
    role: str


class ViewSettings(msgspec.Struct, frozen=True):
    """How page views are counted (decision 31)."""

    dedupe_minutes: int = 30
    per_address_per_minute: int = 60
    max_keys: int = 1_000_000
    """Paths and entries that are told apart; views of others are counted together (decision 65)."""


class SignalSettings(msgspec.Struct, frozen=True):
    """The settings of the signals in answers to applications with caches of their own (decision 67)."""

    next_change: bool = True
    """Whether answers tell when a schedule next changes something."""


class Workspace(msgspec.Struct, frozen=True):
    """A workspace's facts and API definitions: all that a reader of snapshots needs besides the rows."""

    id: str
    name: str
    languages: tuple[str, ...]
    timezone: str = "UTC"
    domains: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    views: ViewSettings = msgspec.field(default_factory=ViewSettings)
    rate_limit: int = 300
    """Requests a minute for a key that has no limit of its own."""
    dashboard_url: str | None = None
    apis: tuple[Api, ...] = ()
    """In the order of their definition files' names."""
    signals: SignalSettings | msgspec.UnsetType = msgspec.UNSET
    """Absent where none are given, so that workspaces without them keep their content hash."""
    assets_sizes: bool | msgspec.UnsetType = msgspec.UNSET
    """False where ``answers_sizes`` is; else absent, for the same reason."""

    @property
    def answers_sizes(self) -> bool:
        """Whether the address of a picture answers with other sizes of it: it does not where a copy is served."""
        return self.assets_sizes is not False

    @property
    def tells_next_change(self) -> bool:
        """Whether keys are told when a schedule next changes something."""
        return self.signals is msgspec.UNSET or self.signals.next_change

    @property
    def main_language(self) -> str:
        return self.languages[0]

    def api(self, endpoint: str) -> Api | None:
        """Return the API with exactly this endpoint (decision 3: case-sensitive)."""
        return next((a for a in self.apis if a.endpoint == endpoint), None)

    def api_by_uid(self, uid: str) -> Api | None:
        return next((a for a in self.apis if a.uid == uid), None)

    def languages_of(self, api: Api) -> tuple[str, ...]:
        """Return the languages that an API can have versions in: all, or only the main one."""
        return self.languages if api.multilingual else self.languages[:1]
