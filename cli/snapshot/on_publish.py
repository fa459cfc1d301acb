"""``--on-publish CMD``: a command that is told of a version that was just made current."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cli.output import lines
from snapshots.problems import ParquetryError

if TYPE_CHECKING:
    from snapshots.store.current import Current
    from snapshots.store.store import WorkspaceStore

OnPublish: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--on-publish",
        metavar="CMD",
        help="Run this shell command once another snapshot version is current, with the event as JSON on its input.",
        show_default=False,
    ),
]


def run_on_publish(command: str | None, workspace_store: WorkspaceStore, after: Current, before: str | None) -> None:
    """Run a command in a shell, with the event of the version that was made current on its standard input.

    ``before`` is the version that was current until then. The command's output goes to standard error. That it fails,
    or that the event cannot be made, is a warning: the version is current all the same.
    """
    if command is None:
        return
    from engine.timeline.points import Point
    from engine.webhooks.published import published_event

    try:
        event = published_event(workspace_store, before, Point(after.version, after.activated_at))
    except ParquetryError as error:
        lines.warning(f"--on-publish: the command was not run: {error}")
        return
    # Where another program catches what this one prints, it is to find one JSON document there.
    done = subprocess.run(command, shell=True, input=event, stdout=2, check=False)  # noqa: S602 - as the option says
    if done.returncode:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        lines.warning(f"--on-publish: the command ended with {how}. The snapshot version is current all the same.")
