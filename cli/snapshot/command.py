"""``cms snapshot``: build, list, show, activate, verify, compare and drop versions."""

from __future__ import annotations

from cli.options import new_app
from cli.snapshot.activation import activate, rollback
from cli.snapshot.building import build
from cli.snapshot.carrying import pull, push
from cli.snapshot.diff import diff
from cli.snapshot.listing import list_versions, show
from cli.snapshot.upkeep import prune, verify

app = new_app("Build and inspect snapshot versions, and make one current.")
app.command()(build)
app.command()(diff)
app.command()(push)
app.command()(pull)
app.command("list")(list_versions)
app.command()(show)
app.command()(activate)
app.command()(rollback)
app.command()(verify)
app.command()(prune)
