"""Read the launches of ``workspace.yaml``: names of instants at which entries go live together."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from snapshots.documents.document import ContentDocument
from snapshots.local_times import DOUBTFUL_TIME, doubtful_time
from snapshots.model import ALWAYS
from snapshots.problems import Problems
from snapshots.times import parse_written_datetime


def read_launches(
    file: str, document: ContentDocument, written: Mapping[str, str], zone: tzinfo, problems: Problems
) -> dict[str, int]:
    """Return the instant of each launch, UTC milliseconds, by name; a time without an offset is in ``zone``.

    A wrong time is reported, and its launch stays known, so that the entries in it are not reported too.
    """
    found = {}
    for name, text in written.items():
        line = document.line_of("launches", name)
        try:
            found[name] = parse_written_datetime(text, zone)
        except ValueError as error:
            found[name] = ALWAYS
            problems.error(file, line, "definition", f"launches.{name}: {error}")
            continue
        doubt = doubtful_time(text, zone)
        if doubt is not None:
            problems.warning(file, line, DOUBTFUL_TIME, f"launches.{name}: {doubt}")
    return found
