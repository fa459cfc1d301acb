"""Two sites of others, adopted as they are: every oddity named at its place, everything else built and served.

The content is not part of the project. The tests look for the archives in ``PARQUETRY_REAL_CONTENT``, else
in ``shared/data`` beside the checkout, and are skipped where they are not.
"""

from __future__ import annotations

import lzma
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from engine.read.reader.reader import open_reader
from snapshots.build.build import build, check
from snapshots.columns import FileKind
from snapshots.problems import Problems
from snapshots.store.store import Store, open_store
from tests.generated.asked import asked

HERE = Path(__file__).resolve().parents[2]
ARCHIVES = Path(os.environ.get("PARQUETRY_REAL_CONTENT", HERE.parents[1] / "shared" / "data"))
NOW = 1_780_000_000_000


def unpacked(name: str, definitions: str, folder: Path, files: str = "*") -> Path:
    """Unpack the files of an archive whose names match, and put our definitions beside them."""
    archive = ARCHIVES / f"{name}.tar.xz"
    if not archive.is_file():
        pytest.skip(f"{archive.name} is not there; PARQUETRY_REAL_CONTENT names the folder that holds it")
    # Python's own tarfile takes ten times as long over many small files.
    unpack = ["tar", "--extract", "--no-same-owner", "--directory", folder, "--wildcards", f"{name}/{files}"]
    subprocess.run(unpack, input=lzma.decompress(archive.read_bytes()), timeout=120, check=True)
    root = folder / name
    shutil.copytree(HERE / "real_content" / definitions, root, dirs_exist_ok=True)
    return root


@pytest.fixture(scope="module")
def historian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked("programming-historian", "programming_historian", tmp_path_factory.mktemp("historian"))


@pytest.fixture(scope="module")
def historian_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def historian_problems(historian: Path, historian_store: Store) -> Problems:
    return check(historian, historian_store.cache)


@pytest.mark.slow
def test_every_error_of_the_historian_is_named_at_its_place(historian_problems: Problems) -> None:
    errors = [(p.file, p.line, p.kind) for p in historian_problems.kept if p.severity == "error"]
    assert errors == [
        ("_data/ph_authors.yml", 1276, "wrong-value"),
        ("_data/ph_authors.yml", 2319, "duplicate-key"),
        ("_posts/2016-10-18-promoting-digital-archives.md", 11, "conflict"),
        ("de/lessons/for_use_manual-test-translation_code-reuse-and-modularitymd_de.md", 1, "unknown-language"),
        ("en/lessons/exploring-and-analyzing-network-data-with-python.md", 23, "duplicate-key"),
        ("en/lessons/ocr-tutorial.md", 3, "kept-back"),
        ("en/lessons/ocr-tutorial.md", 27, "missing-asset"),
        ("es/lecciones/analisis-temporal-red.md", 21, "wrong-value"),
        ("es/lecciones/introduccion-a-ffmpeg.md", 21, "duplicate-key"),
        ("es/lecciones/mineria-de-datos-en-internet-archive.md", 15, "duplicate-key"),
        ("es/lecciones/transformacion-datos-xml-xsl.md", 26, "duplicate-key"),
        ("fr/lecons/analyse-corpus-antconc.md", 28, "duplicate-key"),
        ("fr/lecons/introduction-et-installation.md", 29, "duplicate-key"),
        ("fr/lecons/preserver-ses-donnees-de-recherche.md", 29, "duplicate-key"),
        ("ua/lessons/for_use_manual-test-translation_code-reuse-and-modularitymd_uk.md", 1, "unknown-language"),
        ("zh_HK/lessons/for_use_manual-test-translation_code-reuse-and-modularitymd_zh_HK.md", 1, "unknown-language"),
    ]


def test_the_oddities_that_are_warnings(historian_problems: Problems) -> None:
    counts = {(severity, kind): count for severity, kind, count in historian_problems.counts}
    assert counts[("warning", "dangling-reference")] == 454
    messages = [problem.message for problem in historian_problems.kept]
    assert any("control character U+0008" in message for message in messages)
    assert any("description.en:" in message for message in messages), "the key written 'en::' must be named"


@pytest.mark.slow
def test_what_can_be_built_of_the_historian_is_served(
    historian: Path, historian_store: Store, historian_problems: Problems, tmp_path: Path
) -> None:
    """Built after a check, as people do."""
    result = build(historian, historian_store, now=NOW, lenient=True)
    assert result.problems.warnings == historian_problems.warnings + historian_problems.errors
    workspace = historian_store.workspace(result.workspace)
    manifest = workspace.manifest(result.version)
    names = {api.uid: api.endpoint for api in manifest.workspace.apis}
    rows = Counter(
        {(names[file.api], file.lang): file.rows for file in manifest.files if file.kind is FileKind.PUBLISHED}
    )
    assert [rows[("lessons", lang)] for lang in ("en", "es", "fr", "pt")] == [108, 57, 22, 37]
    assert [rows[("topics", lang)] for lang in ("en", "es", "fr", "pt")] == [14, 14, 14, 14]
    assert rows[("posts", "en")] == 104
    reader = open_reader(workspace.snapshots / result.version, manifest, tmp_path / "cache")
    try:
        lessons = manifest.workspace.api("lessons")
        assert lessons is not None
        query = "lang=es&limit=100&depth=1&include=_langs"
        found = msgspec.json.decode(asked(reader, f"{lessons.endpoint}?{query}", NOW))
        assert (found["totalCount"], len(found["contents"])) == (57, 57)
        assert any("en" in entry["_langs"]["available"] for entry in found["contents"]), "translations are linked"
        assert any(isinstance(author, dict) for entry in found["contents"] for author in entry["authors"])
    finally:
        reader.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "entries", "in_japanese"),
    [
        pytest.param("pages*/[mt]*", 1_855, 30, id="those from m and t"),
        pytest.param("*", 24_891, 400, id="all"),
    ],
)
def test_tldr_builds_whole_and_answers_in_twelve_languages(
    tmp_path: Path, files: str, entries: int, in_japanese: int
) -> None:
    tldr = unpacked("tldr", "tldr", tmp_path, files)
    store = open_store(tmp_path / "store")
    result = build(tldr, store, now=NOW)
    assert result.problems.errors == 0
    assert result.entries == entries
    workspace = store.workspace(result.workspace)
    manifest = workspace.manifest(result.version)
    assert len(manifest.workspace.languages) == 12
    reader = open_reader(workspace.snapshots / result.version, manifest, tmp_path / "cache")
    try:
        pages = manifest.workspace.apis[0].endpoint
        found = msgspec.json.decode(asked(reader, f"{pages}/linux-mkfs-ext4?include=_langs", NOW))
        assert found["_langs"]["current"] == "en"
        assert "ko" in found["_langs"]["available"]
        fallback = msgspec.json.decode(asked(reader, f"{pages}?lang=ja&lang_fallback=true&limit=1", NOW))
        only = msgspec.json.decode(asked(reader, f"{pages}?lang=ja&limit=1", NOW))
        main = msgspec.json.decode(asked(reader, f"{pages}?limit=1", NOW))
        assert fallback["totalCount"] >= main["totalCount"] > only["totalCount"] > in_japanese
        searched = msgspec.json.decode(asked(reader, f"{pages}?q=Archiving+utility&limit=5", NOW))
        assert "common-tar" in [entry["id"] for entry in searched["contents"]]
    finally:
        reader.close()
