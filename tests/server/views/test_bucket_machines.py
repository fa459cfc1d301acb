"""Servers of several machines over one bucket: every way of asking says the same everywhere, also after a kill."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.access.keys.keys import Key
from engine.access.keys.last_use import last_uses
from engine.views.gathering.layout import LEASE
from snapshots.store.locations import open_objects
from snapshots.store.objects import Objects
from snapshots.times import now_ms
from tests.servers.tcp_proxy import tcp_proxy
from tests.sites.bucket_site import BucketSite, serving_bucket
from tests.sites.served_site import Running, eventually
from tests.sites.viewed_site import DOMAINS, post, total
from tests.stores.object_stores import ObjectStore, object_store

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'parquetry[objects]'")
pytestmark = pytest.mark.slow
EVERYWHERE = 60.0
"""Seconds within which a count is on every machine (decision 62)."""
BEHIND_A_PROXY = {"CMS_TRUSTED_PROXIES": "127.0.0.1"}
WORKSPACES = 10


@pytest.fixture
def store() -> Iterator[ObjectStore]:
    with object_store("moto") as running, pytest.MonkeyPatch.context() as patch:
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield running


def told(server: Running, key: str) -> tuple[int, int, list[str]]:
    """What a machine says of an entry: in public, for a key, and in the order of views."""
    views = server.get(f"/v1/acme/_views/posts?ids={key}").json["views"][key]["total"]
    listed = [entry["id"] for entry in server.get("/v1/acme/posts?orders=-views").json["contents"]]
    return total(server, "entries", key), views, listed


def counting_site(directory: Path, objects: Objects, workspace: str = "acme") -> tuple[BucketSite, Key, str]:
    """A site in the bucket that counts views, with a key: (the site, the key, its text)."""
    directory.mkdir()
    site = BucketSite(directory, objects, workspace)
    with (site.source / "workspace.yaml").open("a") as file:
        file.write(DOMAINS)
    site.release("one")
    return (site, *site.released_key())


def test_counts_agree_on_all_machines_and_no_acknowledged_view_is_lost(tmp_path: Path, store: ObjectStore) -> None:
    place = store.place()
    _, _, key = counting_site(tmp_path / "source", open_objects(place))
    with ExitStack() as stack:
        machines = [
            stack.enter_context(serving_bucket(place, tmp_path / f"machine-{number}", new_group=True, **BEHIND_A_PROXY))
            for number in range(3)
        ]
        for machine in machines:
            machine.headers["X-API-KEY"] = key
            eventually(lambda machine=machine: machine.get("/readyz").status == 200)
        for number, machine in enumerate(machines):
            for visitor in range(10):
                body = {"path": "/a", "entryId": "post-1"}
                assert post(machine, body, visitor=f"10.0.{number}.{visitor}").status == 204
        began = time.monotonic()
        for machine in machines:
            eventually(lambda machine=machine: told(machine, "post-1")[0] == 30, within=EVERYWHERE)
        print(f"30 views were on all machines after {time.monotonic() - began:.1f} s")
        for machine in machines:
            counted, views, listed = told(machine, "post-1")
            assert (counted, views, listed[0]) == (30, 30, "post-1")
        # What is acknowledged is on the disk of a machine that is killed, and arrives when it is back.
        for visitor in range(10):
            assert post(machines[0], {"path": "/b"}, visitor=f"10.1.0.{visitor}").status == 204
        os.killpg(machines[0].process.pid, signal.SIGKILL)
        again = stack.enter_context(serving_bucket(place, tmp_path / "machine-0", **BEHIND_A_PROXY))
        eventually(lambda: total(machines[1], "paths", "/b") == 10, within=2 * EVERYWHERE)
        eventually(lambda: total(again, "paths", "/b") == 10, within=EVERYWHERE)
        assert total(machines[2], "entries", "post-1") == 30


def test_counts_are_not_late_when_the_machine_that_writes_them_is_killed(tmp_path: Path, store: ObjectStore) -> None:
    place = store.place()
    objects = open_objects(place)
    counting_site(tmp_path / "source", objects)

    def lease() -> bytes | None:
        found = objects.read(LEASE)
        return None if found is None else found.data

    with ExitStack() as stack:
        writer = stack.enter_context(serving_bucket(place, tmp_path / "writer", new_group=True, **BEHIND_A_PROXY))
        eventually(lambda: lease() is not None, within=EVERYWHERE)
        others = [
            stack.enter_context(serving_bucket(place, tmp_path / f"machine-{number}", **BEHIND_A_PROXY))
            for number in range(2)
        ]
        for machine in others:
            eventually(lambda machine=machine: machine.get("/readyz").status == 200)
        for turn in range(1, 4):
            taken = lease()
            eventually(lambda taken=taken: lease() != taken, within=EVERYWHERE)  # for as long as possible, then
            if turn == 1:
                os.killpg(writer.process.pid, signal.SIGKILL)
            began = time.monotonic()
            for number, machine in enumerate(others):
                for visitor in range(10):
                    path = {"path": f"/{turn}"}
                    assert post(machine, path, visitor=f"10.{turn}.{number}.{visitor}").status == 204
            for machine in others:
                eventually(
                    lambda machine=machine, turn=turn: total(machine, "paths", f"/{turn}") == 20, within=EVERYWHERE
                )
            print(f"\nround {turn}: on all machines after {time.monotonic() - began:.1f} s")


def test_counts_and_last_uses_of_many_workspaces_are_not_late(tmp_path: Path, store: ObjectStore) -> None:
    place = store.place()
    objects = open_objects(place)
    names = [f"w{number}" for number in range(WORKSPACES)]
    keys = {name: counting_site(tmp_path / name, objects, name)[1:] for name in names}
    with tcp_proxy(store.port) as proxy, ExitStack() as stack:
        through = place.replace(f":{store.port}/", f":{proxy.port}/")
        machines = [
            stack.enter_context(serving_bucket(url, tmp_path / f"machine-{number}", **BEHIND_A_PROXY))
            for number, url in enumerate((through, place))
        ]
        for name, (_, text) in keys.items():
            for machine in machines:
                asked = f"/v1/{name}/posts"
                eventually(lambda m=machine, a=asked, t=text: m.get(a, headers={"X-API-KEY": t}).status == 200)
        time.sleep(EVERYWHERE)  # what is counted of requests is not the start's
        proxy.requests.clear()
        began, began_at = time.monotonic(), now_ms()
        for name, (_, text) in keys.items():
            for number, machine in enumerate(machines):
                assert machine.get(f"/v1/{name}/posts", headers={"X-API-KEY": text}).status == 200
                assert post(machine, {"path": "/a"}, visitor=f"10.0.0.{number}", workspace=name).status == 204

        def is_everywhere(name: str) -> bool:
            used = last_uses(objects, name).get(keys[name][0].id, 0) >= began_at
            return used and all(
                machine.get(f"/pv/{name}/counts?path=/a").json["paths"]["/a"] == 2 for machine in machines
            )

        eventually(lambda: all(map(is_everywhere, names)), within=EVERYWHERE)
        print(f"\n{WORKSPACES} workspaces: counts and last uses were everywhere after {time.monotonic() - began:.1f} s")
        time.sleep(max(0.0, began + EVERYWHERE - time.monotonic()))
        print(f"{proxy.requests.total()} requests of one machine in that minute")
