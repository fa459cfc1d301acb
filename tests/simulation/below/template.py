"""The versions that people publish in a world: built for real, once for all worlds."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from snapshots.build.build import build
from snapshots.model import Workspace
from snapshots.store.store import Store, open_store
from tests.simulation.machines import EPOCH_MS

WORKSPACES = {"acme": 5, "blue": 3}
"""The workspaces, each with its number of versions."""
_HOUR = 3_600_000


class Template:
    """A store in a directory with all versions of all workspaces."""

    def __init__(self, root: Path) -> None:
        self.store: Store = open_store(root / "store")
        self.versions: dict[str, list[str]] = {}
        workspaces: list[Workspace] = []
        for name, number in WORKSPACES.items():
            place = root / name
            _write_workspace(place, name)
            for version in range(number):
                _write_entries(place, version)
                build(place, self.store, now=EPOCH_MS - 100 * _HOUR + version * _HOUR)
            workspace_store = self.store.workspace(name)
            self.versions[name] = sorted(workspace_store.versions())
            workspaces.append(workspace_store.manifest(self.versions[name][-1]).workspace)
        self.workspaces = tuple(workspaces)


def _write_workspace(place: Path, name: str) -> None:
    files = {
        "workspace.yaml": f"id: {name}\nlanguages: [en]\nmembers:\n"
        "  - {name: Mika, email: mika@acme.example, role: owner}\n",
        "apis/news.yaml": f"uid: api_{name}00000000\nendpoint: news\nkind: list\nfields:\n"
        "  - {id: title, type: text, required: true}\n  - {id: body, type: richtext}\n",
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
    (folder / "one.md").write_text(
        f"---\ntitle: One {version}\ncreatedAt: 2026-01-02\n---\nText {version} ![]({picture})\n"
    )
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
