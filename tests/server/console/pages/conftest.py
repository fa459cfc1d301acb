"""The server whose console the tests of a module look at; each module has a ``site`` of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.console.browsing import console
from tests.sites.served_site import Running, Site


@pytest.fixture(scope="module")
def server(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with console(site, tmp_path_factory.mktemp("log") / "log") as running:
        yield running
