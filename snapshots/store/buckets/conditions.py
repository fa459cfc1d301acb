"""Whether an object store keeps to conditional writes: servers exist that accept them and write all the same."""

from __future__ import annotations

import secrets
from typing import Protocol

import msgspec

from snapshots.store.objects import ABSENT, Conflict, Expected


class Replace(Protocol):
    """Replaces the tried object under a condition, as ``Objects.replace``."""

    def __call__(self, data: bytes, expected: str | Expected, *, quoted: bool) -> str:
        """Send ETags as the store gave them where ``quoted``, else without the quotes."""
        ...


class Conditions(msgspec.Struct, frozen=True):
    """How a store treats conditions."""

    refuses_second_creation: bool
    accepts_its_tag: bool
    refuses_stale_tag: bool
    quoted: bool
    """Whether tags are sent back in quotes, as HTTP has it; Ceph 16 knows them without only."""

    @property
    def kept(self) -> bool:
        """Return whether compare-and-set works, so that two writers cannot undo each other's changes."""
        return self.refuses_second_creation and self.accepts_its_tag and self.refuses_stale_tag

    @property
    def fault(self) -> str:
        """The first thing the store does wrong, to follow its name in a sentence."""
        if not self.refuses_second_creation:
            return "creates an object although it is there already"
        if not self.accepts_its_tag:
            return "refuses to replace an object under the condition that it is unchanged"
        return "replaces an object although it has been changed meanwhile"


def try_conditions(replace: Replace) -> Conditions:
    """Write a new object four or five times, some of them as a late writer would; return what the store made of it."""

    def refused(expected: str | Expected, *, quoted: bool) -> bool:
        try:
            replace(secrets.token_bytes(16), expected, quoted=quoted)
        except Conflict:
            return True
        return False

    stale = replace(secrets.token_bytes(16), ABSENT, quoted=True)
    second = refused(ABSENT, quoted=True)
    # Where creation wrote in spite of the condition, the tag is an old one by now, and its refusal means nothing.
    quoted = next((form for form in (True, False) if not refused(stale, quoted=form)), None)
    return Conditions(
        refuses_second_creation=second,
        accepts_its_tag=quoted is not None,
        refuses_stale_tag=refused(stale, quoted=quoted is not False),
        quoted=quoted is not False,
    )
