"""``cms adopt compare`` finds each entry's page, and says what the two do not say alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.creating.init import adopt_site
from snapshots.adoption.proof.addresses import segments_of
from snapshots.adoption.proof.built_pages import read_built
from snapshots.adoption.proof.comparison import Aspect
from tests.programs.command_line import Cms, in_process
from tests.sites.compared_site import adopted, comparison
from tests.sites.site_folders import write_folder


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


LONG = "the oven is hot at five and the first loaves leave it before the town wakes up to smell them"
OTHER = "our flour comes from two mills on the river which both turn their stones by water alone"


def page(text: str, title: str = "", *, head: str = "", lang: str = "en") -> str:
    """Return a built page, with what themes put around a text."""
    return (
        f'<!doctype html><html lang="{lang}"><head><title>{title} | Site</title>{head}'
        "<style>.x{}</style></head><body>"
        f"<nav>Home About</nav><main><h1>{title}<a class=anchor>#</a></h1><p>{text}</p></main>"
        "<footer>End</footer></body></html>"
    )


def markdown(text: str, front: str = "") -> str:
    return f"---\ntitle: Bread\n{front}\n---\n{text}\n"


def site(tmp_path: Path, content: dict[str, str], public: dict[str, str]) -> tuple[Path, Path]:
    """Write a site with its pages, and adopt it."""
    root = adopted(write_folder(tmp_path / "site", content))
    return root, write_folder(root / "public", public)


HUGO = {"hugo.toml": 'baseURL = "https://x.example/"\n[permalinks]\nposts = "/:year/:slug/"\n'}


@pytest.mark.parametrize(
    ("file", "front", "address"),
    [
        ("content/posts/bread.md", "", "posts/bread/index.html"),
        ("content/posts/Warm Bread.md", "", "posts/warm-bread/index.html"),
        ("content/posts/bread.md", "slug: loaf", "posts/loaf/index.html"),
        ("content/posts/bread.md", "url: /a/b/", "a/b/index.html"),
        ("content/posts/bread/index.md", "", "posts/bread.html"),
        ("content/posts/bread.md", "date: 2020-01-02", "2020/bread/index.html"),
        ("content/posts/2020-01-02-bread.md", "", "blog/bread.html"),
        ("content/posts/a.md", "title2: x", "nobody/knows/why.html"),
    ],
)
def test_a_page_is_found_by_its_address_or_its_text(file: str, front: str, address: str, tmp_path: Path) -> None:
    content = {**HUGO, file: markdown(LONG, front), "content/posts/other.md": markdown(OTHER)}
    public = {address: page(LONG, "Bread"), "posts/other/index.html": page(OTHER, "Bread"), "404.html": page("None")}
    root, output = site(tmp_path, content, public)
    found = comparison(root, output)
    assert {pair.file: pair.page.rstrip("/") for pair in found.pairs}[file] == f"/{address.removesuffix('/index.html')}"
    assert [pair for pair in found.pairs if pair.otherwise] == []
    assert found.templates == ("/404.html",)
    assert found.unpublished == found.unknown == found.held_back == ()


def test_short_texts_are_told_apart_by_their_addresses(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    content = {**HUGO, **{f"content/posts/{name}.md": markdown("Hello.") for name in names}}
    public = {f"posts/{name}/index.html": page("Hello.", "Bread") for name in names if name != "b"}
    root, output = site(tmp_path, content, {**public, "index.html": page("Hello. Hello. Hello.", "Bread")})
    found = comparison(root, output)
    assert {pair.file: pair.page for pair in found.pairs} == {
        f"content/posts/{name}.md": f"/posts/{name}/" for name in "ac"
    }
    assert [one.file for one in found.unpublished] == ["content/posts/b.md"]


def test_languages_are_not_mixed_up_where_a_text_is_not_translated_yet(tmp_path: Path) -> None:
    config = "defaultContentLanguage = 'en'\n[languages.en]\n[languages.de]\n"
    content = {"hugo.toml": config, "content/a.md": markdown(LONG), "content/a.de.md": markdown(LONG)}
    public = {"a/index.html": page(LONG, "Bread"), "de/a/index.html": page(LONG, "Bread", lang="de")}
    root, output = site(tmp_path, content, public)
    found = comparison(root, output)
    assert {pair.file: pair.page for pair in found.pairs} == {"content/a.md": "/a/", "content/a.de.md": "/de/a/"}
    (output / "de/a/index.html").write_text(page(LONG, "Bread", lang="fr"))
    (pair,) = comparison(root, output).differing(Aspect.LANGUAGE)
    assert (pair.page, pair.otherwise[0].differences[0].page) == ("/de/a/", "fr")


def test_what_differs_is_shown_on_both_sides(tmp_path: Path) -> None:
    stated = '<meta property="article:published_time" content="2021-05-05T00:00:00Z">'
    content = {**HUGO, "content/posts/a.md": markdown(LONG, "date: 2020-01-02")}
    changed = LONG.replace("first loaves", "second loaves")
    root, output = site(tmp_path, content, {"2020/a/index.html": page(changed, "Cake", head=stated)})
    (pair,) = comparison(root, output).pairs
    said = {one.aspect: (one.differences[0].entry, one.differences[0].page) for one in pair.otherwise}
    assert said["text"] == ("is hot at five and the [first] loaves leave it before the town", said["text"][1])
    assert said["text"][1] == "is hot at five and the [second] loaves leave it before the town"
    assert said["title"][0] == "Bread"
    assert said["date"] == ("2020-01-02", "2021-05-05")
    assert set(said) == {"text", "title", "date"}


@pytest.mark.parametrize(
    "stated",
    [
        "<time datetime='2020-01-02T23:00:00-05:00'></time>",
        "<time datetime='2024-01-01'></time><i>January 2, 2020</i>",
        "",
    ],
)
def test_a_day_may_be_stated_in_another_zone_for_people_or_not_at_all(stated: str, tmp_path: Path) -> None:
    content = {**HUGO, "content/posts/a.md": markdown(LONG, "date: 2020-01-02")}
    root, output = site(tmp_path, content, {"2020/a/index.html": page(f"{LONG}{stated}", "Bread")})
    assert [pair.otherwise for pair in comparison(root, output).pairs] == [()]


@pytest.mark.parametrize(
    "shown",
    [
        LONG.replace("oven is", "<b>ov</b>en <a href=x>is</a>"),
        LONG.replace(" hot", "<button>Copy</button><svg><title>x</title></svg> hot"),
        LONG.replace("is hot", "is <span aria-hidden=true>#</span>\n\n hot"),
        LONG.replace("five", "five<script>let five = 6</script>"),
        LONG.replace("five", "five <a href='#five'>§</a>"),
    ],
)
def test_what_generators_add_to_a_text_is_no_difference(shown: str, tmp_path: Path) -> None:
    root, output = site(
        tmp_path, {**HUGO, "content/posts/a.md": markdown(LONG)}, {"posts/a.html": page(shown, "Bread")}
    )
    assert [pair.otherwise for pair in comparison(root, output).pairs] == [()]


QUOTED = f'We don\'t sell the "first" loaves -- not yet... They go, as ever, to the baker. {LONG}'


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("We don’t sell the “first” loaves – not yet… They go, as ever, to the baker.", None),
        ("We don't sell the «first» loaves — not yet. They <b>go</b>, as ever, to the baker .", None),
        ("We don't sell the first loaves -- not yet... They go, as ever, to the baker.", ("[']", "[]")),
        ("We don't sell the 'first' loaves -- not yet... They go as ever, to the baker.", ("[,]", "[]")),
        ("We don't sell the 'first' loaves -- not yet... They *go*, as ever, to the baker.", ("[]", "[*]")),
        ("We don't sell the 'first' loaves -- not yet! They go, as ever, to the baker.", ("[.]", "[!]")),
    ],
)
def test_marks_between_words_are_compared_in_whatever_form(
    shown: str, said: tuple[str, str] | None, tmp_path: Path
) -> None:
    content = {**HUGO, "content/posts/a.md": markdown(QUOTED)}
    root, output = site(tmp_path, content, {"posts/a/index.html": page(f"{shown} {LONG}", "Bread")})
    (pair,) = comparison(root, output).pairs
    found = [(one.aspect, one.differences[0]) for one in pair.otherwise]
    assert [aspect for aspect, _ in found] == ([] if said is None else [Aspect.MARKS])
    for _, difference in found:
        assert said is not None
        assert (said[0] in difference.entry, said[1] in difference.page) == (True, True)


LOST = "A paragraph that the file has lost on its way."


def test_what_an_entry_lacks_before_and_after_its_text_is_found(tmp_path: Path) -> None:
    """Whatever themes put around texts, it is no part of them."""
    texts = {name: f"{name} {LONG}\n\n{name} {OTHER}" for name in ("one", "two", "three", "four", "five")}
    content = {**HUGO, **{f"content/posts/{name}.md": markdown(text) for name, text in texts.items()}}
    shown = {name: "<p>".join(text.split("\n\n")) for name, text in texts.items()}
    public = {f"posts/{name}/index.html": page(text, "Bread") for name, text in shown.items()}
    root, output = site(tmp_path, content, public)
    assert [pair for pair in comparison(root, output).pairs if pair.otherwise] == []
    (output / "posts/one/index.html").write_text(page(f"{LOST}<p>{shown['one']}", "Bread"))
    (output / "posts/two/index.html").write_text(page(f"{shown['two']}<p>{LOST}", "Bread"))
    found = {pair.file: pair.otherwise for pair in comparison(root, output).pairs if pair.otherwise}
    assert {file: [one.aspect for one in otherwise] for file, otherwise in found.items()} == {
        "content/posts/one.md": [Aspect.TEXT],
        "content/posts/two.md": [Aspect.TEXT],
    }
    (first,), (last,) = (found[f"content/posts/{name}.md"][0].differences for name in ("one", "two"))
    words = LOST.removesuffix(".")
    assert (first.entry, first.page) == (
        "[] one the oven is hot at",
        f"Bread [{words}] one the oven is hot at",
    )
    assert (last.entry, last.page) == (
        "turn their stones by water alone []",
        f"turn their stones by water alone [{words}]",
    )


def test_pages_without_a_live_entry_are_told_apart(tmp_path: Path) -> None:
    content = {
        **HUGO,
        "content/posts/a.md": markdown(LONG),
        "content/posts/draft.md": markdown(OTHER, "draft: true"),
        "content/posts/_index.md": markdown(
            "All that we bake is told about here, and in the order in which it was baked."
        ),
    }
    mine = " ".join(f"word{number}" for number in range(50))
    public = {
        "posts/a/index.html": page(LONG, "Bread"),
        "posts/draft/index.html": page(OTHER, "Bread"),
        "posts/index.html": page("All that we bake is told about here, and in the order in which it was baked."),
        "by-hand.html": page(mine),
        "tags/index.html": page("Bread"),
        "404.html": page(" ".join(f"lost{number}" for number in range(50))),
        "old.html": '<meta http-equiv="refresh" content="0; url=/posts/a/">',
    }
    root, output = site(tmp_path, content, public)
    found = comparison(root, output)
    assert [(one.name, one.file, one.why) for one in found.held_back] == [
        ("/posts/", "content/posts/_index.md", "read by no API"),
        ("/posts/draft/", "content/posts/draft.md", "a draft"),
    ]
    assert [one.name for one in found.unknown] == ["/by-hand.html"]
    assert found.templates == ("/404.html", "/tags/")
    assert found.redirects == ("/old.html",)


def test_an_entry_on_the_page_of_another_is_no_accident(tmp_path: Path) -> None:
    content = {"content/a.md": markdown(LONG), "content/b.md": markdown(OTHER)}
    root, output = site(tmp_path, content, {"index.html": page(f"{LONG} <hr> Bread {OTHER}", "All")})
    found = comparison(root, output)
    assert found.unpublished == ()
    assert len(found.pairs) + len(found.inside) == 2


SITEMAP = (
    "<urlset><url><loc>https://x.example/posts/a/</loc></url><url><loc>https://x.example/posts/b</loc></url></urlset>"
)


@pytest.mark.parametrize("place", ["posts/a/index.html", "x.example/posts/a/index.html", "x.example/posts/a.html"])
def test_a_sitemap_lists_the_pages_that_were_saved_around_it(place: str, tmp_path: Path) -> None:
    content = {**HUGO, "content/posts/a.md": markdown(LONG)}
    root, output = site(
        tmp_path, content, {place: page(LONG, "Bread"), "other.html": page("x"), "sitemap.xml": SITEMAP}
    )
    found = comparison(root, output / "sitemap.xml")
    assert [pair.file for pair in found.pairs] == ["content/posts/a.md"]
    assert found.unsaved == ("https://x.example/posts/b",)
    assert found.pages == 1


def test_the_command_prints_lists_and_writes_a_page(cms: Cms, tmp_path: Path) -> None:
    content = {**HUGO, "content/posts/a.md": markdown(LONG), "content/posts/b.md": markdown(f"{OTHER} <b>now</b>")}
    public = {"posts/a/index.html": page(LONG.replace("hot", "<i>cold</i>"), "Bread")}
    root, output = site(tmp_path, content, public)
    done = cms("adopt", "compare", output, root, "--html", tmp_path / "report.html")
    assert done.status == 1
    assert "1 page, 2 entries\n" in done.out
    assert "Published here, and not by the site: 1\n  posts/b (en): content/posts/b.md\n" in done.out
    assert "Entries whose text differs: 1\n  content/posts/a.md: /posts/a/\n" in done.out
    report = (tmp_path / "report.html").read_text()
    assert "the oven is <mark>hot</mark> at five" in report
    assert "the oven is <mark>cold</mark> at five" in report

    found = cms("adopt", "compare", output, root, "--json").json
    assert found["unpublished"] == [{"entry": "posts/b (en)", "file": "content/posts/b.md"}]
    assert [one["file"] for one in found["differing"]] == ["content/posts/a.md"]

    write_folder(output, {"posts/b/index.html": page(f"{OTHER} now", "Bread")})
    assert cms("adopt", "compare", output, root).status == 0


def test_a_copy_is_compared_by_the_rules_of_its_site(cms: Cms, tmp_path: Path) -> None:
    write_folder(tmp_path / "site", {**HUGO, "content/posts/a.md": markdown("Hi.", "date: 2020-01-01")})
    adopt_site(tmp_path / "site", tmp_path / "copy")
    public = write_folder(tmp_path / "public", {"2020/a/index.html": page("Hi.", "Bread")})
    done = cms("adopt", "compare", public, tmp_path / "copy", "--site", tmp_path / "site")
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nothing", None, "is not there: run the site's generator first"),
        ("empty/x.txt", "x", "holds no HTML pages"),
        ("sitemap.xml", "<urlset/>", "lists no pages"),
        ("sitemap.xml", "<loc>https://x.example/../../etc/passwd</loc>", "None of the 1 pages in"),
    ],
)
def test_what_holds_no_pages_is_named(name: str, text: str | None, said: str, cms: Cms, tmp_path: Path) -> None:
    root = adopted(write_folder(tmp_path / "site", {**HUGO, "content/posts/a.md": markdown(LONG)}))
    if text is not None:
        write_folder(tmp_path, {name: text})
    done = cms("adopt", "compare", tmp_path / name.partition("/")[0], root)
    assert done.status == 1
    assert said in done.err


@pytest.mark.parametrize("address", ["https://[lang].example.com/", "http://[x", "http:///"])
def test_what_is_no_address_leads_nowhere(address: str) -> None:
    assert segments_of(address) == ()


def test_a_sitemap_leads_to_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    write_folder(tmp_path, {"secret": "<p>secret</p>", "secret.html": "<p>secret</p>"})
    urls = ["http://../secret", "http://[x", f"http://x.example/{'a' * 300}", "http://x.example/bread"]
    sitemap = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    public = write_folder(tmp_path / "public", {"sitemap.xml": sitemap, "x.example/bread.html": page(LONG, "Bread")})
    built = read_built(public / "sitemap.xml")
    assert [one.address for one in built.pages] == ["/bread"]
    assert built.unsaved == urls[:3]
