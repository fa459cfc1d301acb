"""``cms openapi``: the delivery API of one workspace as an OpenAPI document."""

from __future__ import annotations

from cli.definitions.described import Described, ReadingKey, ServerUrl
from cli.options import PublicUrl, StoreLocation, WorkspaceId, new_app
from cli.output import documents

app = new_app()


@app.command()
def openapi(
    url: ServerUrl = None,
    key: ReadingKey = None,
    public_url: PublicUrl = "http://127.0.0.1:8787",
    store: StoreLocation = None,
    workspace_id: WorkspaceId = None,
) -> None:
    """Print the OpenAPI description of a workspace.

    The definition, for client generators, has the workspace's own APIs as paths and their fields as schemas. It is made
    from the current snapshot version or, before the first build, from the definitions. With --url it is the one that
    the server gives the key, at /v1/WORKSPACE/_openapi. A server's /openapi.json describes any workspace.
    """
    documents.write_json(Described(url, key, store, workspace_id).document(public_url))
