"""Read a workspace's definitions from workspace.yaml and apis/*.yaml, or every problem in them (workspace-format).

Beyond the format page, for content that was not written for it:

- ``{a|b}`` in a template is the first of them that has a value; a name is looked up among the pattern's named
  parts, then among the document's own keys; ``name`` is at last the file's stem.
  ``id: "{original|name}"`` so links translations by a front-matter key.
- ``from: bio.en`` reads inside a mapping. With ``{lang}`` in a ``from``, as in ``bio.{lang}``, a document of a
  multilingual API gives one version in every language for which at least one such path has a value.
- ``meta`` and ``from`` may be templates: ``meta: {publishedAt: "{year}-{month}-{day}"}``.
- ``id_map: {"common-[[": common-double-bracket}`` gives the ID for one result of the ``id`` template, where replacing
  characters by "-" would end on an ID that is taken, or on none.
- ``meta`` may move ``status`` too, and an empty text switches a key off: ``meta: {status: ""}`` for content whose
  ``status`` means something else.
- Where an API has an ``id`` template, references to it are turned into IDs by the same rule.
"""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from snapshots.definitions.apis import check_lang_map, make_api
from snapshots.definitions.files import (
    API_FOLDER,
    WORKSPACE_FILE,
    DefinitionUnreadable,
    definition_files,
    read_definition,
)
from snapshots.definitions.launches import read_launches
from snapshots.definitions.model import Definitions, RichTextSettings, Shortcode, WellFormed
from snapshots.definitions.shapes import ApiShape, WorkspaceShape, read_shape
from snapshots.definitions.workspace_facts import WorkspaceFacts
from snapshots.documents.document import ContentDocument, Format, RawValue
from snapshots.documents.read import read_documents
from snapshots.model import Api, ApiKind, Member, SignalSettings, ViewSettings, Workspace
from snapshots.problems import Problems


def load_workspace(root: Path, problems: Problems, *, salvage: bool = False) -> Definitions | None:
    """Return the definitions of the workspace at ``root``; ``None`` when workspace.yaml itself cannot be used.

    APIs with errors are reported and left out, so that the others can still be checked. With ``salvage`` a
    workspace.yaml can be used whose languages are right: its wrong keys are reported and count as left out.
    """
    before = problems.errors
    try:
        files = definition_files(root)
    except DefinitionUnreadable as error:
        problems.error(API_FOLDER, 1, error.kind, error.reason)
        files = []
    else:
        if not files:
            message = "no API is defined: write one file for each in apis/, such as apis/blog.yaml"
            problems.error(WORKSPACE_FILE, 1, "no-api", message)
    document = _read(root, WORKSPACE_FILE, problems)
    shape = None if document is None else read_shape(WorkspaceShape, WORKSPACE_FILE, document, problems)
    if shape is None and document is not None and salvage:
        shape = _salvaged(document)
    drafts: list[WellFormed] = []
    for file in files:
        api_document = _read(root, file, problems)
        api_shape = None if api_document is None else read_shape(ApiShape, file, api_document, problems)
        if api_document is not None and api_shape is not None:
            drafts.append(WellFormed(file, api_document, api_shape))
    good = _without_clashes(drafts, problems)
    if document is None or shape is None:
        return None
    check_lang_map(WORKSPACE_FILE, document, shape.lang_map, shape.languages, problems)
    launches = read_launches(WORKSPACE_FILE, document, shape.launches, ZoneInfo(shape.timezone), problems)

    apis, sources = [], {}
    kinds = {draft.shape.endpoint: ApiKind(draft.shape.kind) for draft in drafts}
    uids = {draft.shape.endpoint: draft.shape.uid for draft in drafts}
    around = WorkspaceFacts(shape, kinds, uids, complete=len(drafts) == len(files))
    for draft in good:
        made = make_api(draft, around, problems)
        if made is not None:
            apis.append(made[0])
            sources[draft.shape.uid] = made[1]
    return Definitions(
        _workspace(shape, tuple(apis)),
        sources,
        {draft.shape.uid: draft.file for draft in good if draft.shape.uid in sources},
        (WORKSPACE_FILE, *files),
        problems.errors == before,
        _rich_text(shape),
        launches,
        tuple(shape.strict),
    )


