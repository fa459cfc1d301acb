"""The engine over a random workspace: compiled by the real compiler, opened by the real reader, asked directly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from engine.answers import NotFound, answer_entry, answer_list, answer_object, schema_document
from engine.drafts import derived_draft_key
from engine.invalid_query import InvalidQuery
from engine.page_views.totals import ViewTotals
from engine.reader import Reader, open_reader
from snapshots.build import build
from snapshots.model import ApiKind
from snapshots.store import open_store
from tests.model import Model
from tests.random_content import WORKSPACE, Version, write_workspace
from tests.random_requests import Sent

SECRET = b"a secret of thirty-two bytes, yes"


class Engine:
    """One opened snapshot, and the naive evaluator of the same content."""

    def __init__(self, reader: Reader, model: Model) -> None:
        self.reader = reader
        self.model = model
        self.views = ViewTotals.of(model.views)

    def answer(self, sent: Sent) -> tuple[int, bytes | None]:
        """The status, and the body of a 200 as bytes."""
        try:
            return 200, self._answer(sent)
        except InvalidQuery:
            return 400, None
        except NotFound:
            return 404, None

    def _answer(self, sent: Sent) -> bytes:
        endpoint, *entry = [unquote(part) for part in sent.path.split("/")[3:]]
        if endpoint == "_schema":
            return schema_document(self.reader, sent.scope)
        api = self.reader.workspace.api(endpoint)
        if api is None or (sent.scope is not None and api.uid not in sent.scope):
            raise NotFound(endpoint)
        query = sent.query.encode("ascii")
        draft = dict(sent.headers).get("X-Draft-Key")
        header = None if draft is None else draft.encode()
        if len(entry) > 1 or (entry and api.kind is ApiKind.OBJECT):
            raise NotFound(sent.path)
        if entry:
            return answer_entry(self.reader, api, entry[0], sent.scope, query, header, sent.now, SECRET)
        if api.kind is ApiKind.OBJECT:
            return answer_object(self.reader, api, sent.scope, query, header, sent.now, SECRET)
        return answer_list(self.reader, api, sent.scope, query, sent.now, self.views)

    def expected(self, sent: Sent) -> tuple[int, Any]:
        """What the naive evaluator says."""
        return self.model.answer(sent.path, sent.query, dict(sent.headers), sent.scope, sent.now)

    def check(self, sent: Sent) -> None:
        """The two agree: on the status, and on the body, whose numbers must have the same form."""
        status, body = self.answer(sent)
        expected_status, expected_body = self.expected(sent)
        assert status == expected_status
        if body is not None:
            assert exact(json.loads(body)) == exact(expected_body)


def exact(value: Any) -> str:
    """JSON with sorted members: tells 5 from 5.0 and true from 1, as plain equality does not."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=1)


@contextmanager
def engine_over(versions: list[Version], views: dict[str, int] | None = None) -> Iterator[Engine]:
    """Build the versions' workspace in a temporary directory and open it, until the end of the block."""
    with TemporaryDirectory() as place:
        root = Path(place) / "workspace"
        write_workspace(root, versions)
        store = open_store(Path(place) / "store")
        version = build(root, store, now=0).version
        workspace = store.workspace(WORKSPACE["id"])
        reader = open_reader(workspace.snapshots / version, workspace.manifest(version), store.cache)
        try:
            yield Engine(reader, Model(WORKSPACE, versions, draft_key, views or {}))
        finally:
            reader.close()


def draft_key(api: str, entry_id: str, lang: str) -> str:
    """The key of a draft whose files give none; how it is made is the engine's secret, so it is asked."""
    return derived_draft_key(SECRET, WORKSPACE["id"], api, entry_id, lang)
