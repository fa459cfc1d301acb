"""``cms draft``: the versions with unpublished changes, and the URLs that preview them."""

from __future__ import annotations

from cli.location import Place, begin_store, find_place
from cli.options import Json, PublicUrl, StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from snapshots.times import now_ms

app = new_app("Preview unpublished changes: draft keys and URLs.")


@app.command("list")
def list_drafts(
    public_url: PublicUrl = "http://127.0.0.1:8787",
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """List every language version with unpublished changes.

    Each has the URL that shows it as JSON, which also needs an API key, and, if the API has a preview_url, the page of
    the site that shows it.
    """
    from engine.access.drafts.listing import drafts
    from engine.access.keys.access import AccessFile

    place = find_place(store, workspace_id)
    version = place.current_version()
    manifest = place.inside.manifest(version)
    access = AccessFile(place.inside).read()
    found = list(drafts(place.inside.bring(version), manifest, access.draft_secret if access else None))
    base = f"{public_url.rstrip('/')}/v1/{place.inside.id}"
    urls = [f"{base}/{one.path(manifest.workspace.main_language)}" if one.key else None for one in found]
    if json:
        documents.write_json(
            [
                {
                    "api": one.api.endpoint,
                    "id": one.entry,
                    "lang": one.lang,
                    "draftKey": one.key,
                    "derived": one.derived,
                    "url": url,
                    "previewUrl": one.page(),
                }
                for one, url in zip(found, urls, strict=True)
            ]
        )
        return
    if not found:
        lines.message(f'No language version of workspace "{place.inside.id}" has unpublished changes.')
    for one, url in zip(found, urls, strict=True):
        lines.answer(f"{one.api.endpoint} / {one.entry} ({one.lang})", style="bold")
        page = one.page()
        if page is not None:
            lines.answer(f"  {page}")
        lines.answer(f"  {url or 'no draft key yet'}", style="" if page is None else "dim")
    if None in urls:
        lines.message("Draft keys come with the first API key: `cms key create NAME` issues one.")


@app.command()
def rotate(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Change every draft key made by Parquetry, ending old preview URLs.

    Draft keys written in content files stay as they are.
    """
    from engine.administration.administrator import operator
    from engine.administration.keys import exchange_draft_secret

    place = find_place(store, workspace_id)
    begin_store(place.store)
    exchange_draft_secret(operator(place.inside, now_ms()))
    if json:
        documents.write_json({"workspace": place.inside.id, "rotated": True})
    else:
        lines.answer(f'Every draft key made for workspace "{place.inside.id}" has changed.{_hint(place)}')


def _hint(place: Place) -> str:
    return " `cms draft list` shows them." if place.inside.current() else ""
