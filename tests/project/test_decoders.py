"""Types are made known to msgspec while modules are imported, by one thread."""

from __future__ import annotations

import re

from tests.programs.copied_process import ROOT

MODULES = [path for folder in ("snapshots", "engine", "server") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_type_of_ours_is_decoded_without_a_decoder_of_the_module() -> None:
    # Two workspaces are opened by two threads: decoding a type for the first time in both at once ended the process.
    decoded = re.compile(r"msgspec\.json\.decode\([^\n]*type=(?:list\[)?_?[A-Z]")
    found = [str(path.relative_to(ROOT)) for path in MODULES if decoded.search(path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)
