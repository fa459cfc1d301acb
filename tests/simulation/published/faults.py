"""Faults by which something leaves that is not public: the simulation has to find them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.read.query.answers import feed
from engine.read.query.answers.answer_cache import Answer
from engine.timeline.changes import ChangeKind
from server.delivery import answer_making
from server.workspaces.workspaces import Workspaces
from tests.simulation.fault import QUIET, Change, Fault


def _kept_beyond_a_flip() -> list[Change]:
    return [(Answer, "holds", lambda self, now, counts: True)]


def _tag_of_the_version() -> list[Change]:
    represented = answer_making.AnswerMaking.represented

    async def tagged(self: Any, wanted: Any, answer: Any) -> Any:
        made = await represented(self, wanted, answer)
        rows = wanted.snapshot.reader.manifest.version.encode()[-8:]
        tag = made.etag[:-1] + b"-" + rows + b'"'
        headers = tuple((name, tag if name == b"etag" else value) for name, value in made.headers)
        return replace(made, headers=headers, etag=tag)

    return [(answer_making.AnswerMaking, "represented", tagged)]


def _draft_secret_remembered() -> list[Change]:
    secret = Workspaces.draft_secret

    def remembered(self: Any, workspace: str) -> bytes:
        known: dict[str, bytes] = self.__dict__.setdefault("known", {})
        return known.setdefault(workspace, secret(self, workspace))

    return [(Workspaces, "draft_secret", remembered)]


def _updates_untold() -> list[Change]:
    changes = feed.changes

    def fewer(*arguments: Any, **options: Any) -> Any:
        found = changes(*arguments, **options)
        updated = list(ChangeKind).index(ChangeKind.UPDATED)
        files = []
        for one in found.files:
            kept = one.kinds != updated
            files.append(replace(one, ids=one.ids.filter(kept), kinds=one.kinds[kept]))
        return replace(found, files=tuple(one for one in files if len(one.kinds)))

    return [(feed, "changes", fewer)]


_ANSWERS: dict[str, Any] = {**QUIET, "answers": True, "readers": 1, "receivers": 0}

PUBLISHED: dict[str, Fault] = {
    "kept-beyond-flip": Fault("an answer is kept beyond a flip of a schedule", _kept_beyond_a_flip, _ANSWERS),
    "tag-of-version": Fault("an ETag follows the version, with all that is not public", _tag_of_the_version, _ANSWERS),
    "draft-secret": Fault("a draft key opens drafts after it was exchanged", _draft_secret_remembered, _ANSWERS),
    "updates-untold": Fault("the feed does not tell of updates", _updates_untold, _ANSWERS),
}
