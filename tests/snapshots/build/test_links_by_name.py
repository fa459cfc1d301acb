"""Links that shortcodes make of the names of pages, as Hugo and Jekyll have them: to the entry, and checked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from snapshots.compile.links import Link, Links
from tests.snapshots.build.test_site_markup import FRONT, HEAD, Site

SHORTCODES = """
shortcodes:
  ref: {replace: "@/{0}{path}"}
  relref: {replace: "@/{0}{path}"}
  link: {replace: "@/{0}"}
  post_url: {replace: "@/{0}"}
  site.url: {replace: "https://site.example"}
  site.baseurl: {replace: /base}
  relative_url: {replace: "/base{0}"}
  note: {replace: "<b>{inner}</b>"}
"""
PAGES = """uid: api_Pages00000001
endpoint: pages
kind: list
multilingual: true
source: ["content/{path}/index.{lang?}.md", "content/{path}.{lang?}.md"]
exclude: "**/_index.md"
page_url: /base/{lang}/{id}/
fields: [{id: body, type: richtext}]
"""
POSTS = """uid: api_Posts00000001
endpoint: posts
kind: list
source: ["_posts/{year}-{month}-{day}-{name}.md", "tech/_posts/{year}-{month}-{day}-{name}.markdown"]
page_url: /base/posts/{id}/
fields: [{id: body, type: richtext}]
"""
NO_FILE = (
    "leads to no content file: write its path from the folder of this file or of the content: it is delivered as "
    "written"
)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site with the pages and posts to which the texts of a test link."""
    site = Site(tmp_path)
    site.write("workspace.yaml", HEAD + SHORTCODES)
    site.write("apis/pages.yaml", PAGES)
    site.write("apis/posts.yaml", POSTS)
    for name in ("about", "docs/setup", "docs/setup.ja", "docs/deep/leaf/index", "docs/a.b"):
        site.write(f"content/{name}.md", FRONT)
    site.write("content/docs/_index.md", FRONT)
    for path in ("_posts/2010-07-21-old.md", "tech/_posts/2011-01-01-other.markdown"):
        site.write(path, FRONT)
    return site


