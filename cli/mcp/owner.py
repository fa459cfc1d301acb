"""What the owner of a store may know of its workspace: schedules, page views and the problems of its files."""

from __future__ import annotations

from contextlib import closing
from typing import Any, Final

from cli.location import ChosenWorkspace, usable_cache
from cli.mcp.content import NotThere
from cli.output.problems import problem_documents
from snapshots.model import NEVER
from snapshots.times import format_datetime, now_ms

MOST_PROBLEMS: Final = 100


class StoreOwner:
    """The owner's view of a workspace in a store."""

    def __init__(self, chosen: ChosenWorkspace) -> None:
        self._chosen = chosen

    @property
    def has_files(self) -> bool:
        """Whether the workspace's files are there: the command runs in its directory."""
        return self._chosen.directory is not None

    def scheduled(self, api: str | None, limit: int) -> dict[str, Any]:
        """Return what goes live and ends next in the current version, by instant, with titles."""
        from engine.read.all_versions.all_versions import AllVersions
        from engine.read.all_versions.flip_titles import by_instant, flip_titles
        from engine.read.reader.data_files import DataFiles
        from engine.timeline.timeline import Timeline

        workspace_store, now = self._chosen.workspace_store, now_ms()
        manifest = workspace_store.manifest(self._chosen.current_version())
        if api is not None and manifest.workspace.api(api) is None:
            there = ", ".join(one.endpoint for one in manifest.workspace.apis)
            raise NotThere(f'api: the workspace has no API "{api}". There are: {there}.')
        apis = None if api is None else (api,)
        found = Timeline(workspace_store, manifest).schedule(now + 1, NEVER, most=limit, apis=apis)
        with closing(DataFiles(self._chosen.store.root)) as files:
            titles = flip_titles(AllVersions(files, workspace_store, manifest, None), found.flips, now)
        instants = [
            {
                "at": format_datetime(at),
                "what": "goes live" if live else "ends",
                "entries": [
                    {"api": one.api, "id": one.entry, "lang": one.lang, "title": titles[one.api, one.lang, one.entry]}
                    for one in flips
                ],
            }
            for at, live, flips in by_instant(found.flips)
        ]
        return {"total": found.total, "timezone": manifest.workspace.timezone, "next": instants}

    def most_viewed(self, days: int, limit: int) -> dict[str, Any]:
        """Return the most viewed entries and paths of the last days in Japan, today included."""
        from cli.views.chosen_views import views_of_workspace
        from engine.views.collecting.targets import Kind, day_of, jst_day
        from engine.views.counting.ranking import most_viewed

        today = jst_day(now_ms())
        since = today - days + 1
        with views_of_workspace(self._chosen) as chosen:
            ranked = most_viewed(chosen.views, since, today, limit, None)
            titles = chosen.titles([one.key for one in ranked if one.kind is Kind.ENTRY])
        rows = [
            {
                "kind": one.kind.value,
                "key": one.key,
                **({"title": titles[one.key]} if one.kind is Kind.ENTRY and one.key in titles else {}),
                "views": one.views,
                "allTime": one.total,
            }
            for one in ranked
        ]
        return {"since": str(day_of(since)), "until": str(day_of(today)), "mostViewed": rows}

    def problems(self) -> dict[str, Any]:
        """Return what ``cms check`` says of the workspace's files."""
        from snapshots.build.build import examine

        if self._chosen.directory is None:
            raise NotThere("The workspace's files are not here.")
        with usable_cache(self._chosen.store) as cache:
            found = examine(self._chosen.directory, cache, published=self._chosen.store).problems
        told = problem_documents(found)
        more = {"note": f"These are the first {MOST_PROBLEMS}."} if len(told) > MOST_PROBLEMS else {}
        return {"errors": found.errors, "warnings": found.warnings, "problems": told[:MOST_PROBLEMS], **more}
