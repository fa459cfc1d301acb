"""Room on the disks, and how long it lasts at the rate at which the store grows."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from rich.filesize import decimal

from engine.administration.version_list import listed_versions
from engine.views.collecting.spool import VIEWS
from engine.views.gathering.layout import day_and_number
from server.doctor.finding import Case, Finding
from server.states.machine import disk_is_short

SUBJECT: Final = "disk"
KEEP_VARIABLE: Final = "CMS_KEEP_VERSIONS"
MANY_VERSIONS: Final = 50
"""The number of versions of a workspace from which on it is told that nothing deletes old ones."""
DAYS_LEFT: Final = 30
_RATE_DAYS: Final = 7
"""Days over which the growth is measured."""
_DAY_MS: Final = 86_400_000
_LEAST_INODES_SHARE: Final = 0.02


def look(case: Case) -> Iterator[Finding]:
    """Look at the disks of the store and of the cache, and at what grows on them."""
    root = case.root
    cache = case.settings.open_store().cache
    places = {"cache": cache} if root is None else {"store": root, "cache": cache}
    seen: set[int] = set()
    for name, place in places.items():
        there = _existing(place)
        if there.stat().st_dev not in seen:
            seen.add(there.stat().st_dev)
            yield from _room(name, there)
    if root is not None and root.is_dir():
        yield from _time_left(case, root)
    yield from _many_versions(case)


def _room(name: str, place: Path) -> Iterator[Finding]:
    disk = shutil.disk_usage(place)
    if disk_is_short(place):
        yield Finding(
            SUBJECT,
            True,
            f"The disk of the {name} has {decimal(disk.free)} left of {decimal(disk.total)}.",
            "On a full disk builds fail, page views are lost, and keys cannot be issued.",
            "cms snapshot prune --all-workspaces --keep 3",
        )
    system = os.statvfs(place)
    if system.f_files and system.f_favail < _LEAST_INODES_SHARE * system.f_files:
        yield Finding(
            SUBJECT,
            True,
            f"The disk of the {name} has place for {system.f_favail:,} more files, of {system.f_files:,}.",
            "A disk on which no file can be made is full, whatever room is left.",
            f"du --inodes -d 2 {shlex.quote(str(place))} | sort -n | tail",
        )


def _time_left(case: Case, root: Path) -> Iterator[Finding]:
    grown = {"snapshot versions": 0, "page views": 0}
    for name in case.store.workspaces():
        if KEEP_VARIABLE not in case.environment:
            grown["snapshot versions"] += _new_bytes(case, name)
        if case.settings.views_retention_days is None:
            first = case.now // _DAY_MS - _RATE_DAYS
            for one in case.store.objects.names(f"{name}/{VIEWS}"):
                at = day_and_number(one.key)
                grown["page views"] += one.bytes if at is not None and at[0] > first else 0
    rate, free = sum(grown.values()) / _RATE_DAYS, shutil.disk_usage(root).free
    if rate and free / rate < DAYS_LEFT:
        most = max(grown, key=lambda what: grown[what])
        yield Finding(
            SUBJECT,
            True,
            f"The store has grown by {decimal(int(rate))} a day for a week, most of it {most}: the disk is full in "
            f"{int(free / rate)} days.",
            "On a full disk builds fail, page views are lost, and keys cannot be issued.",
            f"export {KEEP_VARIABLE}=30    # for builds and `cms snapshot prune`"
            if most == "snapshot versions"
            else "export CMS_VIEWS_RETENTION_DAYS=90    # for the server; daily counts stay",
        )


def _new_bytes(case: Case, workspace: str) -> int:
    """Return the bytes that the versions of the last days do not share with older ones."""
    place = case.store.workspace(workspace)
    listed = listed_versions(place, reversed(place.versions()))
    manifests = [one.manifest for one in listed if one.manifest is not None]
    known = {file.sha256 for manifest in manifests[:1] for file in manifest.files}  # the first is no growth
    new = 0
    for manifest in manifests[1:]:
        files = {file.sha256: file.bytes for file in manifest.files if file.sha256 not in known}
        known |= files.keys()
        new += sum(files.values()) if manifest.created_at > case.now - _RATE_DAYS * _DAY_MS else 0
    return new


def _many_versions(case: Case) -> Iterator[Finding]:
    if KEEP_VARIABLE in case.environment:
        return
    for name in case.store.workspaces():
        count = len(case.store.workspace(name).versions())
        if count > MANY_VERSIONS:
            yield Finding(
                SUBJECT,
                False,
                f"{name} has {count:,} snapshot versions, and {KEEP_VARIABLE} is not set here.",
                "Nothing else deletes old versions, and every command that lists them takes longer.",
                f"cms snapshot prune -w {name} --keep 30",
            )


def _existing(path: Path) -> Path:
    with suppress(OSError):
        path = path.resolve()
    while not path.exists():
        path = path.parent
    return path
