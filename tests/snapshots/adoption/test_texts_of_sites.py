"""``cms init --from``: titles where generators find them, dates, and markup as each generator has it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.creating.init import adopt_site
from snapshots.build.build import build, check
from snapshots.columns import FileKind
from snapshots.store.store import open_store
from snapshots.times import format_datetime
from tests.sites.generator_sites import page
from tests.sites.site_folders import write_folder
from tests.snapshots.adoption.test_publication import NOW, live

VITEPRESS = {".vitepress/config.mts": "export default { lang: 'en-US' }\n"}
DOCUSAURUS = {"docusaurus.config.js": "module.exports = {i18n: {defaultLocale: 'en', locales: ['en']}};\n"}
TITLES = {
    "vitepress": (VITEPRESS | {"a.md": "# A *b* {#own}\n", "b.md": "---\ntitle: B\n---\n# Other\n"}, {"A b", "B"}),
    "vitepress-none": (VITEPRESS | {"a.md": "# A\n", "b.md": "## Lower\n"}, {"A", None}),
    "docusaurus": (DOCUSAURUS | {"docs/a.md": "import T from './t';\n\n# A\n\n<T/>\n"}, {"A"}),
    "mkdocs": ({"mkdocs.yml": "site_name: T\n", "docs/index.md": "Under\n=====\n"}, {"Under"}),
    "plain": ({"notes/a.md": "# A\n\nx\n"}, {"A"}),
    "hugo": (
        {"hugo.toml": "baseURL = 'https://x.example'\n", "content/p/a.md": "---\ntitle: F\n---\n# A\n"},
        {"F"},
    ),
}


@pytest.mark.parametrize("name", TITLES)
def test_titles_are_those_of_the_generator(name: str, tmp_path: Path) -> None:
    files, titles = TITLES[name]
    root = write_folder(tmp_path / "site", files)
    assert adopt_site(root, root).errors == 0
    found = [json.loads(text).get("title") for _, _, text in live(root, tmp_path / "store")]
    assert set(found) == titles


DATES = {
    "jekyll": (
        {
            "_config.yml": "timezone: UTC\n",
            "_posts/2020-01-01-a.md": page("a"),
            "_posts/2020-01-02-b.md": page("b", "date: 2019-05-05 10:00:00 +0200"),
        },
        {"2020-01-01T00:00:00.000Z", "2019-05-05T08:00:00.000Z"},
    ),
    "astro": (
        {"astro.config.mjs": "export default {}\n", "src/content/blog/a.md": page("a", "pubDate: 'Jul 08 2022'")},
        {"2022-07-08T00:00:00.000Z"},
    ),
    "pelican": (
        {
            "pelicanconf.py": "TIMEZONE = 'Asia/Tokyo'\nPATH = 'content'\n",
            "content/a.md": page("a", "Date: 2020-01-01"),
        },
        {"2019-12-31T15:00:00.000Z"},
    ),
    "docusaurus": (
        DOCUSAURUS
        | {
            "blog/2020-01-01-a.md": page("a"),
            "blog/2020/2020-02-02-b/index.md": page("b"),
            "blog/2020-01-03-c.md": page("c", "date: 2021-01-01"),
            "blog/d.md": page("d", "date: 2022-01-01"),
        },
        {
            "2020-01-01T00:00:00.000Z",
            "2020-02-02T00:00:00.000Z",
            "2021-01-01T00:00:00.000Z",
            "2022-01-01T00:00:00.000Z",
        },
    ),
    "zola": (
        {
            "config.toml": "base_url = 'https://x.example'\n",
            "content/blog/_index.md": "+++\n+++\n",
            "content/blog/2020-01-01-a.md": "+++\n+++\nx\n",
            "content/blog/2020-02-02_b/index.md": "+++\n+++\nx\n",
        },
        {"2020-01-01T00:00:00.000Z", "2020-02-02T00:00:00.000Z"},
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_those_of_the_generator(name: str, tmp_path: Path) -> None:
    files, dates = DATES[name]
    root = write_folder(tmp_path / "site", files)
    assert adopt_site(root, root).errors == 0
    opened = open_store(tmp_path / "store")
    made = build(root, opened, now=NOW)
    place = opened.workspace(made.workspace)
    found = set()
    for file in place.manifest(made.version).files:
        if file.kind is FileKind.PUBLISHED:
            rows = pq.read_table(place.bring_file(made.version, file), columns=["publishedAt"])
            found |= {format_datetime(at) for at in rows["publishedAt"].cast(pa.int64()).to_pylist()}
    assert found == dates


MARKUP = {
    "vitepress": (
        VITEPRESS | {"a.md": "::: tip Hot\nx\n:::\n\n::: code-group\n```js\na\n```\n:::\n"},
        "markdown-alert-tip",
    ),
    "docusaurus": (DOCUSAURUS | {"docs/a.md": "import A from 'a';\n\n:::note[T]\nx\n:::\n"}, "markdown-alert-note"),
    "obsidian": ({".obsidian/app.json": "{}", "n/a.md": "[[Page|words]]\n\n> [!info] T\n> x\n"}, "words"),
    "mkdocs": ({"mkdocs.yml": "site_name: T\n", "docs/a.md": '!!! warning "W"\n    x\n'}, "markdown-alert-warning"),
    "jekyll": (
        {
            "_config.yml": "lang: en\n",
            "_posts/2020-01-01-a.md": page("a", "", "{% highlight rb %}\nx\n{% endhighlight %}"),
        },
        "language-rb",
    ),
    "hexo": (
        {
            "_config.yml": "source_dir: source\n",
            "source/_posts/a.md": page("a", "date: 2020-01-01", "{% codeblock lang:rb %}\nx\n{% endcodeblock %}"),
        },
        "language-rb",
    ),
}


@pytest.mark.parametrize("name", MARKUP)
def test_markup_is_what_the_generator_makes_of_it(name: str, tmp_path: Path) -> None:
    files, part = MARKUP[name]
    root = write_folder(tmp_path / "site", files)
    assert adopt_site(root, root).errors == 0
    ((_, _, text),) = live(root, tmp_path / "store")
    assert part in text
    assert [left for left in (":::", "import A", "[[", "!!!", "{%") if left in text] == []
    assert [one.message for one in check(root, tmp_path / "cache").kept if one.kind == "shortcode"] == []


def test_a_thousand_tags_of_a_kind_are_one_warning(tmp_path: Path) -> None:
    tags = "[[a]]\n\n{{< figure src=a >}}\n\n:::unheard\n\n<Tabs>\n\n"
    files = {f"notes/{n}.mdx": f"# T\n\n{tags * 100}" for n in range(10)}
    root = write_folder(tmp_path / "site", files)
    adopt_site(root, root)
    told = [one for one in check(root, tmp_path / "cache").kept if one.kind == "shortcode"]
    assert len(told) == 4
    assert all("stays in the text (1,000 times, first here)" in one.message for one in told)


PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
BY_PAGE = {
    "hugo.toml": "baseURL = 'https://x.example'\n",
    "static/posts/hello/in-static.svg": PICTURE,
    "static/posts/of-section.svg": PICTURE,
    "static/root.svg": PICTURE,
    "content/posts/hello/in-content.svg": PICTURE,
    "content/posts/beside.svg": PICTURE,
    "content/posts/hello.md": page(
        "a",
        "",
        "![a](in-static.svg) ![b](../of-section.svg) ![c](../../root.svg) ![d](in-content.svg) ![e](beside.svg) "
        "![f](none.svg) ![g](../../../../secret.svg)",
    ),
    "content/posts/_index.md": page("index"),
}


def test_files_are_where_the_page_of_a_hugo_site_has_them(tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", BY_PAGE)
    assert adopt_site(root, root).errors == 0
    said = (root / "workspace.yaml").read_text()
    assert "assets: {folders: [static], missing: warn}  # 2 files that texts name are not there" in said
    told = [one.message for one in check(root, tmp_path / "cache").kept if one.kind == "missing-asset"]
    assert len(told) == 2
    assert "none.svg leads to content/posts/none.svg, and there is no such file: it is delivered as written" in told
    ((_, _, text),) = live(root, tmp_path / "store")
    assert text.count("/assets/site/") == 5

    (root / "content/posts/hello/none.svg").write_text(PICTURE)  # what was looked for and comes is found
    ((_, _, text),) = live(root, tmp_path / "store")
    assert text.count("/assets/site/") == 6
    (root / "static/posts/of-section.svg").unlink()
    (root / "content/posts/beside.svg").rename(root / "content/of-section.svg")
    ((_, _, text),) = live(root, tmp_path / "store")
    assert (text.count("/assets/site/"), "of-section" in text, "beside.svg" in text) == (5, True, True)


def test_data_become_apis_or_are_left_out_and_never_hundreds_of_errors(tmp_path: Path) -> None:
    files = {
        "about.md": page("about"),
        "data/texts.yml": "".join(f"key{n}: text {n}\n" for n in range(200)),
        "data/settings.yml": "title: T\ncolour: red\n",
        "data/people.yml": "".join(f"- {{id: 'Person {n}', name: N{n}}}\n" for n in range(90)),
        "data/twice.yml": "".join(f"- {{id: same, n: {n}}}\n" for n in range(90)),
        "data/odd.yml": "".join(f"{n}: {{when: '{n} o clock'}}\n" for n in range(90)) + '"": {}\n',
        "i18n/en.yml": "a: b\nc: {d: e}\n",
        "i18n/de.yml": "a: b\nc: {d: e}\n",
        "config/secrets.yml": "production: {password: hush}\ntest: {password: hush}\n",
    }
    root = write_folder(tmp_path / "site", files)
    adopted = adopt_site(root, root)
    assert adopted.errors == 0
    assert check(root, tmp_path / "cache").errors == 0
    made = {path.stem for path in (root / "apis").iterdir()}
    assert {"texts", "settings", "people", "i18n"} <= made
    assert "twice" not in made
    assert "data/twice.yml is in no API" in (root / "workspace.yaml").read_text()
    assert "hush" not in "".join(text for _, _, text in live(root, tmp_path / "store"))


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4"></svg>'


def test_pictures_in_notes_are_shown_and_notes_in_notes_are_told(tmp_path: Path) -> None:
    text = (
        'Before ![[oven.svg]] after, *and*\n![[warm loaf.svg|A "loaf"]]\n![[oven.svg|300]]\n'
        "![[oven.svg|Hot|300x200]]\n\n"
        "`![[oven.svg]]` ![[Other note]] ![[Other note#Part|it]] ![[paper.pdf]]"
    )
    files = {
        ".obsidian/app.json": "{}",
        "notes/a.md": page("a", "", text),
        "notes/Other note.md": page("b"),
        "files/pictures/oven.svg": SVG,
        "notes/warm loaf.svg": SVG,
    }
    root = write_folder(tmp_path / "vault", files)
    assert adopt_site(root, root).errors == 0
    (told,) = [one for one in check(root, tmp_path / "cache").kept if one.kind == "shortcode"]
    assert (told.file, "![[…]] stays in the text" in told.message, "3 " in told.message) == ("notes/a.md", True, True)
    (html,) = [json.loads(fields)["body"] for _, _, fields in live(root, tmp_path / "store") if "marka" in fields]
    pictures = re.findall(r"<img ([^>]*)>", html)
    assert [re.sub(r"/assets/[^\"]*", "", one) for one in pictures] == [
        'src="" alt="" width="8" height="4" loading="lazy"',
        'src="" alt="A &quot;loaf&quot;" width="8" height="4" loading="lazy"',
        'width="300" src="" alt="" loading="lazy"',
        'width="300" height="200" src="" alt="Hot" loading="lazy"',
    ]
    assert "<em>and</em>" in html
    assert "<code>![[oven.svg]]</code> ![[Other note]] ![[Other note#Part|it]] ![[paper.pdf]]" in html
