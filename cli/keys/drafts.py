"""``cms draft``: the versions with unpublished changes, and the URLs that preview them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

from cli.location import ChosenWorkspace, begin_store, choose_workspace, dev_store, server_address
from cli.options import Json, ServerUrl, StoreLocation, WorkspaceId, new_app
from cli.output import documents, lines
from snapshots.times import now_ms

app = new_app("Preview unpublished changes: draft keys and URLs.")


@app.command("list")
def list_drafts(
    public_url: ServerUrl = None,
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
    json: Json = False,
) -> None:
    """List every language version with unpublished changes.

    Each has the page of the site that shows it, if the API has a preview_url, and a request for its JSON, which also
    needs an API key. While only `cms dev` runs, the drafts are those that it serves, and its addresses of JSON open in
    a browser of this machine without a key.
    """
    from engine.access.keys.access import AccessFile
    from engine.read.all_versions.all_versions import AllVersions
    from engine.read.reader.data_files import DataFiles

    chosen, in_dev = _as_served(choose_workspace(store, workspace_id), public_url)
    manifest = chosen.workspace_store.manifest(chosen.current_version())
    access = AccessFile(chosen.workspace_store).read()
    with closing(DataFiles(chosen.store.root)) as files:
        found = AllVersions(files, chosen.workspace_store, manifest, access.draft_secret if access else None).drafts()
    base = f"{server_address(public_url, chosen.store)}/v1/{chosen.workspace_store.id}"
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
        lines.message(f'No language version of workspace "{chosen.workspace_store.id}" has unpublished changes.')
    for one, url in zip(found, urls, strict=True):
        lines.answer(f"{one.api.endpoint} / {one.entry} ({one.lang})", style="bold")
        page = one.page()
        if page is not None:
            lines.copied(f"  {page}")
        lines.copied(f"  {_request(url, in_dev=in_dev)}", style="" if page is None else "dim")
    if None in urls:
        lines.message("Draft keys come with the first API key: `cms key create NAME` issues one.")


def _request(url: str | None, *, in_dev: bool) -> str:
    """Return what gets the JSON of a draft: an address for a browser where no key is needed, else a command."""
    if url is None:
        return "no draft key yet"
    if in_dev:
        from server.dev.dev_links import PREFIX

        return url.replace("/v1/", f"{PREFIX}/v1/", 1)
    return f"curl -gs -H \"X-API-KEY: $KEY\" '{url}'"


def _as_served(chosen: ChosenWorkspace, public_url: str | None) -> tuple[ChosenWorkspace, bool]:
    """Return the workspace, in the store of `cms dev` where nothing but that runs here, and whether it is that."""
    session = None if public_url is not None else dev_store(chosen.store)
    if session is None or not session.has(chosen.workspace_store.id):
        return chosen, False
    return replace(chosen, store=session, workspace_store=session.workspace(chosen.workspace_store.id)), True


@app.command()
def rotate(store: StoreLocation = None, workspace_id: WorkspaceId = None, json: Json = False) -> None:
    """Change every draft key made by Parquetry, ending old preview URLs.

    Draft keys written in content files stay as they are.
    """
    from engine.administration.administrator import operator
    from engine.administration.keys import exchange_draft_secret

    chosen = choose_workspace(store, workspace_id)
    begin_store(chosen.store)
    exchange_draft_secret(operator(chosen.workspace_store, now_ms()))
    if json:
        documents.write_json({"workspace": chosen.workspace_store.id, "rotated": True})
    else:
        lines.answer(f'Every draft key made for workspace "{chosen.workspace_store.id}" has changed.{_hint(chosen)}')


def _hint(chosen: ChosenWorkspace) -> str:
    return " `cms draft list` shows them." if chosen.workspace_store.current() else ""
