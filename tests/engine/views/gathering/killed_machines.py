"""Machines as real processes over one bucket: what is acknowledged is printed, and any of them may be killed.

Run with the location of the bucket, the machine's directory, a number for its paths, and the skew of its clock in ms.
It collects views in one thread, a path for each, and sends, writes and pulls in four more, with hardly a pause.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def main(location: str, root: str, name: str, skew: str, seconds: str) -> None:
    """Be a machine for some seconds."""
    import server.background.views.gathering_process as process
    from engine.views.collecting.spool import SpoolWriter, View
    from engine.views.collecting.targets import Kind
    from engine.views.gathering import gathering, sending
    from server.background import election
    from snapshots.store.durable import StoreError
    from snapshots.store.locations import open_objects
    from snapshots.store.store import Store
    from snapshots.times import now_ms

    def now() -> int:
        return now_ms() + int(skew)

    process.now_ms = now
    election.LEASE_MS, election.RENEW_MS, election.RETRY_MS, process.WRITE_MS = 400, 200, 100, 100
    gathering.FILE_MS = 300
    sending.SEND_SECONDS = 0.05
    mirror = Store(Path(root), Path(root, ".cache"))
    workspace = mirror.workspace("acme").directory
    workspace.joinpath("snapshots").mkdir(parents=True, exist_ok=True)
    mirror.cache.mkdir(exist_ok=True)
    objects = open_objects(location)
    elected = election.Election(objects, mirror.cache, now)
    views = process.MachineViews(objects, mirror, None, elected.holds)
    stopping = threading.Event()

    def repeat(step: object, pause: float) -> None:
        while not stopping.wait(pause):
            try:
                step()  # type: ignore[operator]
            except StoreError as error:
                print(error, file=sys.stderr, flush=True)

    for step, pause in ((views.send, 0.05), (elected.renew, 0.05), (views.write, 0.05), (views.pull, 0.2)):
        threading.Thread(target=repeat, args=(step, pause), daemon=True).start()
    spool = SpoolWriter(workspace / "views", now())
    end = time.monotonic() + float(seconds)
    number = 0
    while time.monotonic() < end:
        for _ in range(5):
            number += 1
            spool.append(View(now(), Kind.PATH, f"/{name}/{number}", "acme.example"))
            os.write(1, f"/{name}/{number}\n".encode())
        spool.seal()
        time.sleep(0.02)
    spool.close()
    stopping.set()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(*sys.argv[1:])
