"""The one service all contract cases are sent to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.service import NOW, Service, running


@pytest.fixture(scope="session")
def running_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("contract")) as service:
        yield service


@pytest.fixture
def service(running_service: Service) -> Service:
    """The running service, with its clock at the usual instant."""
    running_service.now = NOW
    return running_service
