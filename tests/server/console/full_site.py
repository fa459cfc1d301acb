"""The bundled example as a store in which every page of the console has something to show, in every state."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from cli.creating.examples import EXAMPLE
from cli.creating.sample_views import add_sample_views
from engine.access.audit.log import Author, Via
from engine.access.keys.access import AccessFile, KeyChange
from engine.access.keys.keys import Key, local_date
from engine.administration.administrator import Administrator, operator
from engine.administration.heartbeats import ReaderProcess, ReadingServer, ServedVersion, encode_reader, reader_key
from engine.administration.keys import disable_key, edit_key, issue_key
from engine.administration.versions import activate, recorded_build, roll_back
from engine.administration.webhooks import add_webhook
from engine.timeline.points import Point
from engine.webhooks.editing import change_endpoint
from engine.webhooks.endpoint import Attempt, Endpoint, EndpointState, Pending, Reason, Stop
from engine.webhooks.webhooks_file import WEBHOOKS, WebhooksFile
from snapshots.build.build import build
from snapshots.model import Workspace
from snapshots.store.current import ActivationConflict
from snapshots.store.objects import ANY
from snapshots.store.store import Store, WorkspaceStore, open_store
from snapshots.times import format_datetime, now_ms
from tests.server.console.browsing import EDITOR, MAINTAINER, OWNER

MEMBERS = f"""\
members:
  - {{name: Olga Petrowa, email: {OWNER}, role: owner}}
  - {{name: Mika, email: {MAINTAINER}, role: maintainer}}
  - {{name: Ed, email: {EDITOR}, role: editor}}
"""
OTHER = f"""\
id: {{name}}
name: A workspace called {{name}}
languages: [en]
members:
  - {{{{name: Olga, email: {OWNER}, role: {{role}}}}}}
