"""A receiver that keeps a copy takes what an event names from the list of then, and so holds what the list holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulation.ledger import Violated
from tests.simulation.published.content import ENTRIES, milliseconds

if TYPE_CHECKING:
    from tests.simulation.below.receivers import Receiver
    from tests.simulation.world import World

_JUST_NOW = 10_000
"""Milliseconds within which a flip may not have been told yet."""


def check_copy(world: World, receiver: Receiver, current: str) -> None:
    """Hold at the end that the copy of a receiver which was told everything is the list. Raises ``Violated``."""
    versions = world.template.versions[receiver.workspace]
    held: dict[tuple[str, str], str | None] = {}
    for event in receiver.accepted:
        if event["type"] != "content.changed":
            continue
        number = versions.index(event["data"]["snapshot"].partition("@")[0])
        marks = {(one.id, one.lang): one.mark(number) for one in ENTRIES if not one.is_draft}
        if event["data"].get("truncated"):  # the client begins anew
            held = dict(_listed(number, milliseconds(event["data"]["at"])))
        for change in event["data"]["changes"]:
            name = change["id"], change["lang"]
            held[name] = None if change["change"] == "unpublished" else marks[name]
    before, now = (_listed(versions.index(current), world.wall_ms() - ago) for ago in (_JUST_NOW, 0))
    if before == now and {name: mark for name, mark in held.items() if mark is not None} != now:
        raise Violated(f"{receiver.host} has {held}, by all that it was told, and the list is {now}")


def _listed(number: int, at: int) -> dict[tuple[str, str], str]:
    return {(one.id, one.lang): one.mark(number) for one in ENTRIES if one.is_public(at)}
