"""The nouns: a workspace, its APIs and fields, and the window in which a version is live."""

from __future__ import annotations

from enum import StrEnum

import msgspec

ALWAYS = -62_135_596_800_000
"""``live_from`` of a version without a publish start: 0001-01-01T00:00:00.000Z in UTC milliseconds."""
NEVER = 253_402_300_799_999
"""``live_until`` of a version without a publish end: 9999-12-31T23:59:59.999Z in UTC milliseconds."""


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


TEXT_TYPES = frozenset({FieldType.TEXT, FieldType.TEXTAREA, FieldType.RICHTEXT})
"""Types that ``q`` and ``contains`` search; each has a ``<field>__search`` column."""
REFERENCE_TYPES = frozenset({FieldType.REFERENCE, FieldType.REFERENCES})
ARRAY_TYPES = frozenset({FieldType.MULTIPLE_SELECT, FieldType.REFERENCES})
"""Types whose missing value is an empty array, not null (decisions 10 and 13)."""
SORTABLE_TYPES = frozenset({FieldType.TEXT, FieldType.NUMBER, FieldType.DATETIME, FieldType.BOOLEAN})

PREVIEW_PARTS = ("id", "lang", "draftKey")
"""What ``{…}`` stands for in an API's ``preview_url``."""

META_DATES = ("createdAt", "updatedAt", "publishedAt")


class ApiKind(StrEnum):
    LIST = "list"
    OBJECT = "object"


class Status(StrEnum):
    """The publication status a version's file gives it."""

    PUBLISHED = "published"
    SCHEDULED = "scheduled"
    DRAFT = "draft"


class Field(msgspec.Struct, frozen=True):
    """One field of an API, as clients see it."""

    id: str
    name: str
    type: FieldType
    required: bool = False
    options: tuple[str, ...] | None = None
    """The allowed values of a select field; ``None`` allows any string."""
    target: str | None = None
    """For reference fields: the ``uid`` of the referenced API; ``None`` when it is not set or not there."""


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

    def field(self, field_id: str) -> Field | None:
        return next((f for f in self.fields if f.id == field_id), None)


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