@pytest.mark.parametrize("address", ["https://other.example/@/about", "https://other.example/x/@/docs/setup.md#part"])
def test_an_address_of_another_site_is_no_name(site: Site, address: str) -> None:
    site.write("content/docs/x.md", f"{FRONT}[x]({address})\n")
    assert site.problems() == []
    assert site.bodies()["docs-x"] == f'<p><a href="{address}">x</a></p>\n'


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ('{{< ref "about.md" >}}', "/base/en/about/"),
        ('{{< ref "about" >}}', "/base/en/about/"),
        ('{{% ref "/about.md" %}}', "/base/en/about/"),
        ('{{< relref "../about" >}}', "/base/en/about/"),
        ('{{< relref "setup.md" >}}', "/base/en/docs-setup/"),
        ('{{< relref "./setup" >}}', "/base/en/docs-setup/"),
        ('{{< ref "docs/setup.md#part" >}}', "/base/en/docs-setup/#user-content-part"),
        ('{{< ref "/docs/setup/#part" >}}', "/base/en/docs-setup/#user-content-part"),
        ('{{< ref path="setup.ja.md" >}}', "/base/ja/docs-setup/"),
        ('{{< ref "deep/leaf" >}}', "/base/en/docs-deep-leaf/"),
        ('{{< ref "deep/leaf/index.md" >}}', "/base/en/docs-deep-leaf/"),
        ('{{< ref "a.b" >}}', "/base/en/docs-a-b/"),
        ('{{< ref "#here" >}}', "/base/en/docs-x/#user-content-here"),
        ("{% link about.md %}", "/base/en/about/"),
        ("{% link content/about.md %}", "/base/en/about/"),
        ("{% link _posts/2010-07-21-old.md %}", "/base/posts/old/"),
        ("{% post_url 2010-07-21-old %}", "/base/posts/old/"),
        ("{%- post_url 2011-01-01-other -%}", "/base/posts/other/"),
        ("{{ site.baseurl }}{% link _posts/2010-07-21-old.md %}#x", "/base/posts/old/#user-content-x"),
        ("{{ site.url }}{{ site.baseurl }}{% post_url 2010-07-21-old %}?a=1", "/base/posts/old/?a=1"),
        ('{{ "/en/about/" | relative_url }}', "/base/en/about/"),
        ('{{ "en/about/" | relative_url }}', "/base/en/about/"),
        ("{{site.baseurl}}/en/about/", "/base/en/about/"),
        ("@/docs/setup.md", "/base/en/docs-setup/"),
    ],
)
def test_names_lead_to_pages(site: Site, written: str, address: str) -> None:
    site.write("content/docs/x.md", f"{FRONT}[x]({written})\n\n<a href='{written}'>y</a>\n")
    assert site.problems() == []
    assert site.bodies()["docs-x"] == f'<p><a href="{address}">x</a></p>\n<p><a href="{address}">y</a></p>\n'


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{{< ref "abut.md" >}}', f"the link @/abut.md {NO_FILE}"),
        ('{{< ref "leaf" >}}', f"the link @/leaf {NO_FILE}"),
        ('{{% relref "../setup#part" %}}', f"the link @/../setup#part {NO_FILE}"),
        ('{{< ref path="/setup.md" >}}', f"the link @//setup.md {NO_FILE}"),
        ('{{< ref "../../../../etc/about" >}}', f"the link @/../../../../etc/about {NO_FILE}"),
        ("{% link _posts/2010-07-21-new.md %}", f"the link @/_posts/2010-07-21-new.md {NO_FILE}"),
        ("{% post_url 2010-07-22-old %}", f"the link @/2010-07-22-old {NO_FILE}"),
        ("{{ site.baseurl }}{% link none.md %}#x", f"the link /base@/none.md#x {NO_FILE}"),
        ('{{ "/en/none/" | relative_url }}', "a link leads to 'none' in pages, and there is no such entry"),
        ("{{ site.baseurl }}/en/none/", "a link leads to 'none' in pages, and there is no such entry"),
        (
            '{{< ref "/docs" >}}',
            "the link @//docs leads to content/docs/_index.md, which does not belong to any API: it is delivered as "
            "written",
        ),
        (
            '{{ "/en/about/" | absolute_url }}',
            "{{ … | absolute_url }} stays in the text: under 'shortcodes' in workspace.yaml, set what to "
            "do with 'absolute_url' (leave, drop or replace)",
        ),
    ],
)
def test_a_missing_page_is_told_at_its_line(site: Site, written: str, told: str) -> None:
    text = "abut.md, leaf, ../setup, none.md, /base, /en/none/\n\n{{% note %}}a\n\nb [x](WRITTEN)\n{{% /note %}}\n"
    site.write("content/docs/x.md", FRONT + text.replace("WRITTEN", written))
    assert site.problems() == [f"content/docs/x.md:8: warning: {told}"]


def test_the_line_is_that_of_the_whole_address(site: Site) -> None:
    lines = (
        '{{< ref "nothing/more.md" >}}',
        '{{< ref "nothing" >}}',
        "{{ site.baseurl }}/en/no/",
        '{{< ref "about" >}}',
    )
    site.write("content/docs/x.md", FRONT + "\n\n".join(f"[x]({line})" for line in lines))
    assert [problem.partition(" warning")[0] for problem in site.problems()] == [
        "content/docs/x.md:4:",
        "content/docs/x.md:6:",
        "content/docs/x.md:8:",
    ]


