"""Templates: each is right as a whole, holds nothing inline, and escapes what it is given."""

from __future__ import annotations

import re
from pathlib import Path
from zoneinfo import ZoneInfo

import jinja2
import pytest

from server.pages.files import page_file
from server.pages.rendering import Pages, instant, minute, plural

FOLDER = Path(__file__).parents[3] / "server" / "pages"
TEMPLATES = sorted(FOLDER.glob("templates/*/*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_each_can_be_compiled_and_holds_nothing_inline(path: Path) -> None:
    Pages("")._environment.get_template(f"{path.parent.name}/{path.name}")
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"""\sstyle=|\son[a-z]+=["']|<style|<script(?![^>]*\ssrc=)|javascript:""", text)
    assert not re.findall(r"\|\s*safe|autoescape", text)
    assert not re.findall(r"(?:src|href|action)=\"(?:https?:)?//", text)


def test_what_is_given_is_escaped_and_what_is_missing_is_an_error() -> None:
    pages = Pages("/console")
    page = pages.render("sign_in/refusal.html", {"title": "<b>", "message": "\"'&<script>"})
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
    with pytest.raises(jinja2.UndefinedError):
        pages.render("sign_in/refusal.html", {"title": "x"})


def test_addresses() -> None:
    pages = Pages("/p/console")
    assert pages.url() == "/p/console"
    assert pages.url("a/b", "ü?", page=2, at="", x=None) == "/p/console/a%2Fb/%C3%BC%3F?page=2"


def test_files_and_their_licences() -> None:
    for path in FOLDER.glob("vendor/*.*s"):
        assert page_file(path.name) is not None
        assert (path.parent / f"{path.name.split('.')[0]}.LICENSE.txt").is_file(), path.name
    assert page_file("frames/frame.html") is None
    assert page_file("../rendering.py") is None


def test_instants_and_counts() -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    assert str(instant(1_790_000_001_000, tokyo)) == (
        '<time datetime="2026-09-21T14:13:21.000Z">2026-09-21 23:13:21</time>'
    )
    assert ">2026-09-21 23:13<" in str(minute(1_790_000_001_000, tokyo))
    assert "–" in str(instant(None, tokyo))
    assert (plural(1, "entry", "entries"), plural(1200, "entry", "entries")) == ("1 entry", "1,200 entries")
