"""How long a real folder of 25,000 Markdown files takes to build: cold, after one change, unchanged; beside Hugo.

    python -m benchmarks.building.tldr PATH/TO/tldr.tar.xz [--rounds 5] [--json]

The archive holds ``tldr/pages[.<lang>]/<platform>/<page>.md``; the definitions are those of
tests/real_content/tldr. Hugo (Debian package ``hugo``) turns the same files into a site with the
smallest templates it accepts, in turns with us; leave it out with ``--no-hugo``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
DEFINITIONS = CODE / "tests" / "real_content" / "tldr"
CMS = [sys.executable, "-m", "cli.main"]


def timed(command: list[str], cwd: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return seconds


def hugo_site(content: Path, site: Path) -> None:
    """The same Markdown as a Hugo site; its shortcode marks are defused, or Hugo would refuse the pages."""
    (site / "layouts" / "_default").mkdir(parents=True)
    (site / "layouts/_default/single.html").write_text("{{ .Content }}")
    (site / "layouts/_default/list.html").write_text("{{ range .Pages }}{{ .Title }}{{ end }}")
    (site / "hugo.toml").write_text(
        'baseURL = "http://example.org/"\ntitle = "t"\ndisableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n'
    )
    for folder in content.glob("pages*"):
        shutil.copytree(folder, site / "content" / folder.name)
    for page in (site / "content").rglob("*.md"):
        text = page.read_text()
        if "{{<" in text or "{{%" in text:
            page.write_text(text.replace("{{<", "{{ <").replace("{{%", "{{ %"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("archive", type=Path)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--no-hugo", action="store_true")
    arguments.add_argument("--json", action="store_true", help="print the figures, in seconds, as JSON")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="parquetry-tldr-") as folder:
        work = Path(folder)
        with tarfile.open(options.archive) as archive:
            archive.extractall(work, filter="data")
        root, store, site = work / "tldr", work / "store", work / "site"
        shutil.copytree(DEFINITIONS, root, dirs_exist_ok=True)
        if not options.no_hugo:
            hugo_site(root, site)
        build = [*CMS, "snapshot", "build", str(root), "--store", str(store)]
        page = root / "pages" / "common" / "tar.md"
        figures: dict[str, list[float]] = {"cold": [], "hugo": [], "one change": [], "unchanged": []}
        for number in range(options.rounds):
            if not options.no_hugo:
                shutil.rmtree(site / "public", ignore_errors=True)
                figures["hugo"].append(timed(["hugo", "--quiet"], site))
            shutil.rmtree(store, ignore_errors=True)
            figures["cold"].append(timed(build, CODE))
            page.write_text(f"{page.read_text()}\n\nRound {number}.\n")
            figures["one change"].append(timed(build, CODE))
            time.sleep(2.5)  # younger files are looked at again, since their times prove nothing yet
            timed(build, CODE)
            figures["unchanged"].append(timed(build, CODE))
        if options.json:
            print(json.dumps(figures))
            return
        for name, seconds in figures.items():
            if seconds:
                print(
                    f"{name:12} median {statistics.median(seconds):6.2f} s   {min(seconds):.2f} to {max(seconds):.2f}"
                )
        if figures["hugo"]:
            ratios = [ours / theirs for ours, theirs in zip(figures["cold"], figures["hugo"], strict=True)]
            print(f"cold build / hugo: median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