def test_a_name_means_the_page_in_the_language_of_the_text(site: Site) -> None:
    text = f'{FRONT}[a]({{{{< ref "setup" >}}}}) [b]({{{{< ref "about" >}}}}) [c]({{{{< ref "#x" >}}}})\n'
    for name in ("x.md", "x.ja.md", "only/index.ja.md"):
        site.write(f"content/docs/{name}", text)
    assert site.problems() == []
    to = '<p><a href="/base/{0}/docs-setup/">a</a> <a href="/base/en/about/">b</a> <a href="/base/{0}/{1}/#user-'
    assert site.bodies()["docs-x"].startswith(to.format("en", "docs-x"))
    japanese = site.bodies("ja")
    assert japanese["docs-x"].startswith(to.format("ja", "docs-x"))
    assert japanese["docs-only"].startswith(to.format("ja", "docs-only"))


def test_languages_in_folders_under_names_of_their_own(site: Site) -> None:
    shutil.rmtree(site.root / "content")
    source = 'source: ["content/{lang}/{path}.md"]\nlang_map: {english: en, japanese: ja}'
    site.write("apis/pages.yaml", "\n".join(source if "source" in line else line for line in PAGES.splitlines()))
    for folder in ("english", "japanese"):
        site.write(f"content/{folder}/guide/setup.md", FRONT)
        site.write(f"content/{folder}/x.md", FRONT + '[a]({{< ref "/guide/setup" >}})\n')
    assert site.bodies()["x"] == '<p><a href="/base/en/guide-setup/">a</a></p>\n'
    assert site.bodies("ja")["x"] == '<p><a href="/base/ja/guide-setup/">a</a></p>\n'


def test_a_page_that_comes_or_goes_reaches_the_texts_that_name_it(site: Site) -> None:
    site.write("content/docs/x.md", FRONT + '[a]({{< ref "about" >}})\n')
    site.write("content/docs/y.md", FRONT + '[a]({{< ref "later/on" >}})\n')
    told = [f"content/docs/y.md:4: warning: the link @/later/on {NO_FILE}"]
    assert site.bodies()["docs-x"] == '<p><a href="/base/en/about/">a</a></p>\n'
    assert site.problems() == told
    for settled in (False, True):
        if settled:  # as files and folders are that were there for a while
            for path in (site.root, *site.root.rglob("*")):
                os.utime(path, (1_700_000_000, 1_700_000_000))
            site.bodies()
            site.bodies()
        site.write("content/docs/about.md", FRONT)
        site.write("content/docs/later/on.md", FRONT)
        assert site.problems() == []
        found = site.bodies()
        assert found["docs-x"] == '<p><a href="/base/en/docs-about/">a</a></p>\n'
        assert found["docs-y"] == '<p><a href="/base/en/docs-later-on/">a</a></p>\n'
        (site.root / "content/docs/about.md").unlink()
        (site.root / "content/docs/later/on.md").unlink()
        assert site.bodies()["docs-x"] == '<p><a href="/base/en/about/">a</a></p>\n'
        assert site.problems() == told


def test_without_pages_a_name_is_told(site: Site) -> None:
    for name, text in (("pages", PAGES), ("posts", POSTS)):
        site.write(f"apis/{name}.yaml", "\n".join(line for line in text.splitlines() if "page_url" not in line))
    site.write("content/docs/x.md", FRONT + '[a]({{< ref "about" >}}) [b](../about.md)\n')
    told = "a link leads to a page, and no API has a 'page_url': it is delivered as written"
    assert site.problems() == [f"content/docs/x.md:4: warning: {told}"]


def test_a_file_of_another_name_reaches_no_text(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.write("content/docs/x.md", FRONT + '[a]({{< ref "setup" >}}) [b]({{< ref "later/on" >}})\n')
    for path in site.root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    site.bodies()
    compiled: list[str] = []
    resolved = Links.resolved

    def noted(links: Links, file: str, href: str) -> Link | None:
        compiled.append(file)
        return resolved(links, file, href)

    monkeypatch.setattr(Links, "resolved", noted)
    site.write("content/docs/setups.md", FRONT)
    site.bodies()
    assert compiled == []
    site.write("content/docs/later/on.md", FRONT)
    site.bodies()
    assert set(compiled) == {"content/docs/x.md"}
