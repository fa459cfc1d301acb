"""The parts of a workspace's console, each with its tab and its pages; the tabs that a person sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from server.console.visit import Outcome, Visit
from snapshots.problems import ParquetryError


class ConsolePage(msgspec.Struct, frozen=True):
    """A page of a workspace."""

    path: str
    """Below the workspace; ``{names}`` stand for one segment each."""
    answer: Callable[[Visit], Outcome]
    manages: bool = False
    """Whether only owners and maintainers may ask for it."""
    methods: tuple[str, ...] = ("GET", "HEAD")
    waits: bool = False
    """Whether its answer waits for another program, so that other pages must not wait for it."""


class ConsoleSection(msgspec.Struct, frozen=True):
    """A part of the console: a tab, which leads to the first page, and the pages on which it is the current one."""

    label: str
    pages: tuple[ConsolePage, ...]
    is_set_up: Callable[[Visit], object] = lambda _: True
    """Whether there is anything to see, so that other pages show the tab."""


class Tab(msgspec.Struct, frozen=True):
    """A link of the navigation."""

    label: str
    segments: tuple[str, ...]
    is_current: bool


def navigation(visit: Visit, sections: Iterable[ConsoleSection], current: ConsoleSection) -> list[Tab]:
    """Return the tabs that a person sees, with that of the ``current`` section marked."""
    tabs = []
    for section in sections:
        first = section.pages[0]
        if (visit.role.manages or not first.manages) and (section is current or _is_set_up(visit, section)):
            segments = (visit.workspace.id, *first.path.split("/")[1:])
            tabs.append(Tab(section.label, segments, section is current))
    return tabs


def _is_set_up(visit: Visit, section: ConsoleSection) -> bool:
    try:
        return bool(section.is_set_up(visit))
    except ParquetryError:  # the tab's page says what is wrong
        return True
