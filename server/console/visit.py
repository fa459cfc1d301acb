"""A request of somebody who may make it, as the pages of a workspace get it, and what they answer with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from engine.access.audit.log import AuditLog, Author, Via
from engine.access.keys.keys import local_date
from engine.access.sign_in.people import Person, Role
from engine.administration.administrator import Administrator
from engine.read.all_versions.all_versions import AllVersions
from engine.timeline.timeline import Timeline
from engine.webhooks.webhooks_file import Endpoints, WebhooksFile
from server.pages.rendering import Pages
from snapshots.model import Workspace
from snapshots.problems import ParquetryError
from snapshots.store.manifest import Manifest
from snapshots.store.objects import Objects
from snapshots.store.store import WorkspaceStore


class PageRefused(ParquetryError):
    """A page cannot be shown, or a change not made; ``status`` is that of HTTP, ``title`` the page's heading."""

    def __init__(self, status: int, title: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.title = title


class Form(msgspec.Struct, frozen=True):
    """The fields of a form, or the parameters of an address."""

    values: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """Return the last value of a field, empty where there is none."""
        return self.values.get(name, ("",))[-1]

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a field."""
        return self.values.get(name, ())

    def has(self, name: str) -> bool:
        """Whether a field was sent."""
        return name in self.values


class ConsoleContext(msgspec.Struct, frozen=True):
    """The objects and functions that all requests to the console share."""

    objects: Objects
    """The store's objects."""
    pages: Pages
    all_versions: Callable[[WorkspaceStore, Manifest], AllVersions]
    """Returns a version's language versions."""
    timeline: Callable[[WorkspaceStore, Manifest], Timeline]
    """Returns a version's timeline; kept from one request to the next, as the webhooks."""
    webhooks: Callable[[str], WebhooksFile]
    """Returns a workspace's webhooks, given its ID."""
    allow_loopback: bool
    """Whether webhooks may be told on this machine, for development."""


class Visit(msgspec.Struct, frozen=True):
    """A request to a workspace."""

    context: ConsoleContext
    origin: str
    """The address below which the server is, as the browser knows it, without a slash at its end."""
    person: Person
    name: str
    """The person's name for people."""
    role: Role
    workspace_store: WorkspaceStore
    manifest: Manifest
    """The manifest of the current version."""
    now: int
    """UTC milliseconds."""
    path: Mapping[str, str]
    """The named segments of the path."""
    query: Form
    form: Form

    @property
    def workspace(self) -> Workspace:
        """The workspace's facts in the current version."""
        return self.manifest.workspace

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.workspace.timezone)

    @property
    def today(self) -> date:
        """The day in the workspace's time zone."""
        return local_date(self.now, self.zone)

    @property
    def all_versions(self) -> AllVersions:
        """The language versions of the current version."""
        return self.context.all_versions(self.workspace_store, self.manifest)

    @property
    def timeline(self) -> Timeline:
        """The timeline of the current version."""
        return self.context.timeline(self.workspace_store, self.manifest)

    @property
    def webhooks(self) -> Endpoints:
        """The webhooks as they are now. Raises ``DamagedDocument`` or ``StoreError``."""
        return self.context.webhooks(self.workspace.id).read()

    @property
    def audit(self) -> AuditLog:
        return AuditLog(self.context.objects, self.workspace_store.id)

    def page_of(self, total: int, per_page: int) -> tuple[int, int]:
        """Return (the page asked for, the number of pages) of a list with ``total`` rows; both are 1 at least."""
        pages = max(1, -(-total // per_page))
        asked = self.query.one("page")
        number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 10 else 1
        return min(max(1, number), pages), pages

    @property
    def administrator(self) -> Administrator:
        """The person, in whose name the workspace is changed."""
        return Administrator(self.workspace_store, Author(self.person.address, self.role.value, Via.CONSOLE), self.now)


class Shown(msgspec.Struct, frozen=True):
    """A page to show: a template and its values."""

    template: str
    values: Mapping[str, Any] = {}
    status: int = 200
    policy: Mapping[str, str] = {}
    """Directives of the content security policy that are others than those of most pages."""


class Moved(msgspec.Struct, frozen=True):
    """Another page to go to, by the segments of its path and its parameters."""

    segments: tuple[str, ...]
    query: Mapping[str, str] = {}


class Download(msgspec.Struct, frozen=True):
    """A file to keep."""

    name: str
    media_type: str
    body: bytes


Outcome = Shown | Moved | Download
"""The answer of a page."""
