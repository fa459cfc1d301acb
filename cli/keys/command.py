"""``cms key``: issue, list, change, disable and delete API keys."""

from __future__ import annotations

from cli.keys.changing import delete, disable, edit, enable
from cli.keys.issuing import create
from cli.keys.listing import list_keys, prefix_of, show
from cli.keys.notices import notify
from cli.options import new_app

app = new_app("Issue, list, change, disable and delete API keys.")
app.command()(create)
app.command("list")(list_keys)
app.command()(show)
app.command("prefix")(prefix_of)
app.command()(edit)
app.command()(disable)
app.command()(enable)
app.command()(notify)
app.command()(delete)
