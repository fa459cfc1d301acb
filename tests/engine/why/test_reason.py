"""Why an entry is there or not, for random workspaces and instants: against the naive model, and against reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from engine.read.query.answers.answer import Source, answer_to
from engine.read.query.answers.bind import NotFound, bind, target_of
from engine.read.reader.reader import Reader, open_reader
from engine.visibility import Visibility
from engine.why.reason import reason_of
from engine.why.stored import stored_entry
from engine.why.written import written_entry
from snapshots.build.build import Surveyed, build, survey
from snapshots.store.store import Store, open_store
from tests.generated.budget import TIMES
from tests.generated.content import APIS, DAY, FLIPS, IDS, LANGUAGES, START, WORKSPACE, random_versions, write_workspace
from tests.model.model import Model, Request

STATES = ["live", "scheduled", "ended", "draft"]
"""The better of two versions is the one whose state stands first."""


@dataclass
class World:
    """A workspace as it is published, and its files as they are now, which say other things."""

    root: Path
    store: Store
    reader: Reader
    surveyed: Surveyed
    published: Model
    files: Model


@dataclass
class Sent:
    """A request for an entry."""

    api: dict[str, object]
    entry: str | None
    lang: str
    fallback: bool
    now: int

    @property
    def languages(self) -> list[str]:
        """The languages that it may get."""
        main = LANGUAGES[0]
        return [self.lang] + [main] * (self.fallback and self.lang != main)

    @property
    def target(self) -> str:
        """The request as the API takes it."""
        path = str(self.api["endpoint"]) if self.entry is None else f"{self.api['endpoint']}/{self.entry}"
        return f"{path}?lang={self.lang}&lang_fallback={str(self.fallback).lower()}"


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[World]]:
    with ExitStack() as stack:
        made = []
        for seed in range(TIMES):
            place = tmp_path_factory.mktemp("why")
            published, files = random_versions(7000 + seed), random_versions(8000 + seed)
            write_workspace(place / "published", published)
            write_workspace(place / "files", files)
            store = open_store(place / "store")
            version = build(place / "published", store, now=0).version
            workspace = store.workspace(WORKSPACE["id"])
            reader = open_reader(workspace.snapshots / version, workspace.manifest(version), store.cache)
            stack.callback(reader.close)
            surveyed = survey(place / "files", store.cache)
            models = (Model(WORKSPACE, published), Model(WORKSPACE, files))
            made.append(World(place / "files", store, reader, surveyed, *models))
        yield made


def random_request(random: Random) -> Sent:
    api = random.choice(APIS)
    entry = random.choice([*IDS, "gone"]) if api["kind"] == "list" else None
    lang = random.choice(LANGUAGES) if api["multilingual"] else LANGUAGES[0]
    now = START + random.randrange(-1, FLIPS + 1) * DAY + random.randrange(-1, 2)
    return Sent(api, entry, lang, random.random() < 0.3, now)


def states(model: Model, sent: Sent) -> dict[str, list[str]]:
    """The states of an entry's versions by language."""
    request = Request(model, None, sent.now)
    found: dict[str, list[str]] = {}
    for version in model.versions:
        if version["api"] == sent.api["endpoint"] and sent.entry in (None, version["id"]):
            found.setdefault(version["lang"], []).append(request.state(version))
    return found


def expected(world: World, sent: Sent) -> str:
    """The reason, by the naive model alone."""
    published, files = (states(model, sent) for model in (world.published, world.files))
    first, second = (
        sorted((state for lang in sent.languages for state in found.get(lang, [])), key=STATES.index)
        for found in (published, files)
    )
    if first[:1] == ["live"]:
        return "live"
    if second[:1] == ["live"]:
        return "not_built"
    if first or second:
        return (first or second)[0]
    return "other_language" if published or files else "unknown"


def is_answered(world: World, sent: Sent) -> bool:
    """Whether a read of the published version gives the entry."""
    try:
        answer_to(bind(world.reader, None, target_of(sent.target), {}), Source(world.reader, sent.now))
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("examples", [80, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_reason_is_that_of_the_model(worlds: list[World], examples: int) -> None:
    random, seen = Random(examples), set[str]()
    for _ in range(examples * TIMES):
        world, sent = random.choice(worlds), random_request(random)
        workspace = world.store.workspace(WORKSPACE["id"])
        asked = (str(sent.api["endpoint"]), sent.entry, sent.now)
        stored = stored_entry(workspace, workspace.manifest(world.reader.version), *asked)
        visibility = Visibility(sent.lang, LANGUAGES[0] if len(sent.languages) > 1 else None)
        reason = reason_of(visibility, stored, written_entry(world.root, world.surveyed, *asked))
        assert reason.kind.value == expected(world, sent), sent
        status, _ = world.published.answer(
            f"/v1/random/{sent.target.partition('?')[0]}", sent.target.partition("?")[2], {}, None, sent.now
        )
        assert (reason.kind == "live") == (status == 200) == is_answered(world, sent), sent
        # Without the files, the same is said of what is published.
        alone = reason_of(visibility, stored, None)
        assert alone.kind.value in {reason.kind.value, "unknown", "other_language"} or reason.kind == "not_built"
        seen.add(reason.kind.value)
    assert seen == {"live", "not_built", "scheduled", "ended", "draft", "other_language", "unknown"}
