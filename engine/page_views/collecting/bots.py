"""Whether a User-Agent is a bot's: the list of crawler-user-agents, and what no browser would send."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final

LONGEST: Final = 1024
"""Characters; browsers stay well below 400."""

# Libraries that the list leaves out, and any agent that does not begin as every browser's has since 1994, but Opera's.
_LIBRARY: Final = re.compile(r"^(?:Java|undici|node|Dart|Ruby|PHP|Apache-HttpClient|axios|got|Deno|Bun)\b")
_PLAIN: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])+")
"""An expression that is a text, with a backslash before some of its characters."""
_INDEXED: Final = 3
"""Characters by which a text is looked for."""


def is_bot(user_agent: bytes) -> bool:
    """Whether no person is behind a User-Agent as sent: it is empty, too long, a library's, or a known crawler's.

    A first look takes some 0.1 ms, and at most 1 to 2, every other one that is still remembered a fraction of a
    microsecond.
    """
    return len(user_agent) > LONGEST or _is_bot(user_agent)


def read_list() -> None:
    """Read the list of bots, which takes 100 ms, so that no first look at a User-Agent does."""
    _listed()


@lru_cache(maxsize=4096)
def _is_bot(user_agent: bytes) -> bool:
    text = user_agent.decode("latin-1")
    return not text.strip() or _LIBRARY.match(text) is not None or _listed().match(text)


class _Expressions:
    """Regular expressions, any of which is to be found in a text: nearly all are plain texts themselves.

    Those are looked for all at once, where one regular expression after the other takes 2 to 40 ms for a text that is
    made for it.
    """

    def __init__(self, expressions: Iterable[str]) -> None:
        self._plain: dict[str, tuple[str, ...]] = {}
        others = []
        for expression in expressions:
            text = re.sub(r"\\(.)", r"\1", expression)
            if _PLAIN.fullmatch(expression) and len(text) >= _INDEXED:
                begin = text[:_INDEXED]
                self._plain[begin] = (*self._plain.get(begin, ()), text)
            else:
                others.append(expression)
        self._others = re.compile("|".join(f"(?:{expression})" for expression in others))

    def match(self, text: str) -> bool:
        plain = self._plain
        for at in range(len(text) - _INDEXED + 1):
            found = plain.get(text[at : at + _INDEXED])
            if found is not None and text.startswith(found, at):
                return True
        return self._others.search(text) is not None


@cache
def _listed() -> _Expressions:
    from crawleruseragents import CRAWLER_USER_AGENTS_DATA  # noqa: PLC0415 - 30 ms, at the first view only

    return _Expressions(crawler["pattern"] for crawler in CRAWLER_USER_AGENTS_DATA)
