"""The form in which the language versions of an API are compared: as a build has checked them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from snapshots.model import Api


class CheckedVersions(Protocol):
    """The versions of one API: one at most of an entry in a language, and a draft beside it."""

    @property
    def api(self) -> Api:
        """Return the API."""

    @property
    def index(self) -> pa.Table:
        """Return a row for each version, with ``file``, ``line``, ``item``, ``lang``, ``state``, ``id``, ``digest``,
        and the ``number`` of its entry."""

    @property
    def references(self) -> pa.Table:
        """Return a row for each reference, with ``file``, ``line``, ``item``, ``lang``, ``field``, ``target``,
        and the ``number`` of the entry that it leads to."""

    @property
    def files(self) -> Sequence[str]:
        """Return the paths of the files, by the numbers in ``file``."""

    @property
    def firsts(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return a row of each entry."""

    @property
    def entries(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the position in ``firsts`` of each version's entry."""