def _salvaged(document: ContentDocument) -> WorkspaceShape | None:
    """Return workspace.yaml with only the keys that decide how files are read; ``None`` where one of those is wrong."""
    needed = ("languages", "lang_map")
    for keys in ((*needed, "launches"), needed):
        kept: dict[str, RawValue] = {"id": "x"}
        kept |= {key: value for key, value in document.values.items() if key in keys}
        found = read_shape(WorkspaceShape, WORKSPACE_FILE, ContentDocument(kept, 1), Problems())
        if found is not None:
            return found
    return None


def _read(root: Path, file: str, problems: Problems) -> ContentDocument | None:
    try:
        data = read_definition(root, file)
    except DefinitionUnreadable as error:
        problems.error(file, 1, error.kind, error.reason)
        return None
    found = Problems()
    documents = list(read_documents(file, Format.YAML, data, found))
    for problem in found.kept:
        problems.error(problem.file, problem.line, problem.kind, problem.message)
    if found.errors or not documents:
        return None
    if documents[0].item is not None:
        problems.error(file, documents[0].line, "definition", "expected one mapping (key: value), got a list")
        return None
    return documents[0]


def _without_clashes(drafts: list[WellFormed], problems: Problems) -> list[WellFormed]:
    """Return the definitions whose ``uid`` and endpoint no earlier one has; report the others."""
    good: list[WellFormed] = []
    uids: dict[str, WellFormed] = {}
    endpoints: dict[str, WellFormed] = {}
    for draft in drafts:
        uid, endpoint = draft.shape.uid, draft.shape.endpoint
        clash = False
        for key, value, seen, ignoring in (
            ("uid", uid, uids, ""),
            ("endpoint", endpoint.lower(), endpoints, " (case is ignored)"),
        ):
            first = seen.setdefault(value, draft)
            if first is not draft:
                clash = True
                where = f"{first.file}:{first.document.line_of(key)}"
                hint = ": remove it here, and 'cms check --fix' writes a new one" if key == "uid" else ""
                message = f"{key} {getattr(draft.shape, key)!r} is already taken by {where}{ignoring}{hint}"
                problems.error(draft.file, draft.document.line_of(key), "definition", message)
        if not clash:
            good.append(draft)
    return good


def _rich_text(shape: WorkspaceShape) -> RichTextSettings:
    shortcodes = {" ".join(name.split()): Shortcode(*said) for name, said in shape.shortcodes.items()}
    assets_url = None
    if shape.assets.delivered:
        assets_url = f"/assets/{shape.id}/" if shape.assets_url is None else f"{shape.assets_url}/"
    return RichTextSettings(
        tuple(shape.markdown.iframe_hosts),
        tuple(shape.markdown.classes),
        shortcodes,
        assets_url,
        shape.assets.strip,
        tuple(folder.strip("/") for folder in shape.assets.folders),
        shape.assets.missing == "warn",
        tuple(shape.images.widths) if shape.assets_sizes else (),
    )


def _workspace(shape: WorkspaceShape, apis: tuple[Api, ...]) -> Workspace:
    return Workspace(
        id=shape.id,
        name=shape.name or shape.id,
        languages=tuple(shape.languages),
        timezone=shape.timezone,
        domains=tuple(shape.domains),
        members=tuple(Member(m.name, m.email, m.role) for m in shape.members),
        views=ViewSettings(shape.views.dedupe_minutes, shape.views.per_address_per_minute, shape.views.max_keys),
        rate_limit=shape.rate_limit,
        dashboard_url=shape.dashboard_url,
        apis=apis,
        signals=msgspec.UNSET if shape.signals is None else SignalSettings(shape.signals.next_change),
        assets_sizes=msgspec.UNSET if shape.assets_sizes else False,
    )
