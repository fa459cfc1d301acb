"""Faults that the product once had, each to be put back: the simulation has to find them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

from msgspec.structs import replace

from engine.access.keys import access
from engine.access.sign_in.sign_ins import MAIL_PAUSE_MS, SignInLink, SignIns, _hash, new_token
from engine.backup import restoring
from engine.views.collecting import spool
from engine.views.gathering import spooled, stored_views
from engine.views.gathering.stored_views import StoredViews
from engine.webhooks import post
from engine.webhooks.addresses import parse_target
from engine.webhooks.dispatcher import Dispatcher
from server.background import election
from server.mirror.followed import FollowedWorkspace
from server.mirror.mirror import Mirror
from server.workspaces.kept_versions import KeptVersions
from snapshots.build import file_plans
from snapshots.problems import ParquetryError
from snapshots.store import carrying, pruning, store, verification
from snapshots.store.current import Current
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.objects import ANY, Objects
from tests.simulation.fault import QUIET, Change, Fault
from tests.simulation.growth.faults import GROWTH
from tests.simulation.outside.faults import OUTSIDE
from tests.simulation.published.faults import PUBLISHED


def _revocation_undone() -> list[Change]:
    def replace_key(file: Any, prefix: str, changed: Any, *, takes_away: bool = False) -> Any:
        found: list[Any] = []

        def swap(keys: Any) -> Any:
            if not found:
                old = access.find_key(keys.keys, prefix)
                found[:] = [old, changed(old)]
            old, new = found
            return replace(keys, keys=tuple(new if key.id == old.id else key for key in keys.keys)), new

        return file.edit(swap, takes_away=takes_away)

    return [(access, "_replace_key", replace_key)]


def _first_result() -> list[Change]:
    edit = Objects.edit

    def edited(self: Any, key: str, change: Any, *, private: bool = False) -> Any:
        first: list[Any] = []

        def changed(data: Any, write: str) -> Any:
            wanted, result = change(data, write)
            first.append(result)
            return wanted, first[0]

        return edit(self, key, changed, private=private)

    return [(Objects, "edit", edited)]


def _full_disk_tells_nobody() -> list[Change]:
    def put(self: Any, name: str, data: bytes) -> None:
        with suppress(ParquetryError):
            self._mirror.replace(f"{self.id}/{name}", data, ANY, private=True)

    return [(FollowedWorkspace, "_put", put)]


def _one_ends_the_round() -> list[Change]:
    def not_looked(self: Any, name: str, complaint: str) -> None:
        raise ParquetryError(complaint)

    def find_behind(self: Any, now: int) -> dict[str, dict[str, int]]:
        return {}

    return [(Mirror, "_not_looked", not_looked), (Mirror, "_find_behind", find_behind)]


def _going_back_by_names() -> list[Change]:
    return [(Current, "is_return", lambda self, before, after: after < before)]


def _outcome_uncaught() -> list[Change]:
    def seconds_until(retry_after: str | None, now: int) -> float | None:
        if retry_after is None:
            return None
        if retry_after.isdigit():
            return int(retry_after) * 1000 / 1000
        at = post.parsedate_to_datetime(retry_after)
        return at.timestamp() - now / 1000

    def sent(self: Any, _endpoint: Any, requests: Any, number: int, now: int, send: Any) -> Any:
        parsed = parse_target(_endpoint.url, allow_loopback=True)
        return send(post.Post(parsed, *requests.message(number, now)), now)

    return [(post, "_seconds_until", seconds_until), (Dispatcher, "_post", sent)]


def _stranger_in_the_way() -> list[Change]:
    def new_mailed_link(self: Any, person: Any, browser: str, now: int, *, is_known: bool = False) -> str | None:
        token = new_token()

        def add(found: Any) -> Any:
            mailed = [one for one in found.links if one.person == person and one.browser is not None]
            if any(now - MAIL_PAUSE_MS < one.made_at for one in mailed):
                return found, None
            return replace(found, links=(*found.links, SignInLink(_hash(token), person, now, _hash(browser)))), token

        made: str | None = self._edit(now, add)
        return made

    return [(SignIns, "new_mailed_link", new_mailed_link)]


def _one_holder() -> list[Change]:
    return [(election, "_holder", lambda path: "host-0")]


def _retention_postponed() -> list[Change]:
    write = StoredViews.write

    def written(self: Any, segments: Any, now: int, file_ms: int, *, flush: bool = False) -> Any:
        done = write(self, segments, now, file_ms, flush=flush)
        if done.filed or done.counted:
            self._pruned_day = now // 86_400_000
        return done

    return [
        (StoredViews, "write", written),
        (StoredViews, "drop_old_rows", lambda self, days, now: None),
    ]


def _claim_forgotten() -> list[Change]:
    rows_key, numbers = stored_views.rows_key, count()

    def another(workspace: str, day: int, number: int) -> str:
        return rows_key(workspace, day, 1000 * number + next(numbers))

    return [(stored_views, "rows_key", another)]


@contextmanager
def _no_lease(*_: Any) -> Iterator[Callable[[], None]]:
    yield lambda: None


def _nothing_leased() -> list[Change]:
    return [(module, "leased_assets", _no_lease) for module in (carrying, restoring, store)]


def _marks_go_at_once() -> list[Change]:
    return [(pruning, "GONE_SECONDS", -3600.0)]


def _sealed_unsynced() -> list[Change]:
    return [(spool, "sync_content", lambda _path: None)]


def _place_comes_back() -> list[Change]:
    return [(spooled, "remove_worker", lambda views, worker: shutil.rmtree(views / spool.SPOOL / worker))]


def _restore_unleased() -> list[Change]:
    return [(restoring, "leased_assets", _no_lease)]


def _drops_unseen() -> list[Change]:
    def drop_damaged(objects: Any, manifest: Any) -> None:
        folder = carrying.version_folder(manifest.workspace.id, manifest.version)
        found = list(verification._touched(objects, manifest, carrying.listed_objects(objects, manifest)))
        objects.delete(key for key, _ in found if not key.startswith(f"{folder}/"))

    return [(store, "drop_damaged", drop_damaged)]


def _pins_outlive() -> list[Change]:
    return [(KeptVersions, "drop_pruned", lambda self: None)]


def _no_reserve() -> list[Change]:
    return [(DirectoryObjects, "with_reserve", lambda self: self)]


def _linked_by_less() -> list[Change]:
    return [(file_plans, "stored_form", lambda _fields: ())]


FAULTS: dict[str, Fault] = {
    "revocation-undone": Fault(
        "a change of a key beside another one writes what the first try made",
        _revocation_undone,
        {**QUIET, "meets": True},
        seed=10,
    ),
    "first-result": Fault(
        "an edit returns the result of its first try, not of the one stored", _first_result, {**QUIET, "meets": True}
    ),
    "full-disk": Fault(
        "keys are not followed on a full disk, and nobody is told", _full_disk_tells_nobody, {**QUIET, "full": 1.0}
    ),
    "round-ends": Fault(
        "a workspace that cannot be looked at ends the round for those behind it",
        _one_ends_the_round,
        {**QUIET, "refused": 1.0},
        seed=11,
    ),
    "rollback-by-clock": Fault(
        "which of two versions was first is told by their names", _going_back_by_names, {**QUIET, "receivers": 1}
    ),
    "outcome-uncaught": Fault(
        "what a receiver answers is not always an outcome",
        _outcome_uncaught,
        {**QUIET, "bad": 1.0, "receivers": 2},
        seed=2,
    ),
    "stranger": Fault("anybody's request for a link counts against the member's own", _stranger_in_the_way, QUIET),
    "one-holder": Fault(
        "two machines of one name both hold the lease",
        _one_holder,
        {**QUIET, "is_calm": True, "readers": 2, "receivers": 2},
    ),
    "prune-under-push": Fault(
        "a prune deletes what a version on its way needs",
        _nothing_leased,
        {**QUIET, "meets": True},
        seed=13,
    ),
    "marks-go-at-once": Fault(
        "a version counts as gone for good while a request of before may still store its manifest, or delete it",
        _marks_go_at_once,
        {**QUIET, "meets": True, "stewards": True, "late": 0.05},
        seed=27,
    ),
    "sealed-unsynced": Fault(
        "views of a worker that was killed are sealed without bringing them to the disk",
        _sealed_unsynced,
        {**QUIET, "death": 0.001, "cut": 1.0},
        seed=13,
    ),
    "place-comes-back": Fault(
        "the place of a worker that is gone comes back after a power cut, and its views count twice",
        _place_comes_back,
        {**QUIET, "death": 0.001, "cut": 1.0},
        seed=40,
    ),
    "prune-under-restore": Fault(
        "a prune deletes what a backup that is being restored needs",
        _restore_unleased,
        {**QUIET, "meets": True, "stewards": True},
    ),
    "damage-under-push": Fault(
        "whoever mends a version deletes what another one has just brought",
        _drops_unseen,
        {**QUIET, "meets": True, "stewards": True},
        seed=9,
    ),
    "linked-by-less": Fault(
        "a build takes data files of the version before that another definition made",
        _linked_by_less,
        {**QUIET, "is_calm": True, "opens": True},
    ),
    "pins-outlive": Fault("versions that were deleted stay open for pins", _pins_outlive, QUIET, seed=2),
    "no-reserve": Fault(
        "a full disk keeps rights from being taken away",
        _no_reserve,
        {**QUIET, "directory": True, "full": 1.0},
    ),
    "retention": Fault(
        "old rows of page views stay as long as new ones come", _retention_postponed, {**QUIET, "nights": 12}
    ),
    "rows-twice": Fault(
        "rows whose claim was not finished are written again, beside those that are there",
        _claim_forgotten,
        {**QUIET, "lost_answer": 0.05, "death": 0.0005},
        seed=4,
    ),
    **OUTSIDE,
    **PUBLISHED,
    **GROWTH,
}
