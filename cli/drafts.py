"""``cms draft``: the versions with unpublished changes, and the URLs that preview them."""

from __future__ import annotations

from cli import output
from cli.location import Place, begin_store, find_place
from cli.options import Json, PublicUrl, StoreLocation, WorkspaceId, new_app

app = new_app("Preview unpublished changes: draft keys and URLs.")


@app.command("list")
def list_drafts(
    public_url: PublicUrl = "http://127.0.0.1:8787",
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """List every version with unpublished changes.

    Each with the page of the site that shows it, where the API has a preview_url, and with the URL that programs ask,
    which needs an API key too.
    """
    from engine.drafts.listing import drafts
    from engine.keys.access import AccessFile

    place = find_place(store, workspace_id)
    version = place.current_version()
    manifest = place.inside.manifest(version)
    access = AccessFile(place.inside.directory).read()
    found = list(drafts(place.inside.snapshots / version, manifest, access.draft_secret if access else None))
    base = f"{public_url.rstrip('/')}/v1/{place.inside.id}"
    urls = [f"{base}/{one.path(manifest.workspace.main_language)}" if one.key else None for one in found]
    if json:
        output.write_json(
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
        output.message(f'No version of workspace "{place.inside.id}" has unpublished changes.')
    for one, url in zip(found, urls, strict=True):
        output.answer(f"{one.api.endpoint} / {one.entry} ({one.lang})", style="bold")
        page = one.page()
        if page is not None:
            output.answer(f"  {page}")
        output.answer(f"  {url or 'no draft key yet'}", style="" if page is None else "dim")
    if None in urls:
        output.message("Draft keys come with the first API key: `cms key create NAME` issues one.")


@app.command()
def rotate(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Change every derived draft key, so that old preview URLs end.

    Draft keys that a content file gives itself stay as they are.
    """
    from engine.keys.access import AccessFile, new_draft_secret

    place = find_place(store, workspace_id)
    begin_store(place.store)
    new_draft_secret(AccessFile(place.inside.directory))
    if json:
        output.write_json({"workspace": place.inside.id, "rotated": True})
    else:
        output.answer(f'Every derived draft key of workspace "{place.inside.id}" is another one now.{_hint(place)}')


def _hint(place: Place) -> str:
    return " `cms draft list` shows them." if place.inside.current() else ""
