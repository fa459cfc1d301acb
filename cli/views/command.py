"""``cms views``: the most viewed entries and paths, one of them day by day, and the upkeep of the files."""

from __future__ import annotations

from cli.options import new_app
from cli.views.pull import pull
from cli.views.ranking import show, top
from cli.views.report import report
from cli.views.sql import path, sql
from cli.views.upkeep import flush, rebuild, verify

app = new_app("Show page views, and maintain the files they are kept in.")
app.command()(top)
app.command()(show)
app.command()(report)
app.command()(path)
app.command()(sql)
app.command()(pull)
app.command()(flush)
app.command()(verify)
app.command()(rebuild)
