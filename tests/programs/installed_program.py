"""The program as it is installed: packages and a command in an environment of its own, to be replaced by others."""

from __future__ import annotations

import shutil
import site
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cli", "engine", "server", "snapshots")
_VERSION = 'VERSION = "'
_COMMAND = """\
#!{python}
import sys
from parquetry import main
if __name__ == "__main__":
    sys.exit(main())
"""


class InstalledProgram:
    """An environment with one version of the program, which uses the other packages of this one."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        venv.create(directory, with_pip=False, symlinks=True)
        self._packages = next(directory.glob("lib/python*/site-packages"))
        (self._packages / "others.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
        self.command = directory / "bin" / "cms"
        self.command.write_text(_COMMAND.format(python=directory / "bin" / "python3"))
        self.command.chmod(0o755)

    def install(self, version: str, change: tuple[str, str, str] | None = None) -> None:
        """Put a version in the place of the one before, whatever of that runs; ``change`` is a file, a text in it, and
        what stands there instead."""
        made = self._made(version, change)
        new = self.directory / "new"
        shutil.copytree(made, new)
        # File by file, so that what starts meanwhile finds each module: the keeper imports its console after a while.
        for path in [path for path in new.rglob("*") if path.is_file()]:
            place = self._packages / path.relative_to(new)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
        shutil.rmtree(new)

    def _made(self, version: str, change: tuple[str, str, str] | None) -> Path:
        """A version as an installer leaves it, compiled."""
        made = self.directory / f"version-{version}"
        if made.is_dir():
            return made
        made.mkdir()
        shutil.copy(ROOT / "parquetry.py", made)
        for package in PACKAGES:
            shutil.copytree(ROOT / package, made / package)  # compiled, where the source is unchanged
        told = made / "snapshots" / "version.py"
        before = told.read_text()
        _, _, rest = before.partition(_VERSION)
        told.write_text(before.replace(f"{_VERSION}{rest.partition(chr(34))[0]}", f"{_VERSION}{version}"))
        if change is not None:
            file, old, text = change
            before = (made / file).read_text()
            assert old in before
            (made / file).write_text(before.replace(old, text, 1))
        return made
