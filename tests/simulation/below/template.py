"""The versions that people publish in a world: built for real, once for all worlds."""

from __future__ import annotations

import atexit
import struct
import zlib
from pathlib import Path

from engine.backup.making import make_backup
from snapshots.build.build import build
from snapshots.model import Workspace
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import Store, open_store
from tests.simulation.machines import EPOCH_MS
from tests.simulation.published.content import write_entries

WORKSPACES = {"acme": 5, "blue": 3}
"""The workspaces, each with its number of versions."""
_HOUR = 3_600_000
_FACTS = (
    "  - {id: kind, type: json}\n  - {id: part, type: group, fields: [{id: of, type: text}]}\n",
    "  - {id: kind, type: json}\n  - {id: part, type: group, fields: [{id: of, type: reference, api: news}]}\n",
    "  - {id: kind, type: single_select}\n"
    "  - {id: part, type: group, fields: [{id: of, type: reference, api: news}]}\n",
    "  - {id: kind, type: text}\n  - {id: part, type: group, fields: [{id: of, type: richtext}]}\n",
)
"""The definitions of entries that never change: those of each version differ from those of the one before."""


class Template:
    """A store in a directory with all versions of all workspaces, and a backup of it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.store: Store = open_store(root / "store")
        self.versions: dict[str, list[str]] = {}
        self.answers: dict[tuple[str, str], dict[str, str]] = {}
        """By workspace and version, the answers of versions that were built from nothing, as far as they are known."""
        self._fresh: dict[tuple[str, str], tuple[Store, str]] = {}
        self.members: dict[str, dict[str, dict[str, str]]] = {}
        """By workspace and version, the members' addresses and roles."""
        self._readers: Readers | None = None
        for name, number in WORKSPACES.items():
            self.versions[name] = [_build(root / name, name, version, self.store) for version in range(number)]
            self.members[name] = {version: _members(place) for place, version in enumerate(self.versions[name])}
        manifests = (self.store.workspace(name).manifest(found[-1]) for name, found in self.versions.items())
        self.workspaces: tuple[Workspace, ...] = tuple(one.workspace for one in manifests)
        self.backup = root / "backup"
        make_backup(self.store, DirectoryObjects(self.backup), now=EPOCH_MS)

    def fresh(self, name: str, version: str) -> tuple[Store, str]:
        """Return a store in which the same is built as a version has, from nothing, and its name there."""
        if (name, version) not in self._fresh:
            number = self.versions[name].index(version)
            root = self._root / f"fresh-{name}-{number}"
            store = open_store(root / "store")
            _build(root / name, name, number, store)
            self._fresh[name, version] = store, store.workspace(name).versions()[0]
        return self._fresh[name, version]

    def readers(self) -> Readers:
        """Return all versions opened, and the same without their secrets; once for all worlds."""
        if self._readers is None:
            self._readers = Readers(self, self._root / "without-secrets")
        return self._readers


class Readers:
    """Versions that are open as long as the process."""

    def __init__(self, template: Template, root: Path) -> None:
        from engine.read.reader.reader import Reader, open_reader

        class Opened(Reader):
            def close(self) -> None:
                """Stay open: other worlds read it, too."""

        def opened(store: Store, name: str, version: str) -> Reader:
            workspace_store = store.workspace(name)
            reader = open_reader(workspace_store.snapshots / version, workspace_store.manifest(version), root / "cache")
            reader.__class__ = Opened
            return reader

        atexit.register(self._close)
        without = open_store(root / "store")
        self.real: dict[str, Reader] = {}
        """By version."""
        self.without_secrets: dict[str, Reader] = {}
        """By the version with the secrets."""
        for name, versions in template.versions.items():
            for number, version in enumerate(versions):
                other = _build(root / name, name, number, without, without_secrets=True)
                self.real[version] = opened(template.store, name, version)
                self.without_secrets[version] = opened(without, name, other)

    def _close(self) -> None:
        for reader in (*self.real.values(), *self.without_secrets.values()):
            reader.__class__.__base__.close(reader)  # type: ignore[union-attr]  # it is a reader's


def _build(place: Path, name: str, version: int, store: Store, *, without_secrets: bool = False) -> str:
    """Build a version of a workspace; return its name."""
    _write_definitions(place, name, version)
    folder = place / "content" / "news"
    folder.mkdir(parents=True, exist_ok=True)
    # Two pictures that come and go with versions, and so are shared by some of them.
    (folder / f"picture-{version % 2}.png").write_bytes(_png(version % 2))
    # And one that no other version has, which so is needed by nothing while its version is on its way.
    (folder / f"own-{version}.png").write_bytes(_png(10 + version))
    write_entries(place, version, without_secrets=without_secrets)
    now = EPOCH_MS - 100 * _HOUR + version * _HOUR
    return build(place, store, now=now, lenient=True, allow_breaking=True).version


def _write_definitions(place: Path, name: str, version: int) -> None:
    rows = "".join(f"  - {{name: Somebody, email: {to}, role: {role}}}\n" for to, role in _members(version).items())
    files = {
        "workspace.yaml": f"id: {name}\nlanguages: [en, ja]\nmembers:\n{rows}",
        "apis/news.yaml": f"uid: api_{name}00000000\nendpoint: news\nkind: list\nmultilingual: true\nfields:\n"
        "  - {id: title, type: text, required: true}\n  - {id: body, type: richtext}\n",
        "apis/facts.yaml": f"uid: api_{name}00000001\nendpoint: facts\nkind: list\nfields:\n"
        f"{_FACTS[version % len(_FACTS)]}",
        "content/facts/one.yaml": "createdAt: 2026-01-02\nkind: two\npart: {of: two}\n",
    }
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)


def _members(number: int) -> dict[str, str]:
    """Return who is a member in a version: some have a maintainer less."""
    members = {"mika@acme.example": "owner", "edda@acme.example": "editor"}
    return members if number % 3 == 1 else {**members, "nils@acme.example": "maintainer"}


def _png(shade: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(bytes([0, shade]))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", pixels)
        + chunk(b"IEND", b"")
    )
