"""Files of an export are copied from inside of it only, whatever it calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from snapshots.importers.copies import Copies
from snapshots.importers.losses import Losses
from snapshots.importers.model import ASSET_BASE

URL = "https://old.example/a.png"


NAMES = ("none.png", "../secret.png", "link.png", "a" * 300 + ".png", "nul\0.png", "folder.png")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_in_the_export_keeps_its_address(tmp_path: Path, name: str) -> None:
    (tmp_path / "export/folder.png").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "export/link.png").symlink_to(tmp_path / "secret.png")
    losses, root = Losses(), tmp_path / "site"
    made = Copies(root, "media", losses).address([tmp_path / "export" / name], tmp_path / "export", name, URL, "here")
    assert (made, root.exists()) == (URL, False)
    assert [loss.why for loss in losses.all] == ["the export does not contain the file"]


def test_a_file_is_copied_once_under_a_name_that_is_safe(tmp_path: Path) -> None:
    source = tmp_path / "export/Ä b.PNG"
    source.parent.mkdir()
    source.write_bytes(b"x")
    copies = Copies(tmp_path / "site", "media", Losses())
    made = [copies.address([tmp_path / "no", source], source.parent, "Ä b.PNG", URL, "here") for _ in range(2)]
    [copy] = (tmp_path / "site/media").iterdir()
    assert made == [f"{ASSET_BASE}media/{copy.name}"] * 2
    assert copy.name.isascii()
    assert copy.name.endswith(".png")
    assert copy.read_bytes() == b"x"
