"""``cms review``: what a comment says of a change to a workspace, and what content in it cannot do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from comrak import ExtensionOptions, RenderOptions, render_markdown
from selectolax.lexbor import LexborHTMLParser

from cli.review import comment as written
from tests.programs.command_line import Cms, entry, in_process, write_workspace

HOSTILE = (
    "a | b `c` ``d",
    "<script>x</script>",
    "<img src=x onerror=y>",
    "[x](javascript:y)",
    "![x](//evil.example/p.png)",
    "@everyone #1",
    "**bold** _em_ ~~s~~",
    "</code></details>",
    "&lt;b&gt; \\",
)


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "published")


@pytest.fixture
def proposed(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "proposed")


def page(comment: str) -> LexborHTMLParser:
    """The comment as a service shows it."""
    extensions, rendering = ExtensionOptions(), RenderOptions()
    extensions.table = extensions.autolink = extensions.strikethrough = rendering.unsafe_ = True
    return LexborHTMLParser(render_markdown(comment, extension_options=extensions, render_options=rendering))


def test_nothing_changed(cms: Cms, published: Path, proposed: Path) -> None:
    ran = cms("review", str(proposed), "--base", str(published))
    assert ran.status == 0
    assert "Publishing this changes nothing." in ran.out


def test_entries_and_definitions(cms: Cms, published: Path, proposed: Path) -> None:
    definition = proposed / "apis/blog.yaml"
    text = definition.read_text(encoding="utf-8")
    definition.write_text(text.replace("kind: list\n", "kind: list\npage_url: /posts/{id}/{lang}\n"), encoding="utf-8")
    (proposed / "content/blog/one.md").write_text(entry("Another title"), encoding="utf-8")
    (proposed / "content/blog/four.md").write_text(entry("Four"), encoding="utf-8")
    (proposed / "content/authors/mika.yaml").unlink()
    ran = cms("review", str(proposed), "--base", str(published), "--site", "https://pr-7.example", "--json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert found["workspace"] == "site"
    assert found["entries"] == {"added": 1, "changed": 1, "removed": 1}
    assert [(one["api"], one["id"]) for one in found["removed"]] == [("authors", "mika")]
    shown = page(found["comment"])
    links = {link.text(): link.attributes["href"] for link in shown.css("a")}
    assert links == {"one": "https://pr-7.example/posts/one/en", "four": "https://pr-7.example/posts/four/en"}
    items = [" ".join(item.text().split()) for item in shown.css("li")]
    assert "changed one, Another title (en): Title: One → Another title" in items
    assert "added four, Four (en)" in items
    assert "authors/mika, Mika (en)" in items


def test_what_breaks_clients_comes_first_and_can_fail_the_job(cms: Cms, published: Path, proposed: Path) -> None:
    definition = proposed / "apis/blog.yaml"
    lines = definition.read_text(encoding="utf-8").splitlines(keepends=True)
    definition.write_text("".join(line for line in lines if "id: rating" not in line), encoding="utf-8")
    ran = cms("review", str(proposed), "--base", str(published))
    assert ran.status == 0, ran.err
    assert "**1 change would break clients.**" in ran.out
    titles = [title.text() for title in page(ran.out).css("h4")]
    assert titles[0] == "Breaks clients"
    assert cms("review", str(proposed), "--base", str(published), "--fail-on-breaking").status == 1


def test_errors_are_told_with_their_line_and_fail_the_job(cms: Cms, published: Path, proposed: Path) -> None:
    (proposed / "content/blog/one.md").write_text("---\ntitle: One\nrating: many\n---\n", encoding="utf-8")
    ran = cms("review", str(proposed), "--base", str(published))
    assert ran.status == 1
    shown = page(ran.out)
    assert "Not publishable: 1 error, 0 warnings." in shown.body.text()  # type: ignore[union-attr]
    cells = [cell.text() for cell in shown.css("tbody tr td")]
    assert cells[0] == "content/blog/one.md:3"
    assert cells[1].startswith("error: rating: ")


def test_without_a_base_and_with_a_broken_one(cms: Cms, published: Path, proposed: Path) -> None:
    assert "To compare with what is published" in cms("review", str(proposed)).out
    (published / "apis/blog.yaml").write_text("endpoint: [\n", encoding="utf-8")
    ran = cms("review", str(proposed), "--base", str(published))
    assert (ran.status, "What is published cannot be built" in ran.out) == (0, True)


@pytest.mark.parametrize("field", ["title", "rating"])
def test_content_stays_text(cms: Cms, published: Path, proposed: Path, field: str) -> None:
    """A title is shown as a value, a rating in the message that says it is none."""
    for at, text in enumerate(HOSTILE):
        fields = {"title": "Hostile", field: text}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items())
        (proposed / f"content/blog/e{at}.md").write_text(f"---\ncreatedAt: 2026-01-01\n{lines}---\n", encoding="utf-8")
        (published / f"content/blog/e{at}.md").write_text(entry("Before"), encoding="utf-8")
    comment = cms("review", str(proposed), "--base", str(published)).out
    shown = page(comment)
    places = shown.css("tbody td, li")
    assert len(places) >= len(HOSTILE)
    assert {node.tag for where in places for node in where.css("*")} <= {"td", "li", "p", "code", "del", "ins", "ul"}
    for node in shown.css("code"):
        node.decompose()
    assert "@everyone" not in shown.text()
    assert "#1" not in shown.text()


def test_words_that_differ_and_titles_of_what_is_gone_stay_text(cms: Cms, published: Path, proposed: Path) -> None:
    same = "A long beginning that is the same in both, so that words are compared one by one: "
    for at, (old, new) in enumerate(zip(HOSTILE, HOSTILE[1:] + HOSTILE[:1], strict=True)):
        for root, text in ((published, old), (proposed, new)):
            title = json.dumps(f"{same}{text} {'end ' * 9}")
            (root / f"content/blog/e{at}.md").write_text(
                f"---\ncreatedAt: 2026-01-01\ntitle: {title}\n---\n", encoding="utf-8"
            )
        more = f"title: {json.dumps(old)}\npublishStart: 2126-0{at % 3 + 1}-01\n"
        for root, name in ((published, "old"), (published, "gone"), (proposed, "new"), (proposed, "come")):
            text = more if name in ("old", "new", "come") else more.replace('title: "', 'title: "gone ')
            title = text.replace('title: "', 'title: "came ') if name == "come" else text
            (root / f"content/blog/{name}{at}.md").write_text(
                f"---\ncreatedAt: 2026-01-01\n{title}---\n", encoding="utf-8"
            )
    ran = cms("review", str(proposed), "--base", str(published))
    assert ran.status == 0, ran.err
    shown = page(ran.out)
    assert {title.text() for title in shown.css("h4")} >= {"Goes live and ends", "Renamed", "Removed"}
    assert len(shown.css("del")) >= len(HOSTILE)
    allowed = {"h3", "h4", "p", "code", "ul", "li", "del", "ins", "details", "summary", "b", "html", "head", "body"}
    allowed |= {"table", "thead", "tbody", "tr", "th", "td", "strong"}
    assert {node.tag for node in shown.css("*")} <= allowed
    for node in shown.css("code"):
        node.decompose()
    assert "@everyone" not in shown.text()
    assert "#1" not in shown.text()
    text = cms("review", str(proposed), "--base", str(published), "--format", "text").out
    assert "<script>x</script>" in text


def test_a_comment_fits_into_what_services_take(cms: Cms, published: Path, proposed: Path) -> None:
    for number in range(3_000):
        (proposed / f"content/blog/e{number}.md").write_text(f"---\nrating: {'x' * 300}\n---\n", encoding="utf-8")
    ran = cms("review", str(proposed), "--base", str(published))
    assert ran.status == 1
    assert len(ran.out) <= written.MOST_CHARACTERS
    assert "more; `cms check` lists them." in ran.out
