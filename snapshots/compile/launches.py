"""Launches: the instant that ``launch`` in an entry stands for, and the stragglers of a launch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import tzinfo
from typing import Final

from snapshots.compile.dates import Wrong
from snapshots.compile.values import described
from snapshots.definitions.names import nearest
from snapshots.documents.document import ContentDocument, RawValue, is_missing
from snapshots.documents.expressions import FileFacts, parse_expression
from snapshots.model import Status
from snapshots.shown_times import how_much_later, shown_time

LAUNCH: Final = "launch"
"""The key by which a language version joins a launch, and the kind of an error in it."""
STRAGGLER: Final = "straggler"
"""The kind of the problem of a version that names a launch and does not go live with it."""


class Launches:
    """Reads the launches that one API's documents name."""

    def __init__(
        self,
        instants: Mapping[str, int],
        meta: Mapping[str, str],
        read_otherwise: Collection[str],
        zone: tzinfo,
        languages: tuple[str, ...],
    ) -> None:
        """``instants`` are the launches of the workspace, UTC milliseconds by name; ``read_otherwise`` the keys that
        something else reads. The key ``launch`` means a launch where there are any and nothing else reads it, or where
        ``meta`` says so."""
        implied = LAUNCH if instants and LAUNCH not in read_otherwise else ""
        self.expression = parse_expression(meta.get(LAUNCH, implied), languages=languages)
        self._instants = instants
        self._zone = zone

    def named(self, document: ContentDocument, file_facts: FileFacts, wrong: Wrong) -> tuple[str | None, bool]:
        """Return the launch that a document names, ``None`` for none, and whether what it says is right; ``wrong`` is
        called for a launch that the workspace does not have."""
        written = self.expression.read(document, file_facts)
        if is_missing(written):
            return None, True
        if isinstance(written, str) and written in self._instants:
            return str(written), True
        wrong(LAUNCH, self.expression.key, self._unknown(written), LAUNCH)
        return None, False

    def join(
        self, name: str, status: Status, start: int | None, *, is_draft: bool
    ) -> tuple[Status, int | None, str | None]:
        """Return the status and the publish start (UTC milliseconds) of a version that names a launch, and the message
        about a straggler.

        Status and start are those of the launch, unless the version is a draft or has a publish start of its own: a
        straggler keeps what it has.
        """
        at = self._instants[name]
        launch = f"the launch {name!r} ({shown_time(at, self._zone)}, {self._zone})"
        apart = f"or take {self.expression.key!r} out of the file"
        if is_draft or status is Status.DRAFT:
            message = f"a draft does not go live with {launch}: publish it, {apart}"
        elif start is None:
            return Status.SCHEDULED, at, None
        elif start == at:
            message = (
                f"publishStart is the instant of {launch}, but takes precedence, and stays where it is when the "
                f"launch is moved: remove publishStart, {apart}"
            )
        else:
            message = (
                f"publishStart takes precedence: it goes live on {shown_time(start, self._zone)}, "
                f"{how_much_later(at, start, self._zone)} than {launch}. Remove publishStart, {apart}"
            )
        return status, start, message

    def _unknown(self, written: RawValue) -> str:
        otherwise = (
            f"If {self.expression.key} means something else here, write 'meta: {{launch: null}}' in the definition"
        )
        if not self._instants:
            return f"workspace.yaml has no launches: write 'launches: {{spring: 2027-03-01T09:00}}' there. {otherwise}"
        known = f"The launches are {', '.join(self._instants)}. {otherwise}"
        if not isinstance(written, str):
            return f"expected the name of a launch, got {described(written)}. {known}"
        near = nearest(written, self._instants)
        return f"workspace.yaml has no launch {written!r}{near or '.'} {known}"
