"""Do the same for many objects, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from snapshots.store.carrying import AT_ONCE

_Item = TypeVar("_Item")


def for_each(work: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Do the work for some items at a time. The first failure is raised, and those not begun by then are left."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        begun = [threads.submit(work, item) for item in items]
        try:
            for each in begun:
                each.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
