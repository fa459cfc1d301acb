"""The versions that people publish in a world: built for real, once for all worlds."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from engine.backup.making import make_backup
from snapshots.build.build import build
from snapshots.model import Workspace
from snapshots.store.directory_objects import DirectoryObjects
from snapshots.store.store import Store, open_store
from tests.simulation.machines import EPOCH_MS

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
        workspaces: list[Workspace] = []
        for name, number in WORKSPACES.items():
            for version in range(number):
                _build(root / name, name, version, self.store)
            workspace_store = self.store.workspace(name)
            self.versions[name] = sorted(workspace_store.versions())
            workspaces.append(workspace_store.manifest(self.versions[name][-1]).workspace)
        self.workspaces = tuple(workspaces)
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


def _build(place: Path, name: str, version: int, store: Store) -> None:
    _write_workspace(place, name, version)
    _write_entries(place, version)
    now = EPOCH_MS - 100 * _HOUR + version * _HOUR
    build(place, store, now=now, lenient=True, allow_breaking=True)


def _write_workspace(place: Path, name: str, version: int) -> None:
    files = {
        "workspace.yaml": f"id: {name}\nlanguages: [en]\nmembers:\n"
        "  - {name: Mika, email: mika@acme.example, role: owner}\n",
        "apis/news.yaml": f"uid: api_{name}00000000\nendpoint: news\nkind: list\nfields:\n"
        "  - {id: title, type: text, required: true}\n  - {id: body, type: richtext}\n",
        "apis/facts.yaml": f"uid: api_{name}00000001\nendpoint: facts\nkind: list\nfields:\n"
        f"{_FACTS[version % len(_FACTS)]}",
        "content/facts/one.yaml": "createdAt: 2026-01-02\nkind: two\npart: {of: two}\n",
    }
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)


def _write_entries(place: Path, version: int) -> None:
    folder = place / "content" / "news"
    folder.mkdir(parents=True, exist_ok=True)
    # Two pictures that come and go with versions, and so are shared by some of them.
    picture = f"picture-{version % 2}.png"
    (folder / picture).write_bytes(_png(version % 2))
    # And one that no other version has, which so is needed by nothing while its version is on its way.
    own = f"own-{version}.png"
    (folder / own).write_bytes(_png(10 + version))
    text = f"Text {version} ![]({picture}) ![]({own})"
    (folder / "one.md").write_text(f"---\ntitle: One {version}\ncreatedAt: 2026-01-02\n---\n{text}\n")
    (folder / "two.md").write_text("---\ntitle: Two\ncreatedAt: 2026-01-03\n---\nThe same in all versions.\n")


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
