"""Lists of all language versions: as a naive evaluator has them, at any instant, by the same conditions as the API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.read.all_versions.all_versions import AllVersions
from engine.read.files.unusable import SnapshotUnusable
from engine.read.query.invalid_query import InvalidQuery
from engine.read.query.plan import Wanted
from engine.read.reader.data_files import DataFiles
from engine.read.reader.statement import QueryTimeout, Statement
from engine.timeline.states import STATES, State
from engine.timeline.timeline import Timeline
from snapshots.build.build import build
from snapshots.model import Api
from snapshots.store.store import open_store
from tests.generated.budget import RANDOM, TIMES
from tests.generated.content import LANGUAGES, WORKSPACE, random_versions, write_workspace
from tests.generated.requests import ENDPOINTS, INSTANTS, filters, orders, texts
from tests.generated.requests import form as encoded
from tests.model.model import Model
from tests.model.query import BadRequestError
from tests.programs import command_line
from tests.programs.command_line import entry

NOW = 1_780_000_000_000
WORKSPACES = 2 * TIMES


def built(root: Path, files: DataFiles) -> AllVersions:
    store = open_store(root / ".cms")
    result = build(root, store, now=NOW)
    place = store.workspace(result.workspace)
    return AllVersions(files, place, place.manifest(result.version), b"secret")


@pytest.fixture
def files(tmp_path: Path) -> Iterator[DataFiles]:
    with closing(DataFiles(tmp_path / ".cms")) as files:
        yield files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return command_line.write_workspace(tmp_path)


def api_of(versions: AllVersions, endpoint: str = "blog") -> Api:
    found = versions.manifest.workspace.api(endpoint)
    assert found is not None
    return found


@contextmanager
def random_workspace(seed: int) -> Iterator[tuple[AllVersions, Model]]:
    made = random_versions(seed)
    with TemporaryDirectory() as place, closing(DataFiles(Path(place, ".cms"))) as files:
        write_workspace(Path(place), made)
        yield built(Path(place), files), Model(WORKSPACE, made)


@pytest.fixture(scope="module")
def workspaces() -> Iterator[list[tuple[AllVersions, Model]]]:
    with ExitStack() as stack:
        yield [stack.enter_context(random_workspace(seed)) for seed in range(WORKSPACES)]


@st.composite
def queries(draw: st.DrawFn, endpoint: str) -> str:
    """A query string with conditions, a phrase and an order, or some of them."""
    values = {"filters": filters(endpoint), "q": texts.map(encoded), "orders": orders(endpoint)}
    return "&".join(f"{name}={draw(values[name])}" for name in sorted(draw(st.sets(st.sampled_from(sorted(values))))))


@pytest.mark.parametrize("examples", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_list_is_what_a_naive_evaluator_has(workspaces: list[tuple[AllVersions, Model]], examples: int) -> None:
    @settings(RANDOM, max_examples=examples * TIMES)
    @given(data=st.data())
    def agrees(data: st.DataObject) -> None:
        versions, model = workspaces[data.draw(st.integers(0, WORKSPACES - 1))]
        endpoint = data.draw(st.sampled_from(["things", "things", *ENDPOINTS]))
        query, now = data.draw(queries(endpoint)), data.draw(st.sampled_from(INSTANTS))
        lang, state = data.draw(st.sampled_from([None, *LANGUAGES])), data.draw(st.sampled_from([None, *STATES]))
        part, first, count = data.draw(st.sampled_from(["", "", "F", "a"])), data.draw(st.integers(0, 6)), 5
        wanted = Wanted(lang, state, part, first=first, count=count)
        api = api_of(versions, endpoint)
        try:
            expected = model.versions_page(endpoint, query, now, lang, state, part)
        except BadRequestError:
            with pytest.raises(InvalidQuery):
                versions.page(api, now, wanted, query)
            return
        page = versions.page(api, now, wanted, query)
        listed = [(one.id, one.lang, one.state.value, one.draft is not None) for one in page.entries]
        assert page.total == len(expected)
        assert listed == [
            (one["id"], one["lang"], its_state, its_state == "draft")
            for one, its_state in expected[first : first + count]
        ]

    agrees()


def test_the_timeline_counts_what_is_listed(workspaces: list[tuple[AllVersions, Model]]) -> None:
    versions, _ = workspaces[0]
    timeline = Timeline(versions.workspace_store, versions.manifest)
    for now in INSTANTS[4:8:2]:
        for counted in timeline.counts(now):
            api = api_of(versions, counted.api)
            listed = {state: versions.page(api, now, Wanted(counted.lang, state)).total for state in STATES}
            assert counted.by_state == listed


def test_a_version_says_all_that_its_file_says(root: Path, files: DataFiles) -> None:
    versions = built(root, files)
    both = versions.versions(api_of(versions), "two", NOW)
    assert [(one.lang, one.state, one.title) for one in both] == [
        ("en", State.DRAFT, "Two, rewritten"),
        ("en", State.SCHEDULED, "Two"),
    ]
    titles = [versions.content(api_of(versions), one).values["title"] for one in both]
    assert titles == ["Two, rewritten", "Two"]
    draft, scheduled = both
    assert scheduled.draft is None
    assert draft.draft is not None
    assert (draft.draft.entry, draft.draft.derived, len(draft.draft.key or "")) == ("two", True, 43)


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("rating[greater_than]2", ["e3"]),
        ("rating[less_than]2", ["e1"]),
        ("updatedAt[greater_than]2026-01-02", ["e3"]),
        ("updatedAt[less_than]2026-01-02", ["e1"]),
    ],
)
def test_a_range_ends_before_its_bound(root: Path, files: DataFiles, condition: str, ids: list[str]) -> None:
    lines = [
        json.dumps({"id": f"e{day}", "title": "E", "rating": day, "updatedAt": f"2026-01-0{day}T00:00:00Z"})
        for day in (1, 2, 3)
    ]
    (root / "content/blog.jsonl").write_text("\n".join(lines), encoding="utf-8")
    versions = built(root, files)
    found = versions.page(api_of(versions), NOW, Wanted(part_of_id="e"), f"filters={condition}").entries
    assert [one.id for one in found if one.id in ("e1", "e2", "e3")] == ids


def test_a_file_that_cannot_be_read_is_told(root: Path, files: DataFiles) -> None:
    versions = built(root, files)
    for file in (root / ".cms").rglob("_drafts/*/*/*.parquet"):
        file.chmod(0o644)
        file.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(SnapshotUnusable, match="cms snapshot verify"):
        versions.page(api_of(versions), NOW, Wanted(state=State.DRAFT))
    assert versions.page(api_of(versions), NOW, Wanted(state=State.LIVE)).total == 2


def test_a_list_may_not_take_long(root: Path) -> None:
    with closing(DataFiles(root / ".cms", time_limit=0)) as files:
        versions = built(root, files)
        with pytest.raises(QueryTimeout):
            versions.page(api_of(versions), NOW, Wanted())


def test_no_file_elsewhere_is_read(root: Path, files: DataFiles) -> None:
    place = root / ".cms/inside.csv"
    place.parent.mkdir()
    place.write_text("a\n1\n")
    place.rename(root / "outside.csv")
    with pytest.raises(SnapshotUnusable, match="outside"):
        files.run(Statement("FROM read_csv($place)", {"place": str(root / "outside.csv")}), files.deadline())
    with pytest.raises(SnapshotUnusable, match="outside"):
        files.run(Statement("FROM read_csv($place)", {"place": str(root / ".cms/../outside.csv")}), files.deadline())
    (root / "outside.csv").rename(place)
    assert files.run(Statement("FROM read_csv($place)", {"place": str(place)}), files.deadline()) == [(1,)]


def test_a_list_follows_the_clock(root: Path, files: DataFiles) -> None:
    window = "publishStart: 2026-03-01T00:00:00Z\npublishEnd: 2026-04-01T00:00:00Z\nstatus: scheduled\n"
    (root / "content/blog/two.md").write_text(entry("Two", window), encoding="utf-8")
    versions = built(root, files)
    blog = api_of(versions)
    begin, end = 1_772_323_200_000, 1_775_001_600_000
    for now, state in (
        (begin - 1, State.SCHEDULED),
        (begin, State.LIVE),
        (end - 1, State.LIVE),
        (end, State.ENDED),
    ):
        [two] = versions.page(blog, now, Wanted(state=state, part_of_id="two")).entries
        assert (two.id, two.live_from, two.live_until, two.title) == ("two", begin, end, "Two")


def test_what_changed_last_can_come_first(root: Path, files: DataFiles) -> None:
    (root / "content/blog.jsonl").write_text(
        "\n".join(
            json.dumps(
                {"id": f"e{number}", "title": str(number), "createdAt": "2026-01-01", "updatedAt": f"2026-02-{day:02}"}
            )
            for number, day in enumerate((3, 9, 1, 5), start=1)
        ),
        encoding="utf-8",
    )
    versions = built(root, files)
    blog = api_of(versions)
    page = versions.page(blog, NOW, Wanted(part_of_id="e", count=3), "orders=-updatedAt")
    assert page.total == 6  # one in two languages, and these four
    assert [one.title for one in page.entries] == ["2", "4", "1"]


def test_a_reference_leads_to_what_readers_see_of_it(root: Path, files: DataFiles) -> None:
    later = "status: scheduled\npublishStart: 2126-01-01T00:00:00Z\n"
    (root / "content/blog/two.de.md").write_text(entry("Zwei", later), encoding="utf-8")
    (root / "content/blog/three.md").write_text(entry("Three"), encoding="utf-8")
    (root / "content/blog/three.de.md").write_text(entry("Drei", later), encoding="utf-8")
    (root / "content/blog/four.draft.md").write_text(entry("Four"), encoding="utf-8")
    versions = built(root, files)
    blog = api_of(versions)
    asked = ["four", "one", "none", "two", "three"]
    found = versions.referred(blog, asked, "de", NOW)
    assert {one.id: (one.title, one.lang, one.state) for one in found.values()} == {
        "one": ("Eins", "de", State.LIVE),
        "two": ("Zwei", "de", State.SCHEDULED),
        "three": ("Three", "en", State.LIVE),
        "four": ("Four", "en", State.DRAFT),
    }
    assert {one.title for one in versions.referred(blog, asked, "de", 5 * NOW).values()} == {
        "Eins",
        "Zwei",
        "Drei",
        "Four",
    }
    assert versions.referred(blog, [], "de", NOW) == {}
