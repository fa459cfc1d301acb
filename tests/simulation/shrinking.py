"""Make a failing history shorter: leave decisions out as long as the same thing still fails (delta debugging)."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def shortest(decisions: Sequence[str], fails: Callable[[Sequence[str]], bool], tries: int) -> list[str]:
    """Return decisions with which it still fails, of which no part can be left out, as far as ``tries`` tell."""
    kept, parts = list(decisions), 2
    while len(kept) >= 1 and tries > 0:
        size = max(1, len(kept) // parts)
        for begin in range(0, len(kept), size):
            fewer = kept[:begin] + kept[begin + size :]
            tries -= 1
            if fails(fewer):
                kept, parts = fewer, max(2, parts - 1)
                break
            if tries <= 0:
                return kept
        else:
            if size == 1:
                break
            parts = min(len(kept), 2 * parts)
    return kept
