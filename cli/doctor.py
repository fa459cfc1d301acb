"""``cms doctor``: what is wrong with an installation, why that matters, and the command that mends it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from cli.location import nearest_workspace, store_at
from cli.options import Json, StoreLocation, new_app
from cli.output import documents, lines, wording
from snapshots.times import now_ms

app = new_app()


@app.command()
def doctor(
    store: StoreLocation = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            "--prometheus",
            envvar="CMS_PROMETHEUS",
            metavar="URL",
            help="The Prometheus that has the alerts. Default: one on this machine.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Find what is wrong with an installation.

    Looks at owners and rights, git, the clock, room on the disk and what will grow, the proxy, alerts, the newest
    backup, and versions. Run it as the user of the server, with its settings in the environment. Each finding says what
    is wrong, why that matters, and the command that mends it. The exit status is 1 if something is wrong, and 0 if
    there are only hints.
    """
    from server.doctor.examination import LOOKS, examined
    from server.doctor.finding import Case
    from server.settings import read_settings

    opened = store_at(store, nearest_workspace())
    settings = read_settings({"store": opened.location if store is None else store})
    case = Case(settings, settings.open_shared_store(), dict(os.environ), nearest_workspace(), prometheus, now_ms())
    found = sorted(examined(case), key=lambda one: not one.is_wrong)
    wrong = [one for one in found if one.is_wrong]
    if json:
        documents.write_json(
            {
                "store": opened.location,
                "ok": not wrong,
                "looks": list(LOOKS),
                "findings": [
                    {
                        "subject": one.subject,
                        "severity": "problem" if one.is_wrong else "hint",
                        "what": one.what,
                        "why": one.why,
                        "command": one.command,
                    }
                    for one in found
                ],
            }
        )
    else:
        for one in found:
            lines.answer(f"{one.subject}: {one.what}", style="bold red" if one.is_wrong else "bold")
            lines.answer(f"  {one.why}")
            lines.copied(f"  $ {one.command}")
        hints = wording.plural(len(found) - len(wrong), "hint")
        lines.answer(
            f"{wording.plural(len(wrong), 'problem')}, {hints}; looked at {', '.join(LOOKS)}."
            if found
            else f"All is well: {', '.join(LOOKS)}."
        )
    if wrong:
        raise typer.Exit(1)
