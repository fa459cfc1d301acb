"""Whatever happens, a receiver that applies the events it gets holds what a list request returns."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.webhooks.histories import History, Pool
from tests.generated.budget import TIMES


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    made = Pool(tmp_path_factory.mktemp("versions"))
    made.fill(9)
    return made


def live_through(pool: Pool, tmp_path: Path, seed: int) -> int:
    """Check one history; return how many events were applied in it."""
    folder = tmp_path / str(seed)
    history = History(pool, folder, seed)
    history.live(60)
    history.settle()
    history.check()
    shutil.rmtree(folder)
    return sum(len(client.points) for client in history.clients.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_receiver_holds_what_lists_return(pool: Pool, tmp_path: Path, seed: int) -> None:
    assert live_through(pool, tmp_path, seed)


@pytest.mark.slow
def test_a_receiver_holds_what_lists_return_after_many_histories(pool: Pool, tmp_path: Path) -> None:
    told = sum(live_through(pool, tmp_path, seed) for seed in range(1000, 1000 + 30 * TIMES))
    assert told > 300 * TIMES
