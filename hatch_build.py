"""Put the sites of ``examples/`` into the wheel, where ``cms init --example`` finds them."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from pathspec import GitIgnoreSpec

SITES = ("astro", "nextjs", "nuxt", "sveltekit")
TARGET = "cli/creating/sites"


class ExampleSites(BuildHookInterface[Any]):
    """Adds each file that git would not ignore: packages, builds and keys of whoever tries the sites stay away."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # there, `examples/` itself is used
            return
        examples = Path(self.root, "examples")
        ignored = GitIgnoreSpec.from_lines((examples / ".gitignore").read_text(encoding="utf-8").splitlines())
        files = [examples / ".gitignore", *(file for site in SITES for file in (examples / site).rglob("*"))]
        for file in files:
            name = file.relative_to(examples).as_posix()
            if file.is_file() and file.name != "README.md" and not ignored.match_file(name):
                build_data["force_include"][str(file)] = f"{TARGET}/{name}"
