"""``cms adopt``: what is left to do once definitions are written for a site."""

from __future__ import annotations

from cli.adopt.compare import compare
from cli.options import new_app

app = new_app("Compare a workspace with the site that it was made of.")
app.command()(compare)


@app.callback()
def adopt() -> None:
    """Compare a workspace with the site that it was made of."""  # without this, Typer makes one command of the group