"""
POSTS = "uid: api_posts0000001\nname: Posts\nendpoint: posts\nkind: list\nfields:\n  - {id: title, type: text}\n"
HOUR = 3_600_000

LAUNCHED = 5
LAUNCH = "status: scheduled\npublishStart: 2039-03-01T09:00:00+09:00\npublishEnd: 2039-04-01T09:00:00+09:00"
"""The live window of the entries that go live together."""


@dataclass(frozen=True)
class FullSite:
    """The store: ``komugi`` has everything, ``second`` next to nothing, and a file of ``damaged`` is."""

    store: Store
    place: WorkspaceStore
    workspace: Workspace
    versions: tuple[str, str]
    """The one before the current one, and the current one."""

    @property
    def keys(self) -> tuple[Key, ...]:
        found = AccessFile(self.place).read()
        return found.keys if found is not None else ()

    @property
    def webhooks(self) -> tuple[Endpoint, ...]:
        """An active one, one that is being retried, and one that was given up."""
        return WebhooksFile(self.place.objects, self.place.id).read()


def full_site(directory: Path) -> FullSite:
    """Make the store in a directory."""
    source = directory / "source"
    shutil.copytree(EXAMPLE, source)
    definition = source / "workspace.yaml"
    definition.write_text(definition.read_text().partition("members:")[0] + MEMBERS)
    now = now_ms() - 3 * HOUR
    soon = [f"publishStart: {format_datetime(now_ms() + hours * HOUR)}" for hours in (1, 30)]
    for number, start in enumerate(soon):
        text = f"---\ntitle: Coming {number}\nstatus: scheduled\n{start}\n---\nSoon.\n"
        (source / "content" / "journal" / f"coming-{number}.md").write_text(text)
    for number in range(LAUNCHED):
        text = f"---\ntitle: Spring {number}, a title of some length\n{LAUNCH}\n---\nSpring.\n"
        (source / "content" / "journal" / f"spring-{number}.md").write_text(text)
    (source / "content" / "journal" / "undated.md").write_text("---\ntitle: Undated\n---\nNobody knows when.\n")
    store = open_store(directory / "store")
    first = build(source, store, now=now, record=recorded_build(now)).version
    post = source / "content" / "journal" / "second-oven.md"
    post.write_text(post.read_text().replace("oven", "stove") + "\nAn extra paragraph, with **bold** words.\n")
    second = build(source, store, now=now + HOUR, record=recorded_build(now + HOUR)).version
    place = store.workspace("komugi")
    site = FullSite(store, place, place.manifest(second).workspace, (first, second))
    olga = Administrator(place, Author(OWNER, "owner", Via.CONSOLE), now + HOUR)
    roll_back(operator(place, now + HOUR + 1))
    activate(replace(olga, now=now + HOUR + 2), second, expected=first)
    with suppress(ActivationConflict):  # it is in the log as one that failed
        activate(olga, first, expected=first)
    _add_keys(site, olga)
    add_sample_views(place, now_ms())
    _add_webhooks(site, olga)
    _add_readers(site)
    for name, role in (("second", "editor"), ("damaged", "owner")):
        other = directory / name
        (other / "apis").mkdir(parents=True)
        (other / "content").mkdir()
        (other / "workspace.yaml").write_text(OTHER.format(name=name, role=role))
        (other / "apis" / "posts.yaml").write_text(POSTS)
        build(other, store, now=now)
    (store.root / "damaged" / WEBHOOKS).write_text("{")
    return site


def _add_keys(site: FullSite, olga: Administrator) -> None:
    today, name = (
        local_date(olga.now, ZoneInfo(site.workspace.timezone)),
        "An application with a rather long name that goes on and on, staging",
    )
    issue_key(olga, site.workspace, name="Website, production", scope=None)
    issue_key(olga, site.workspace, name=name, scope=frozenset({site.workspace.apis[0].uid}), validity="none")
    issue_key(olga, site.workspace, name="Soon over", scope=None, end=today + timedelta(4))
    issue_key(olga, site.workspace, name="Not yet", scope=None, start=today + timedelta(9), end=today + timedelta(20))
    issue_key(olga, site.workspace, name="Over", scope=None)
    period = KeyChange(start=today - timedelta(30), end=today - timedelta(2))
    edit_key(olga, site.workspace, "Over", period)
    disable_key(olga, name)


def _add_webhooks(site: FullSite, olga: Administrator) -> None:
    first, second = site.versions
    standard: dict[str, Any] = {
        "form": "standard",
        "token": None,
        "apis": None,
        "langs": None,
        "reasons": None,
        "allow_loopback": False,
    }
    some = {"apis": frozenset({site.workspace.apis[0].uid}), "reasons": frozenset({Reason.FLIP})}
    active = add_webhook(olga, "https://hooks.acme.example/services/secret", **standard)[0]
    retried = add_webhook(olga, "https://a-very-long-host-name-of-a-service.example/1", **{**standard, **some})[0]
    purge = {**standard, "form": "fastly", "token": "t"}
    given_up = add_webhook(olga, "https://api.fastly.com/service/abc", **purge)[0]
    now = now_ms()
    before, after = Point(first, now - 3 * HOUR), Point(second, now - 2 * HOUR)
    told = Attempt(now - HOUR, before, after, 1, 204, None, 182)
    refused = Attempt(now - 2 * HOUR, before, after, 0, 500, "it answered 500", 1412)
    silent = Attempt(now - 2 * HOUR, before, after, 0, None, "no answer within 15 s", 15_000)
    file = WebhooksFile(site.place.objects, site.place.id)
    here, pending = Point(second, now), Pending(after, now, 3, now + 90 * HOUR)
    change_endpoint(file, active.id, lambda one: replace(one, cursor=here, attempts=(told, refused, silent)))
    change_endpoint(file, retried.id, lambda one: replace(one, pending=pending, attempts=(refused, silent)))
    change_endpoint(file, given_up.id, lambda one: replace(one, stopped=Stop(EndpointState.GIVEN_UP, now)))


def _add_readers(site: FullSite) -> None:
    first, second = site.versions
    current = site.place.current()
    assert current is not None
    at = current.activated_at

    def process(pid: int, version: str, since: int, refused: str | None = None) -> ReaderProcess:
        return ReaderProcess(pid, at - HOUR, now_ms(), {site.place.id: ServedVersion(version, since, refused)})

    for name, processes in {
        "reader-1": (process(411, second, at + 420), process(412, second, at + 610)),
        "reader-2.internal.acme.example": (process(88, first, at - HOUR),),
        "reader-3": (process(12, first, at - HOUR, second),),
    }.items():
        site.store.objects.replace(
            reader_key(name), encode_reader(ReadingServer(name, "parquetry 0.9", processes)), ANY
        )
    hour_ago = time.time() - 3700
    os.utime(site.store.root / reader_key("reader-3"), (hour_ago, hour_ago))
