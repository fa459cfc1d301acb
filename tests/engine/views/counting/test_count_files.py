"""The state in a counts file: what another program wrote is read where it can be, and refused by name where not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from engine.views.counting.count_files import FORMAT, CountState, decode_state
from engine.views.counting.count_rows import CountsDamaged

FILE = Path("views/counts/today.parquet")


def written(state: CountState) -> dict[bytes, bytes]:
    return {b"parquetry": msgspec.json.encode(state)}


def test_a_state_is_read_as_it_was_written() -> None:
    state = CountState(through={"worker": 3}, base_day=20_000)
    assert decode_state(written(state), FILE) == state


def test_the_format_of_a_later_program_is_refused() -> None:
    later = msgspec.structs.replace(CountState(), format=FORMAT + 1)
    with pytest.raises(CountsDamaged, match=rf"{FILE}: format {FORMAT + 1} is newer"):
        decode_state(written(later), FILE)


@pytest.mark.parametrize("metadata", [None, {}, {b"parquetry": b"{"}, {b"parquetry": b'{"format": "one"}'}])
def test_what_is_no_state_is_damage(metadata: dict[bytes, bytes] | None) -> None:
    with pytest.raises(CountsDamaged):
        decode_state(metadata, FILE)
