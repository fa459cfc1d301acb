"""A folder or file that is no content here gets an answer that says what it is, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.creating.init import NoContent, adopt_site
from snapshots.adoption.registry import GENERATORS, PLAIN
from tests.sites.site_folders import write_folder

REPOSITORY = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"docs/conf.py": "", "docs/a.rst": "A", "docs/b.rst": "B"},
            "is a folder of Sphinx, which is not supported. 2",
        ),
        (
            {"a.adoc": "= A"},
            "holds 1 file of AsciiDoc (.adoc), which is not read: convert them to Markdown",
        ),
        ({"a/b.mdoc": "# A"}, "holds 1 file of Markdoc (.mdoc), which is not read. What is read: Markdown"),
        ({"wp-config.php": "", "index.php": ""}, "run `cms import wordpress FILE`."),
        (
            {"hugo.toml": "", "content/a.html": "A"},
            "is a Hugo site, and holds no content in content/. 1 file",
        ),
        ({"a.txt": "x"}, "holds no content: no Markdown files, no folders of YAML, JSON or TOML files."),
    ],
)
def test_a_folder_without_content_is_told_what_it_is(files: dict[str, str], said: str, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", files)
    with pytest.raises(NoContent) as raised:
        adopt_site(site, site)
    assert said in str(raised.value)
    assert not (site / "workspace.yaml").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "export.xml",
            "is a file, not the folder of a site. An export of WordPress is read by `cms import",
        ),
        ("site.zip", "Unpack it, and name the folder"),
        ("notes.txt", "is a file, not the folder of a site."),
        ("none", "is not a folder. Name the folder of a site"),
    ],
)
def test_a_file_is_told_what_reads_it(name: str, said: str, tmp_path: Path) -> None:
    if name != "none":
        (tmp_path / name).write_text("x")
    with pytest.raises(NoContent) as raised:
        adopt_site(tmp_path / name, tmp_path / "workspace")
    assert said in str(raised.value)


def test_markdown_of_a_generator_that_is_not_supported_is_read_with_a_word_about_it(tmp_path: Path) -> None:
    site = write_folder(tmp_path, {"conf.py": "", "a.md": "# A\n"})
    adopt_site(site, site)
    assert "Sphinx is not supported: its Markdown is read as a plain folder" in (site / "workspace.yaml").read_text()


def test_the_guide_and_the_help_name_every_generator_that_is_read() -> None:
    guide = (REPOSITORY / "docs/coming-from.md").read_text().partition("## From a static-site generator\n")[2]
    rows = re.findall(r"^\| ([^|]+) \|", guide.partition("\n\nOther markup")[0], re.MULTILINE)
    in_guide = {name for row in rows for name in re.split(r", | and ", row)} - {
        "generator",
        "any other folder",
        "Starlight",
    }
    known = {one.name for one in GENERATORS if one is not PLAIN}
    assert in_guide == known
    help_of_init = (REPOSITORY / "cli/creating/init.py").read_text()
    named = re.sub(r'"\s*"', "", help_of_init).partition("existing site (")[2].partition(" or plain files)")[0]
    assert set(named.split(", ")) == known
