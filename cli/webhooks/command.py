"""``cms webhook``: tell other programs what changed: add receivers, look at them, try them, tell them again."""

from __future__ import annotations

from cli.options import new_app
from cli.webhooks.adding import add, rotate
from cli.webhooks.changing import delete, disable, enable
from cli.webhooks.listing import list_webhooks, show
from cli.webhooks.sending import replay, send_test

app = new_app("Tell other programs what has changed. Add, show and test receivers.")
app.command()(add)
app.command("list")(list_webhooks)
app.command()(show)
app.command("test")(send_test)
app.command()(replay)
app.command()(rotate)
app.command()(disable)
app.command()(enable)
app.command()(delete)
