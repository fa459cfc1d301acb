"""``cms init --from``: definitions for the folders of sites, which check without an error and keep every file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from snapshots.adoption.named_files import named_files
from tests.programs.command_line import Cms, in_process
from tests.sites.site_folders import ASTRO, HUGO, JEKYLL, PLAIN, write_folder

DECAP = {
    "static/admin/config.yml": (
        "backend: {name: git-gateway}\ni18n: {structure: multiple_folders, locales: [en, pt_BR]}\ncollections:\n"
        "  - {name: news, folder: content/news, create: true, i18n: true, fields: []}\n"
        "  - {name: none, folder: content/none, fields: []}\n"
    ),
    "content/news/en/a.md": "---\ntitle: A\ndate: 2024-01-01\ncover: /a.jpg\n---\nA.\n",
    "content/news/pt_BR/a.md": "---\ntitle: Á\ndate: 2024-01-02\ncover: /b.jpg\n---\nÁ.\n",
}
ODD = {
    "we[i]rd/a.md": '---\n"no": 1\n"a b": 2\n"a_b": 3\n"{x}": 4\nid: not an id\nviews: 5\nTitle: T\ntitle: t\n---\nx\n',
    "we[i]rd/b.md": '---\nlang: klingon\nstatus: fine\nauthors: [{name: A}]\nmeta: {a: 1}\n"new\\nline": {}\n---\n',
    "broken/c.md": "---\ntitle: [\n---\n",
    "empty/d.md": "",
}


@pytest.fixture
def cms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cms:
    monkeypatch.delenv("CMS_STORE", raising=False)
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("name", "files", "says"),
    [
        ("Hugo", HUGO, {"apis/posts.yaml": ["- content/posts/{path}.{lang?}.md", "lang: null", "multilingual: true"]}),
        (
            "Jekyll",
            JEKYLL,
            {"apis/posts.yaml": ["{year}-{month}-{day}-{name}.MD"], "apis/people.yaml": ['id: "{name}"']},
        ),
        (
            "Astro",
            ASTRO,
            {"apis/blog.yaml": ["src/content/blog/{lang}/{path}.mdx", "publishedAt: pubDate"]},
        ),
        ("Decap", DECAP, {"apis/news.yaml": ["content/news/{lang}/{path}.md", "id: cover, type: image"]}),
        ("plain", PLAIN, {"apis/notes.yaml": ["notes/{path}.md", "notes/{path}.markdown"]}),
        ("plain", ODD, {"apis/we-i-rd.yaml": ["we[[]i]rd/{path}.md", "id: null"]}),
    ],
    ids=["hugo", "jekyll", "astro", "decap", "plain", "odd"],
)
def test_the_definitions_check_without_an_error_and_the_content_stays(
    cms: Cms, tmp_path: Path, name: str, files: Mapping[str, str], says: Mapping[str, list[str]]
) -> None:
    site = write_folder(tmp_path / "my-site", files)
    ran = cms("init", "--from", site)
    assert ran.status == 0, ran.err
    for file, parts in says.items():
        text = (site / file).read_text()
        assert [part for part in parts if part.strip('"- ') not in text.replace('"', "") and part not in text] == []
    assert f" {name} site. " in (site / "workspace.yaml").read_text()
    assert {file: (site / file).read_text() for file in files} == dict(files)
    found = cms("check", site, "--json").json["problems"]
    assert [problem for problem in found if problem["severity"] == "error"] == []
    for file in files:
        if file.startswith("broken/"):
            excluded = f'exclude:\n  - "{file}"  # '
            assert any(excluded in path.read_text() for path in (site / "apis").iterdir()), file


def test_a_second_directory_gets_a_copy(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO)
    assert cms("init", tmp_path / "copy", "--from", site).status == 0
    assert not (site / "workspace.yaml").exists()
    assert cms("check", tmp_path / "copy").status == 0
    assert (tmp_path / "copy/content/posts/hello.md").read_text() == HUGO["content/posts/hello.md"]


def test_nothing_is_written_over(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO, {"apis/x.yaml": "mine"})
    ran = cms("init", "--from", site)
    assert (ran.status, "apis already exists" in ran.err) == (1, True)
    assert not (site / "workspace.yaml").exists()


def test_a_wrong_store_is_told_before_anything_is_written(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO)
    ran = cms("init", "--from", site, "--store", "ftp://example.org/store")
    assert (ran.status, "ftp://example.org/store" in ran.err) == (1, True)
    assert not (site / "workspace.yaml").exists()


def test_definitions_are_for_everybody_and_the_store_is_not(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", HUGO)
    before = os.umask(0o022)
    try:
        assert cms("init", "--from", site, "--yes").status == 0
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (site / "workspace.yaml", site / ".cms")}
    assert modes == {"workspace.yaml": 0o644, ".cms": 0o750}


def test_a_folder_without_content_says_so(cms: Cms, tmp_path: Path) -> None:
    assert (
        "holds no content: no Markdown files" in cms("init", "--from", write_folder(tmp_path / "x", {"a.txt": ""})).err
    )
    other = write_folder(tmp_path / "y", {"posts/a.mdoc": "# A", "posts/b.mdoc": "# B"})
    assert "holds 2 files of Markdoc (.mdoc), which are not read" in cms("init", "--from", other).err
    assert "is not a folder" in cms("init", "--from", tmp_path / "none").err


def test_a_name_that_is_not_utf_8_is_left_to_the_check(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", PLAIN)
    Path(os.fsdecode(os.fsencode(site) + b"/notes/\xff.md")).write_text("x")
    assert cms("init", "--from", site).status == 0
    assert "the name is not valid UTF-8" in cms("check", site).out


def test_a_configuration_alone_makes_no_jekyll_site(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(tmp_path / "site", {"_config.yml": "title: Hexo\n", "source/_posts/a.md": "x\n"})
    assert cms("init", "--from", site).status == 0
    assert "source/{path}.md" in (site / "apis/source.yaml").read_text()


def test_references_images_and_groups_are_told_from_the_values(cms: Cms, tmp_path: Path) -> None:
    files = {
        "_config.yml": "collections: {authors: {}}\n",
        "_authors/mika.md": "---\nname: Mika\n---\n",
        "_authors/ken.md": "---\nname: Ken\n---\n",
        "_data/people.yml": "- name: Ann M. Lee\n- name: Bo\n",
        "_posts/2026-01-01-a.md": (
            "---\ntitle: A\nauthor: mika\nauthors: [mika, ken]\npeople: [Ann M. Lee]\ntags: [x, mika]\n"
            "gallery: [/a.jpg, /b.png]\nseo: {title: T, cover: /c.jpg, more: {deep: 1}}\n"
            "steps:\n  - {text: one, author: ken, open: true}\n  - {text: two}\n"
            "odd: {a-b: 1}\nmixed: [{a: 1}, 2]\n---\n"
        ),
        "_posts/2026-01-02-b.md": "---\ntitle: B\nseo: {title: U}\nsteps: []\n---\n",
    }
    site = write_folder(tmp_path / "site", files)
    assert cms("init", "--from", site).status == 0
    definition = (site / "apis/posts.yaml").read_text()
    for line in (
        "{id: author, type: reference, api: authors}",
        "{id: authors, type: references, api: authors}",
        "{id: people, type: references, api: people}",
        "{id: tags, type: multiple_select}",
        "{id: gallery, type: images}",
        "{id: seo, type: group, fields: [{id: title, type: text}, {id: cover, type: image}, "
        "{id: more, type: group, fields: [{id: deep, type: number}]}]}",
        "{id: steps, type: groups, fields: [{id: text, type: text}, {id: author, type: reference, api: authors}, "
        "{id: open, type: boolean}]}",
        "# {id: odd, from: odd}",
        "# {id: mixed, from: mixed}",
    ):
        assert line in definition, definition
    found = cms("check", site, "--json").json
    assert (found["errors"], [one for one in found["problems"] if "there is no entry" in one["message"]]) == (0, [])


def adopted(cms: Cms, site: Path) -> tuple[dict[str, str], list[str]]:
    """Return the definitions that are written for a site, by name, and the errors in it then."""
    ran = cms("init", "--from", site)
    assert ran.status == 0, ran.err
    texts = {path.stem: path.read_text() for path in [site / "workspace.yaml", *(site / "apis").iterdir()]}
    found = cms("check", site, "--json").json["problems"]
    return texts, [problem["message"] for problem in found if problem["severity"] == "error"]


def test_a_jekyll_site_publishes_no_hidden_post_and_loses_no_folder(cms: Cms, tmp_path: Path) -> None:
    files = {
        "_config.yml": "exclude: [vendor]\n",
        "_posts/2026-01-01-news.md": "---\ntitle: A\ncover: none.png\n---\n",
        "_posts/2026-02-01-news.md": "---\ntitle: B\n---\n",
        "_posts/2026-03-01-hidden.md": "---\ntitle: C\npublished: false\n---\n",
        "tech/_posts/2026-04-01-deep.md": "---\ntitle: D\n---\n",
        "_drafts/idea.md": "---\ntitle: E\n---\n",
        "_data/odd.yml": "- {a: 1}\n- {a: 2}\n",
        "docs/guide/intro.md": "---\n---\nx\n",
        "vendor/x.md": "x\n",
    }
    texts, errors = adopted(cms, write_folder(tmp_path / "site", files))
    assert errors == []
    posts = texts["posts"]
    assert '"tech/_posts/{year}-{month}-{day}-{name}.md"' in posts
    assert "hidden: [published]\n" in posts
    assert "# 1 of 4 files in posts is left out by 'published' (\"false\"), as by Jekyll\n" in texts["workspace"]
    assert "id: published" not in posts
    assert 'id: "{year}-{month}-{day}-{name}"' in posts
    assert "{id: cover, type: text}" in posts
    assert "# 1 file is left out, such as _drafts/idea.md: Jekyll publishes no drafts" in texts["workspace"]
    assert '"docs/{path}.md"' in texts["docs"]
    assert "such as _data/odd.yml" in texts["workspace"]
    assert "vendor" not in texts


def test_languages_are_told_from_the_names_of_folders(cms: Cms, tmp_path: Path) -> None:
    plain = dict.fromkeys(("en/a.md", "pt_BR/a.md", "api/b.md", "notes/css/c.md", "notes/api/d.md"), "x\n")
    texts, errors = adopted(cms, write_folder(tmp_path / "plain", plain))
    assert errors == []
    assert '"{lang}/{path}.md"' in texts["pages"]
    assert 'languages: [en, "pt-BR"]' in texts["workspace"]
    assert "multilingual" not in texts["notes"]
    beside = dict.fromkeys(("pages/x/a.md", "pages.de/x/a.md", "pages.pt_BR/x/a.md"), "x\n")
    texts, errors = adopted(cms, write_folder(tmp_path / "beside", beside))
    assert errors == []
    assert '"pages.{lang}/{path}.md"' in texts["pages"]
    astro = {f"src/content/docs/{name}": "x\n" for name in ("index.mdx", "a/b.mdx", "fr/index.mdx", "fr/a/b.mdx")}
    astro |= {"astro.config.mjs": "", "src/content/blog/one/index.md": "x\n"}
    texts, errors = adopted(cms, write_folder(tmp_path / "astro", astro))
    assert errors == []
    assert '"src/content/docs/{lang?}/{path}.mdx"' in texts["docs"]
    assert '"src/content/blog/{path}/index.md"' in texts["blog"]
    assert "looking at an Astro site" in texts["workspace"]
    hugo = {"content/english/blog/a.md": "x\n", "content/french/blog/a.md": "x\n", "content/other/x.md": "x\n"}
    hugo |= {"hugo.yaml": "languages: {en: {contentDir: content/english}, fr: {contentDir: content/french}}\n"}
    texts, errors = adopted(cms, write_folder(tmp_path / "hugo", hugo))
    assert errors == []
    assert "lang_map: {english: en, french: fr}" in texts["workspace"]


def test_data_files_are_content_too(cms: Cms, tmp_path: Path) -> None:
    files = {
        "dist/presets.json": '{"version": 1, "presets": {"a/b": {"icon": "x"}, "c": {"icon": "y"}}}',
        "dist/texts/en.json": '{"menu": {"home": "Home"}}',
        "dist/texts/pt_BR.json": '{"menu": {"home": "Casa"}}',
        "data/shops/a/one.json": '{"name": "One"}',
        "data/shops/two.json": '{"name": "Two"}',
    }
    texts, errors = adopted(cms, write_folder(tmp_path / "site", files))
    assert errors == []
    assert "from: $.presets" in texts["presets"]
    assert "from: $.**" in texts["texts"]
    assert '"dist/texts/{lang}.json"' in texts["texts"]
    assert '"data/shops/{path}.json"' in texts["shops"]
    decap = {
        "admin/config.yml": (
            "i18n: {structure: multiple_files, locales: [en, de]}\ncollections:\n"
            "  - {name: one, files: [{name: home, file: content/home.yml}]}\n"
            "  - {name: goods, folder: content/goods, path: '{{slug}}/index', i18n: {structure: single_file}}\n"
        ),
        "content/home.yml": "title: Home\n",
        "content/goods/a/index.md": "---\nen: {title: A}\n---\n",
    }
    texts, errors = adopted(cms, write_folder(tmp_path / "decap", decap))
    assert errors == []
    assert "kind: object" in texts["home"]
    assert '"content/goods/{path}/index.md"' in texts["goods"]


def test_a_hugo_site_with_translations_by_key_and_page_bundles(cms: Cms, tmp_path: Path) -> None:
    front = "---\ntitle: {}\ndate: 2024-03-01\ntranslationKey: {}\n---\n"
    files = {
        "hugo.toml": (
            'defaultContentLanguage = "en"\ntimeZone = "Europe/Berlin"\n'
            '[languages.en]\ncontentDir = "content/english"\n[languages.de]\ncontentDir = "content/german"\n'
        ),
        "content/english/posts/_index.md": "---\ntitle: Posts\n---\n",
        "content/english/posts/spring/index.md": front.format("Spring", "spring-time")
        + '![a](tree.svg) <img src="my tree.svg" alt="m"> ![b](../none.svg) ![c](https://x.example/tree.svg) '
        "![d](/tree.svg)\n",
        "content/english/posts/spring/tree.svg": "<svg viewBox='0 0 3 2'/>",
        "content/english/posts/spring/my tree.svg": "<svg viewBox='0 0 3 2'/>",
        "content/english/posts/spring/unused.svg": "<svg viewBox='0 0 3 2'/>",
        "content/german/posts/fruehling/index.md": front.format("Frühling", "spring-time"),
        "content/english/posts/both.md": "---\ntitle: Both\ndate: 2024-03-02\n---\n",
        "content/german/posts/both.md": "---\ntitle: Beide\ndate: 2024-03-02\n---\n",
        "content/english/about.md": front.format("About", "about"),
        "content/german/ueber.md": front.format("Über", "about"),
    }
    site, copy = write_folder(tmp_path / "site", files), tmp_path / "copy"
    assert cms("init", copy, "--from", site).status == 0
    assert sorted(path.name for path in copy.rglob("*.svg")) == ["my tree.svg", "tree.svg"]
    assert 'timezone: "Europe/Berlin"\n' in (copy / "workspace.yaml").read_text()
    problems = [str(problem["message"]) for problem in cms("check", copy, "--json").json["problems"]]
    told = "../none.svg leads to content/english/posts/none.svg, and there is no such file: it is delivered as written"
    assert problems == [told]
    (copy / "content/english/posts/none.svg").write_text("<svg viewBox='0 0 3 2'/>")
    store = ("--store", tmp_path / "store")
    assert cms("snapshot", "build", copy, *store).status == 0
    german = cms("query", "posts?lang=de&fields=title", *store).json["contents"]
    assert german == [{"id": "both", "title": "Beide"}, {"id": "spring-time", "title": "Frühling"}]
    assert cms("query", "posts/spring-time?fields=title", *store).json["title"] == "Spring"
    assert cms("query", "pages/about?lang=de&fields=title", *store).json["title"] == "Über"


def test_a_jekyll_site_says_its_time_zone_defaults_and_the_place_of_its_collections(cms: Cms, tmp_path: Path) -> None:
    files = {
        "_config.yml": (
            "timezone: Asia/Tokyo\ncollections_dir: my\ncollections: {recipes: {permalink: /cook/:title/}}\n"
            "defaults: [{scope: {path: ''}, values: {author: ann}}]\n"
        ),
        "my/_recipes/bread.md": "---\ntitle: Bread\n---\n",
        "my/_posts/2024-01-02-hello.md": "---\ntitle: Hello\n---\n",
        "my/_drafts/idea.md": "---\ntitle: Idea\n---\n",
    }
    site = write_folder(tmp_path / "site", files)
    assert cms("init", "--from", site).status == 0
    assert "my/_recipes/{path}.md" in (site / "apis/recipes.yaml").read_text()
    written = (site / "workspace.yaml").read_text()
    assert "# the 'defaults' of _config.yml are not read" in written
    assert 'timezone: "Asia/Tokyo"\n' in written
    assert cms("snapshot", "build", site, "--store", tmp_path / "store").status == 0
    found = cms("query", "posts?fields=publishedAt", "--store", tmp_path / "store").json["contents"]
    assert found == [{"id": "hello", "publishedAt": "2024-01-01T15:00:00.000Z"}]


def test_files_are_named_in_any_markup_and_never_hidden_or_outside(tmp_path: Path) -> None:
    named = ("a.png", "b c.PNG", "d.jpg", "e/f.pdf", "g.svg", "h i.gif", "j.mp4", "../over.png")
    text = (
        "---\ncover: a.png\nmore: [d.jpg, './e/f.pdf']\n---\n![b](<b c.PNG>) <img src=g.svg> ![x](h%20i.gif) "
        "<video src='j.mp4?x=1'> ![o](../over.png) ![h](.hidden.png) ![s](../../secret.png) ![l](link.png) "
        "![n](none.png) ![x](x.html) " + "A" * 300_000
    )
    site = write_folder(
        tmp_path / "site", {"c/a.md": text, "c/x.html": "x", "c/.hidden.png": "x", "../secret.png": "x"}
    )
    write_folder(site, {f"c/{name}": "x" for name in named})
    (site / "c/link.png").symlink_to(tmp_path / "secret.png")
    assert named_files(site, ["c/a.md", "c/none.md"]) == sorted([*(f"c/{name}" for name in named[:-1]), "over.png"])


def test_what_a_hugo_site_keeps_back_is_left_out_and_told(cms: Cms, tmp_path: Path) -> None:
    files = {
        "hugo.yaml": "languages: {en: {}, pt: {}}\n",
        "content/posts/spring/index.md": "---\ntitle: A\ndate: 2024-03-01\n---\n",
        "content/posts/spring/index.pt.md": "---\ntitle: B\ndate: 2024-03-01\n---\n",
        "content/posts/spring/notes/part.md": "---\ntitle: C\n---\n",
        "content/posts/old.html": "<p>x</p>",
        "content/authors/ann/_index.md": "---\ntitle: Ann\n---\n",
    }
    site = write_folder(tmp_path / "site", files)
    assert cms("init", "--from", site).status == 0
    told = (site / "workspace.yaml").read_text()
    assert "# 1 file in content/ is in no API so far, such as content/posts/old.html\n" in told
    assert "# content/authors/ has _index files only, of sections or of terms: they are in no API" in told
    assert "# files beside the index of a page bundle are parts of its page" in ((site / "apis/posts.yaml").read_text())
    store = ("--store", tmp_path / "store")
    assert cms("snapshot", "build", site, *store).status == 0
    assert [one["id"] for one in cms("query", "posts?fields=id", *store).json["contents"]] == ["spring"]
    assert cms("query", "posts/spring?lang=pt&fields=title", *store).json["title"] == "B"


def test_what_a_jekyll_collection_keeps_back_is_left_out_and_told(cms: Cms, tmp_path: Path) -> None:
    files = {
        "_config.yml": "collections: [events]\n",
        "_events/fair.md": "---\ntitle: Fair\ndate: 2024-03-01\n---\n",
        "_events/_drafts/secret.md": "---\ntitle: Secret\ndate: 2024-03-01\n---\n",
        "_events/2024/_half.md": "---\ntitle: Half\ndate: 2024-03-01\n---\n",
        "_events/old.textile": "x",
    }
    site = write_folder(tmp_path / "site", files)
    assert cms("init", "--from", site).status == 0
    assert "# 2 files in _events/ are in no API so far" in (site / "workspace.yaml").read_text()
    assert "names begin with _ are left out" in (site / "apis/events.yaml").read_text()
    store = ("--store", tmp_path / "store")
    built = cms("snapshot", "build", site, *store)
    assert built.status == 0
    assert built.err.count("warning: ") == built.err.count("_events/old.textile:1: warning: a .textile file") == 1
    assert [one["id"] for one in cms("query", "events?fields=id", *store).json["contents"]] == ["fair"]


def test_the_tags_of_a_jekyll_sites_links_become_rules(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(
        tmp_path / "site",
        {
            "_config.yml": "baseurl: /blog/\nurl: https://x.example\n",
            "_posts/2016-07-26-new.md": (
                "---\n---\n[a]({% post_url 2010-07-21-old %}) "
                "[b]({{ site.baseurl }}{% link my/_posts/2011-01-01-other.md %})\n\n"
                "[c]({{ '/posts/old/' | relative_url }}) [d]({% link _posts/2010-07-21-none.md %})\n"
            ),
            "_posts/2010-07-21-old.md": "---\n---\n[e]({%- link _posts/2016-07-26-new.md -%})\n",
            "my/_posts/2011-01-01-other.md": "---\n---\nx\n",
        },
    )
    assert cms("init", "--from", site).status == 0
    written = (site / "workspace.yaml").read_text()
    assert written.endswith(
        'shortcodes:\n  link: {replace: "@/{0}"}\n  post_url: {replace: "@/{0}"}\n'
        '  "site.baseurl": {replace: "/blog"}\n  relative_url: {replace: "/blog{0}"}\n'
    )
    assert "# links by link and post_url lead only to entries of APIs that have a 'page_url'" in written
    assert "multilingual" not in (site / "apis/posts.yaml").read_text()  # my/ is a category
    add_pages(site, "posts", "/blog/posts/{id}/")
    assert [(one["line"], one["message"][:39]) for one in cms("check", site, "--json").json["problems"]] == [
        (5, "the link @/_posts/2010-07-21-none.md le")
    ]
    store = ("--store", tmp_path / "store")
    assert cms("snapshot", "build", site, *store).status == 0
    assert (
        cms("query", "posts/new?fields=body", *store)
        .json["body"]
        .startswith(
            '<p><a href="/blog/posts/old/">a</a> <a href="/blog/posts/other/">b</a></p>\n'
            '<p><a href="/blog/posts/old/">c</a> '
        )
    )


def test_the_tags_of_a_hugo_sites_links_become_rules(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(
        tmp_path / "site",
        {
            "hugo.toml": "",
            "content/about.md": '---\ndate: 2024-01-01\n---\n[a]({{< ref "posts/deep/two.md#x" >}})\n',
            "content/posts/one.md": '---\ndate: 2024-01-01\n---\n[a]({{% ref "about" %}})\n\n[b]({{< ref "no" >}})\n',
            "content/posts/deep/two.md": "---\ndate: 2024-01-01\n---\nx\n",
        },
    )
    assert cms("init", "--from", site).status == 0
    assert (site / "workspace.yaml").read_text().endswith('shortcodes:\n  ref: {replace: "@/{0}{path}"}\n')
    add_pages(site, "posts", "/posts/{id}/")
    add_pages(site, "pages", "/{id}/")
    assert [(one["line"], one["message"][:20]) for one in cms("check", site, "--json").json["problems"]] == [
        (6, "the link @/no leads ")
    ]
    store = ("--store", tmp_path / "store")
    assert cms("snapshot", "build", site, *store).status == 0
    assert '<a href="/about/">a</a>' in cms("query", "posts/one?fields=body", *store).json["body"]
    about = cms("query", "pages/about?fields=body", *store).json["body"]
    assert about == '<p><a href="/posts/deep-two/#user-content-x">a</a></p>\n'


def add_pages(site: Path, endpoint: str, page_url: str) -> None:
    path = site / f"apis/{endpoint}.yaml"
    path.write_text(path.read_text().replace("kind: list\n", f"kind: list\npage_url: {page_url}\n"))


def test_no_tag_no_rule(cms: Cms, tmp_path: Path) -> None:
    site = write_folder(
        tmp_path / "site", JEKYLL, {"_posts/2026-01-01-x.md": "{{ page.title }} {% linked %} link ref\n"}
    )
    assert cms("init", "--from", site).status == 0
    assert "shortcodes" not in (site / "workspace.yaml").read_text()


def test_texts_that_jekyll_divides_are_told(cms: Cms, tmp_path: Path) -> None:
    files = {
        "_posts/2026-01-01-a.md": "---\ntags: one two\ncategories: news\ntopics: one two\n---\n",
        "_posts/2026-01-02-b.md": "---\ntags: [a, b]\n---\n",
    }
    texts, errors = adopted(cms, write_folder(tmp_path / "jekyll", files))
    assert errors == []
    assert (
        "{id: tags, type: multiple_select}  # to Jekyll, 'one two' is several, divided by spaces; "
        "it is one here: write [one, two] in such files\n"
    ) in texts["posts"]
    assert "{id: categories, type: multiple_select}\n" in texts["posts"]
    assert "{id: topics, type: text}\n" in texts["posts"]
    hugo = {"hugo.toml": "", "content/posts/a.md": files["_posts/2026-01-01-a.md"]}
    texts, _ = adopted(cms, write_folder(tmp_path / "hugo", hugo))
    assert "{id: tags, type: text}\n" in texts["posts"]


@pytest.mark.parametrize(
    ("files", "config", "languages"),
    [
        (("it/_posts/2026-01-01-a.md",), "", None),
        (("it/_posts/2026-01-01-a.md", "_posts/2026-01-01-b.md"), "lang: en\n", None),
        (("it/_posts/2026-01-01-a.md", "_posts/2026-01-01-a.md"), "", "[en, it]"),
        (("it/_posts/2026-01-01-a.md", "_posts/2026-01-01-b.md"), "languages: [en, it]\n", "[en, it]"),
        (("it/_posts/2026-01-01-a.md", "de/_posts/2026-01-01-b.md"), "", "[en, de, it]"),
    ],
)
def test_a_folder_of_jekyll_posts_is_a_language_if_something_else_says_so(
    cms: Cms, tmp_path: Path, files: tuple[str, ...], config: str, languages: str | None
) -> None:
    posts = dict.fromkeys(files, "---\n---\nx\n")
    site = write_folder(tmp_path / "site", {"_config.yml": f"title: T\n{config}", **posts})
    texts, errors = adopted(cms, site)
    assert errors == []
    assert f"languages: {languages or '[en]'} " in texts["workspace"]
    assert ("multilingual" in texts["posts"], "{lang}" in texts["posts"]) == (languages is not None,) * 2


def test_what_a_site_keeps_back_in_its_own_way_is_hidden(cms: Cms, tmp_path: Path) -> None:
    """The pages that are not for everybody may stand behind the thousand that are looked at."""
    files = {f"notes/page-{number:04}.md": "---\nunlisted: false\n---\n" for number in range(1_000)}
    files |= {
        "notes/zz-two.md": "---\nunlisted: yes\n---\n",
        "notes/zz-three.md": "---\nunlisted: family\n---\n",
        "diary/a.md": "---\npublished: 2020-01-01\nstatus: seedling\n---\n",
        "diary/b.md": "---\npublished: 2999-01-01\n---\n",
        "diary/c.md": "---\npublished: 2021-01-01\nArchived: 'no'\ndraft: off\n---\n",
        "diary/d.md": "---\nDraft: on\n---\n",
        "log/a.md": "---\ndraft: nearly\n---\n",
        "log/b.md": "---\ndraft: true\n---\n",
        "log/c.md": "---\ntitle: T\n---\n",
    }
    site = write_folder(tmp_path / "site", files)
    texts, errors = adopted(cms, site)
    assert errors == []
    assert "hidden: [unlisted]\n" in texts["notes"]
    asked = (
        """# TODO: May pages be seen that say 'unlisted'? 2 of 1002 files in notes have it ("family", "yes"). Taken: """
    )
    assert asked in texts["notes"]
    assert "hidden: [status, Archived]\n" in texts["diary"]
    assert "May pages be seen that say 'status'? 1 of 4 files in diary have it (\"seedling\")" in texts["diary"]
    assert "publishStart: published\n" in texts["diary"]
    assert "hidden: [draft]\n" in texts["log"]
    assert cms("snapshot", "build", site, "--store", site / ".cms").status == 0
    answers = [
        cms("query", f"{api}?fields=id&limit=100", "--store", site / ".cms").json for api in ("notes", "diary", "log")
    ]
    assert [answer["totalCount"] for answer in answers] == [1_000, 1, 1]
    assert [answer["contents"] for answer in answers[1:]] == [[{"id": "c"}], [{"id": "c"}]]
