"""Sites with every publication rule of their generators' documentation, and the pages that the generators make of them.

A file of content has a word of its own in its text, ``mark`` and a name. ``made`` are the names in what the generator
wrote; the slow tests run the real ones to see that this is so.
"""

from __future__ import annotations

import re

import msgspec

RAW = "Write `{% raw %}{{ page.title }}{% endraw %}` or `{% raw %}{% if page %}{% endraw %}` in a template."
"""Code in a text, with tags of Liquid and Nunjucks that are none."""
MARK = re.compile(r"mark([a-z0-9]+)x")


def page(name: str, front: str = "", more: str = "") -> str:
    """Return a Markdown file with a mark."""
    lines = f"title: {name.title()}\n{front}\n" if front else f"title: {name.title()}\n"
    return f"---\n{lines}---\nmark{name}x\n\n{more}\n"


class GeneratorSite(msgspec.Struct, frozen=True):
    """A site."""

    name: str
    files: dict[str, str]
    made: frozenset[str]
    """The marks in the generator's output."""
    held: frozenset[str] = frozenset()
    """Marks of pages that the generator makes and that no list, menu or search engine is to show: kept back here."""
    data: frozenset[str] = frozenset()
    """Marks of content that the generator makes other pages with."""

    @property
    def published(self) -> frozenset[str]:
        """The marks that an adopted site is to publish."""
        return self.made - self.held | self.data


HUGO = GeneratorSite(
    "Hugo",
    {
        "hugo.toml": 'baseURL = "https://x.example/"\nignoreFiles = ["\\\\.skip\\\\.md$", "/secret/"]\n'
        'disableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n',
        "config.toml": 'baseURL = "https://x.example/"\nignoreFiles = ["\\\\.skip\\\\.md$", "/secret/"]\n'
        'disableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n',
        "layouts/_default/single.html": "{{ .Content }}",
        "layouts/_default/list.html": "{{ .Content }}",
        "content/about.md": page("about", "date: 2020-01-01"),
        "content/posts/a.md": page("a", "date: 2020-01-01", "{{< comment >}}marksecretx{{< /comment >}}"),
        "layouts/shortcodes/comment.html": "{{ $inner := .Inner }}",
        "content/posts/nodate.md": page("nodate"),
        "content/posts/draft.md": page("draft", "draft: true"),
        "content/posts/draftcase.md": page("draftcase", "Draft: true"),
        "content/posts/draftyes.md": page("draftyes", "draft: yes"),
        "content/posts/draftno.md": page("draftno", "draft: false"),
        "content/posts/future.md": page("future", "date: 2999-01-01"),
        "content/posts/futurecase.md": page("futurecase", "Date: 2999-01-01"),
        "content/posts/publishdate.md": page("publishdate", "date: 2020-01-01\npublishDate: 2999-01-01"),
        "content/posts/publishlower.md": page("publishlower", "date: 2020-01-01\npublishdate: 2999-01-01"),
        "content/posts/pubdate.md": page("pubdate", "pubdate: 2999-01-01"),
        "content/posts/published.md": page("published", "published: 2999-01-01"),
        "content/posts/published2.md": page("publishedpast", "published: 2020-01-01"),
        "content/posts/publishpast.md": page("publishpast", "date: 2999-01-01\npublishDate: 2020-01-01"),
        "content/posts/expired.md": page("expired", "expiryDate: 2020-01-01"),
        "content/posts/unpublish.md": page("unpublish", "unpublishdate: 2020-01-01"),
        "content/posts/expires.md": page("expires", "expirydate: 2999-01-01"),
        "content/posts/render.md": page("render", "_build: {render: never}"),
        "content/posts/unlisted.md": page("unlisted", "_build: {list: never}"),
        "content/posts/robots.md": page("robots", "robotsNoIndex: true"),
        "content/posts/skipped.skip.md": page("skipped"),
        "content/posts/secret/x.md": page("ignored"),
        "content/posts/toml.md": "+++\ntitle = 'T'\ndraft = true\n+++\nmarktomlx\n",
        "content/posts/json.md": '{"title": "T", "draft": true}\nmarkjsonx\n',
        "content/posts/bundle/index.md": page("bundle", "date: 2020-01-01"),
        "content/posts/bundle/part.md": page("part", "date: 2020-01-01"),
        "content/headless/index.md": page("headless", "headless: true"),
        "content/inner/_index.md": "---\ntitle: T\ncascade: {draft: true}\n---\n",
        "content/inner/cascaded.md": page("cascaded"),
        "content/inner/deep/cascaded.md": page("cascadeddeep"),
        "content/posts/_underscore.md": page("underscore", "date: 2020-01-01"),
        "content/posts/_drafts/x.md": page("folder", "date: 2020-01-01"),
        "archetypes/default.md": page("archetype"),
    },
    frozenset(
        [
            "about",
            "a",
            "nodate",
            "draftno",
            "publishpast",
            "publishedpast",
            "expires",
            "unlisted",
            "robots",
            "bundle",
            "underscore",
            "folder",
        ]
    ),
    frozenset({"unlisted"}),
)

HUGO_MOUNTS = GeneratorSite(
    "Hugo",
    {
        "hugo.toml": 'baseURL = "https://x.example/"\ndefaultContentLanguage = "en"\ndisableLanguages = ["fr"]\n'
        'disableKinds = ["taxonomy", "term", "RSS", "sitemap"]\n'
        '[frontmatter]\npublishDate = ["release", ":default"]\nexpiryDate = ["gone"]\n'
        "[languages.en]\n[languages.ja]\n[languages.fr]\n"
        '[[module.mounts]]\nsource = "text/en"\ntarget = "content"\nlang = "en"\n'
        'excludeFiles = ["internal/**", "*.tmp.md"]\n'
        '[[module.mounts]]\nsource = "text/ja"\ntarget = "content"\nlang = "ja"\n'
        '[[module.mounts]]\nsource = "text/fr"\ntarget = "content"\nlang = "fr"\n'
        '[[module.mounts]]\nsource = "extra"\ntarget = "content/notes"\nlang = "en"\nincludeFiles = ["open/**"]\n'
        '[[cascade]]\ndraft = true\n[cascade._target]\npath = "/wip/**"\n',
        "layouts/_default/single.html": '<html lang="{{ .Language.Lang }}"><body>{{ .Content }}</body></html>',
        "layouts/_default/list.html": '<html lang="{{ .Language.Lang }}"></html>',
        "content/outside.md": page("outside"),
        "text/en/about.md": page("about"),
        "text/en/x.tmp.md": page("temporary"),
        "text/en/posts/a.md": page("a", "date: 2020-01-01"),
        "text/ja/posts/a.md": page("ja", "date: 2020-01-01"),
        "text/fr/posts/a.md": page("fr", "date: 2020-01-01"),
        "text/en/posts/future.md": page("future", "date: 2020-01-01\nrelease: 2999-01-01"),
        "text/en/posts/past.md": page("past", "date: 2999-01-01\nrelease: 2020-01-01"),
        "text/en/posts/gone.md": page("gone", "date: 2020-01-01\ngone: 2021-01-01"),
        "text/en/posts/expiry.md": page("expiry", "date: 2020-01-01\nexpiryDate: 2999-01-01"),
        "text/en/posts/secret-b.md": page("secretb"),
        "text/en/posts/open-b.md": page("openb"),
        "text/en/posts/_index.md": "---\ncascade:\n  - _target: {path: '/posts/secret*'}\n    draft: true\n---\n",
        "text/en/wip/c.md": page("wip"),
        "text/en/internal/d.md": page("internal"),
        "extra/open/e.md": page("extra"),
        "extra/closed/f.md": page("extraclosed"),
    },
    frozenset(["about", "a", "ja", "past", "expiry", "openb", "extra"]),
    frozenset({"expiry"}),  # by a key that the configuration does not name
)

JEKYLL = GeneratorSite(
    "Jekyll",
    {
        "_config.yml": (
            "title: T\nexclude: [hidden.md, 'internal/', '*.skip.md']\ninclude: [_pages]\n"
            "collections: {recipes: {output: true}, team: {output: false}}\n"
        ),
        "index.md": page("index"),
        "about.md": page("about"),
        "history.md": "# No front matter, so copied as it is\n",
        "docs/bare.md": "markbarex\n",
        "hidden.md": page("hidden"),
        "x.skip.md": page("skip"),
        "internal/a.md": page("internal"),
        "docs/a.md": page("docs"),
        "docs/_a.md": page("docsunderscore"),
        "docs/_x/a.md": page("docsfolder"),
        "docs/no.md": page("unpublished", "published: false"),
        "_pages/a.md": page("included"),
        "_posts/2020-01-01-a.md": page("a", "", "{% comment %}marksecretx{% endcomment %}\n\n" + RAW),
        "_posts/2020-01-02-off.md": page("off", "published: false"),
        "_posts/2020-01-02-no.md": page("no", "published: no"),
        "_posts/2020-01-02-empty.md": page("empty", "published:"),
        "about-empty.md": page("aboutempty", "published: # not yet"),
        "_posts/2020-01-02-yes.md": page("yes", "published: true"),
        "_posts/2020-1-2-short.md": page("short"),
        "_posts/2020-01-02-zdated.md": page("dated", "date: 2020-02-01 10:00"),
        "_posts/2020-01-03-later.md": page("later", "date: 2999-01-01"),
        "_posts/2999-01-01-future.md": page("future"),
        "_posts/2999-01-02-past.md": page("past", "date: 2020-01-01"),
        "_posts/sub/2020-01-04-b.md": page("b"),
        "_posts/_drafts/2020-01-05-c.md": page("draftinside"),
        "_posts/nodate.md": page("nodate"),
        "_drafts/d.md": page("draft"),
        "_drafts/2020-01-06-e.md": page("datedraft"),
        "news/_posts/2020-01-07-f.md": page("f"),
        "news/_drafts/g.md": page("newsdraft"),
        "_recipes/a.md": page("recipe"),
        "_recipes/_b.md": page("recipeunderscore"),
        "_recipes/_drafts/c.md": page("recipedraft"),
        "_recipes/later.md": page("recipelater", "date: 2999-01-01"),
        "_recipes/no.md": page("recipeno", "published: false"),
        "_team/a.md": page("team"),
        "_layouts/default.html": "{{ content }}",
        "_includes/a.md": page("include"),
        "vendor/bundle/a.md": page("vendor"),
        "node_modules/x/a.md": page("module"),
        ".hidden/a.md": page("dot"),
    },
    frozenset(["index", "about", "docs", "included", "a", "short", "yes", "dated", "past", "b", "f", "recipe"]),
    data=frozenset({"team"}),
)

HEXO = GeneratorSite(
    "Hexo",
    {
        "_config.yml": "title: T\nurl: https://x.example\nsource_dir: source\nfuture: false\n"
        "skip_render:\n  - other.md\n  - 'raw/*.md'\n"
        "theme: t\npermalink: :title/\n",
        "package.json": '{"name": "site", "hexo": {"version": "8.0.0"}, "dependencies": {"hexo": "*", '
        '"hexo-renderer-marked": "*", "hexo-renderer-ejs": "*"}}',
        "themes/t/layout/post.ejs": "<%- page.content %>",
        "themes/t/layout/page.ejs": "<%- page.content %>",
        "scaffolds/post.md": page("scaffold"),
        "source/_posts/a.md": page("a", "date: 2020-01-01", "{# marksecretx #}"),
        "source/_posts/sub/b.md": page("b", "date: 2020-01-01", RAW),
        "source/_posts/off.md": page("off", "date: 2020-01-01\npublished: false"),
        "source/_posts/future.md": page("future", "date: 2999-01-01"),
        "source/_posts/_c.md": page("underscore", "date: 2020-01-01"),
        "source/_posts/_x/c.md": page("underscorefolder", "date: 2020-01-01"),
        "source/_drafts/d.md": page("draft", "date: 2020-01-01"),
        "source/about/index.md": page("about", "date: 2020-01-01"),
        "source/about/_e.md": page("aboutunderscore", "date: 2020-01-01"),
        "source/_data/e.md": page("data"),
        "source/raw/g.md": "---\n---\ncopied, and no page\n",
        "source/_private/f.md": page("private"),
        "README.md": page("readme"),
    },
    frozenset(["a", "b", "about"]),
)

ELEVENTY = GeneratorSite(
    "Eleventy",
    {
        ".eleventy.js": "module.exports = (c) => ({ dir: { input: 'src' } });\n",
        ".eleventyignore": "src/ignored\nsrc/single.md\n",
        "src/index.md": page("index"),
        "src/a.md": page("a", "", "{% comment %}marksecretx{% endcomment %}"),
        "src/off.md": page("off", "permalink: false"),
        "src/at.md": page("at", "permalink: /elsewhere/"),
        "src/future.md": page("future", "date: 2999-01-01"),
        "src/posts/b.md": page("b"),
        "src/ignored/c.md": page("ignored"),
        "src/single.md": page("single"),
        "src/_includes/d.md": page("include"),
        "src/_data/e.json": "{}",
        "src/quiet/quiet.json": '{"permalink": false}',
        "src/quiet/f.md": page("quiet"),
        "src/quiet/deep/g.md": page("quietdeep"),
        "src/one.md": page("one"),
        "src/one.11tydata.json": '{"permalink": false}',
        "node_modules/x/a.md": page("module"),
        "README.md": page("readme"),
    },
    frozenset(["index", "a", "at", "future", "b"]),
)

MKDOCS = GeneratorSite(
    "MkDocs",
    {
        "mkdocs.yml": (
            "site_name: T\ndocs_dir: pages\nextra: {sep: !!python/name:os.path.join ''}\nexclude_docs: |\n"
            "  internal/\n  *.tmp.md\n  !kept.tmp.md\n\n  # a comment\n  /top.md\n"
            "draft_docs: |\n  wip/\n  _unpublished.md\n"
        ),
        "pages/index.md": page("index"),
        "pages/guide/a.md": page("a"),
        "pages/guide/internal/b.md": page("internal"),
        "pages/internal/b.md": page("internaltop"),
        "pages/x.tmp.md": page("tmp"),
        "pages/top.md": page("top"),
        "pages/kept.tmp.md": page("kept"),
        "pages/guide/top.md": page("guidetop"),
        "pages/wip/c.md": page("wip"),
        "pages/_unpublished.md": page("unpublished"),
        "pages/templates/d.md": page("templates"),
        "pages/_under.md": page("underscore"),
        "README.md": page("readme"),
    },
    frozenset(["index", "a", "guidetop", "underscore", "kept"]),
)

PELICAN = GeneratorSite(
    "Pelican",
    {
        "pelicanconf.py": (
            "PATH = 'content'\nSITEURL = ''\nTIMEZONE = 'UTC'\nDEFAULT_LANG = 'en'\nWITH_FUTURE_DATES = False\n"
            "ARTICLE_EXCLUDES = ['other', 'quiet']\nIGNORE_FILES = ['.#*', '*.skip.md']\n"
            "FEED_ALL_ATOM = None\nCATEGORY_FEED_ATOM = None\n"
        ),
        "content/a.md": page("a", "date: 2020-01-01"),
        "content/news/b.md": page("b", "date: 2020-01-01\nstatus: published"),
        "content/news/draft.md": page("draft", "date: 2020-01-01\nstatus: draft"),
        "content/news/hidden.md": page("hidden", "date: 2020-01-01\nstatus: hidden"),
        "content/news/skip.md": page("skip", "date: 2020-01-01\nStatus: skip"),
        "content/news/future.md": page("future", "date: 2999-01-01"),
        "content/news/bare.md": "Title: T\nDate: 2020-01-01\nStatus: draft\n\nmarkbarex\n",
        "content/news/x.skip.md": page("ignored", "date: 2020-01-01"),
        "content/quiet/c.md": page("quiet", "date: 2020-01-01"),
        "content/pages/d.md": page("page"),
        "content/pages/e.md": page("pagedraft", "status: draft"),
    },
    frozenset(["a", "b", "page", "hidden"]),
    frozenset({"hidden"}),
)

VITEPRESS = GeneratorSite(
    "VitePress",
    {
        "docs/.vitepress/config.mts": (
            "const quiet: string[] = ['**/quiet.md'] // not yet\n"
            "export default { title: 'T', srcExclude: [\n  'nothing.md', // a comment, with a ]\n"
            "  '**/internal/**', '**/*.{tmp,skip}.md', ...quiet\n] }\n"
        ),
        "docs/index.md": page("index"),
        "docs/guide/a.md": page("a"),
        "docs/guide/internal/b.md": page("internal"),
        "docs/guide/x.tmp.md": page("tmp"),
        "docs/guide/x.skip.md": page("skip"),
        "docs/guide/quiet.md": page("quiet"),
        "docs/future.md": page("future", "date: 2999-01-01"),
        "docs/README.md": page("readme"),
        "other/c.md": page("outside"),
        "README.md": page("top"),
    },
    frozenset(["index", "a", "future", "readme"]),
)

ZOLA = GeneratorSite(
    "Zola",
    {
        "config.toml": "base_url = 'https://x.example'\nignored_content = ['x', '*.skip.md']\n[markdown]\n",
        "content/_index.md": "+++\n+++\nmarksectionx\n",
        "content/a.md": "+++\ndate = 2020-01-01\n+++\nmarkax\n",
        "content/bundle/index.md": "+++\ndate = 2020-01-01\n+++\nmarkbundlex\n",
        "content/blog/_index.md": "+++\n+++\nmarkblogx\n",
        "content/blog/b.md": "+++\ndate = 2020-01-01\n+++\nmarkbx\n",
        "content/blog/future.md": "+++\ndate = 2999-01-01\n+++\nmarkfuturex\n",
        "content/blog/x.skip.md": "+++\n+++\nmarkskipx\n",
        "content/blog/draft.md": "+++\ndraft = true\n+++\nmarkdraftx\n",
        "content/blog/open.md": "+++\ndraft = false\n+++\nmarkopenx\n",
        "content/blog/unrendered.md": "+++\nrender = false\n+++\nmarkunrenderedx\n",
        "content/plans/_index.md": "+++\ndraft = true\n+++\n",
        "content/plans/c.md": "+++\n+++\nmarkplanx\n",
        "content/plans/deep/_index.md": "+++\n+++\n",
        "content/plans/deep/d.md": "+++\n+++\nmarkplandeepx\n",
        "content/list/_index.md": "+++\nrender = false\n+++\n",
        "content/list/e.md": "+++\n+++\nmarklistx\n",
    },
    frozenset(["a", "bundle", "b", "future", "open", "list"]),
)
"""Held against the source of Zola, ``Site::load`` and ``Page``: the program itself is in no registry of packages."""

DOCUSAURUS = GeneratorSite(
    "Docusaurus",
    {
        "docusaurus.config.js": (
            "const NEWS = 'news'; // not '_news'\n"
            "const page = '@site/page.js';\n"
            "const shown = { docsRootComponent: page, docVersionRootComponent: page, docRootComponent: page,\n"
            "  docItemComponent: page };\n"
            "export default {\n"
            "  title: 'T', url: 'https://x.example', baseUrl: '/', onBrokenLinks: 'ignore',\n"
            "  i18n: { defaultLocale: 'en', locales: ['en', 'ja'] },\n"
            "  plugins: [\n"
            "    ['@docusaurus/plugin-content-docs', {\n"
            "      ...shown, exclude: ['**/internal/**', '**/*.{wip,tmp}.md'], // '**/_*'\n"
            "      lastVersion: 'current', onlyIncludeVersions: ['current', '1.0'],\n"
            "      versions: { current: { path: 'now' } },\n"
            "    }],\n"
            "    ['content-docs', { ...shown, id: 'guides', path: 'guides', routeBasePath: 'guides',\n"
            "      include: ['**/*.md'] }],\n"
            "    [require.resolve('@docusaurus/plugin-content-blog'), { path: NEWS, routeBasePath: `${NEWS}`,\n"
            "      blogPostComponent: page, blogListComponent: page, archiveBasePath: null }],\n"
            "    ['@docusaurus/plugin-content-pages', { mdxPageComponent: page }],\n"
            "  ],\n"
            "};\n"
        ),
        "page.js": (
            "import React from 'react';\n"
            "import Head from '@docusaurus/Head';\n"
            "import renderRoutes from '@docusaurus/renderRoutes';\n"
            "import useDocusaurusContext from '@docusaurus/useDocusaurusContext';\n"
            "export default function Page({ content: Content, route }) {\n"
            "  const { i18n } = useDocusaurusContext();\n"
            "  if (!Content) return route.routes ? renderRoutes(route.routes) : null;\n"
            "  const { title } = Content.metadata;\n"
            "  return <main><Head><html lang={i18n.currentLocale} /><title>{title}</title></Head>\n"
            "    <h1>{title}</h1><Content /></main>;\n"
            "}\n"
        ),
        "package.json": '{"name": "site", "private": true}',
        "versions.json": '["1.0", "0.9"]',
        "docs/a.md": page("a", "", "{/* marksecretx */}"),
        "docs/deep/b.mdx": page("b"),
        "docs/02-numbered/01-c.md": page("numbered"),
        "docs/store.md": page("store", "id: shop"),
        "docs/deep/store.md": page("storedeep", "id: shop"),
        "docs/draft.md": page("draft", "draft: true"),
        "docs/open.md": page("open", "draft: false"),
        "docs/unlisted.md": page("unlisted", "unlisted: true"),
        "docs/_part.md": page("part"),
        "docs/x.test.md": page("test"),
        "docs/internal/d.md": page("internal"),
        "docs/e.wip.md": page("wip"),
        "versioned_docs/version-1.0/a.md": page("oldest"),
        "versioned_docs/version-1.0/internal/a.md": page("oldinternal"),
        "versioned_docs/version-0.9/a.md": page("older"),
        "guides/f.md": page("guide"),
        "guides/_f.md": page("guidepart"),
        "guides/_parts/f.md": page("guideparts"),
        "guides/f.mdx.md": page("guidesecond"),
        "guides/g.mdx": page("guidemdx"),
        "news/2020-01-01-h.md": page("news"),
        "news/2020/01/02/i.md": page("newsfolders"),
        "news/2020-01-03-j/index.md": page("newsfolder"),
        "news/2999-01-01-k.md": page("newsfuture"),
        "news/2020-01-04-l.md": page("newsdraft", "draft: true"),
        "news/2020-01-05-m.md": page("newsunlisted", "unlisted: true"),
        "news/_n.md": page("newspart"),
        "blog/2020-01-01-o.md": page("blog"),
        "src/pages/p.md": page("page"),
        "src/pages/_p.md": page("pagepart"),
        "src/pages/q.md": page("pagedraft", "draft: true"),
        "i18n/ja/docusaurus-plugin-content-docs/current/a.md": page("ja"),
        "i18n/ja/docusaurus-plugin-content-docs/current/deep/b.mdx": page("jadraft", "draft: true"),
        "i18n/ja/docusaurus-plugin-content-docs/current/draft.md": page("jaofdraft"),
        "i18n/ja/docusaurus-plugin-content-docs/current/only.md": page("jaonly"),
        "i18n/ja/docusaurus-plugin-content-docs/current/internal/d.md": page("jainternal"),
        "i18n/ja/docusaurus-plugin-content-docs/version-1.0/a.md": page("jaoldest"),
        "i18n/ja/docusaurus-plugin-content-docs-guides/current/f.md": page("jaguide"),
        "i18n/ja/docusaurus-plugin-content-blog/2020-01-01-h.md": page("janews"),
        "i18n/ja/docusaurus-plugin-content-pages/p.md": page("japage"),
        "README.md": page("readme"),
    },
    frozenset(
        [
            *(
                "a",
                "b",
                "store",
                "storedeep",
                "numbered",
                "open",
                "unlisted",
                "part",
                "test",
                "oldest",
                "guide",
                "guidesecond",
            ),
            *("news", "newsfolders", "newsfolder", "newsfuture", "newsunlisted", "page"),
            *("ja", "jaofdraft", "jaoldest", "jaguide", "janews", "japage"),
        ]
    ),
    frozenset({"unlisted", "newsunlisted"}),
)

DOCUSAURUS_PRESET = GeneratorSite(
    "Docusaurus",
    {
        "docusaurus.config.ts": (
            "import type * as Preset from '@docusaurus/preset-classic';\n"
            "const docs = { sidebarPath: './sidebars.ts', includeCurrentVersion: false };\n"
            "const config: Config = {\n"
            "  title: 'T', url: 'https://x.example', baseUrl: '/',\n"
            "  presets: [['classic', { docs, blog: false, theme: { customCss: './src/css/custom.css' } }\n"
            "    satisfies Preset.Options]],\n"
            "  themeConfig: { docs: { sidebar: { hideable: true } } } satisfies Preset.ThemeConfig,\n"
            "};\nexport default config;\n"
        ),
        "versions.json": '["1.0"]',
        "docs/a.md": page("next"),
        "versioned_docs/version-1.0/a.md": page("a"),
        "versioned_docs/version-1.0/_b.md": page("part"),
        "blog/2020-01-01-c.md": page("blog"),
        "src/pages/d.md": page("page"),
    },
    frozenset(["a", "page"]),
)

NUXT = GeneratorSite(
    "Nuxt Content",
    {
        "nuxt.config.ts": "export default defineNuxtConfig({ modules: ['@nuxt/content'] })\n",
        "package.json": '{"dependencies": {"@nuxt/content": "^2.13.0"}}',
        "content/index.md": page("index"),
        "content/blog/a.md": page("a"),
        "content/blog/b.draft.md": page("draft"),
        "content/blog/_c.md": page("partial"),
        "content/blog/-d.md": page("ignored"),
        "content/_parts/e.md": page("partials"),
        "README.md": page("readme"),
    },
    frozenset(["index", "a"]),
)

NUXT_3 = GeneratorSite(
    "Nuxt Content",
    {
        "nuxt.config.ts": (
            "export default defineNuxtConfig({\n"
            "  modules: ['@nuxt/content'], compatibilityDate: '2026-01-01', devtools: { enabled: false },\n"
            "  content: { experimental: { sqliteConnector: 'native' } },\n"
            "  nitro: { prerender: { routes: ['/'], crawlLinks: true } },\n"
            "})\n"
        ),
        "content.config.ts": (
            "import { defineCollection, defineContentConfig, z } from '@nuxt/content'\n"
            "const schema = z.object({ draft: z.boolean() })\n"
            "export default defineContentConfig({ collections: {\n"
            "  blog: defineCollection({ type: 'page', schema, source: {\n"
            "    include: 'blog/**/*.md', exclude: ['blog/internal/**', '**/*.wip.md'] } }),\n"
            "  pages: defineCollection({ type: 'page', schema, source: '*.md' }),\n"
            "  guides: defineCollection({ type: 'page', schema, source: [\n"
            "    { include: 'guides/*.md' }, { include: 'more/**', exclude: ['more/secret/**'] } ] }),\n"
            "} })\n"
        ),
        "app/app.vue": "<template><NuxtPage /></template>\n",
        "app/pages/[...slug].vue": (
            '<script setup lang="ts">\n'
            "const route = useRoute()\n"
            "const { data: pages } = await useAsyncData('all', async () => [\n"
            "  ...await queryCollection('blog').all(), ...await queryCollection('pages').all(),\n"
            "  ...await queryCollection('guides').all(),\n"
            "].filter((one) => !one.draft))\n"
            "const path = route.path.replace(/(.)\\/$/, '$1')\n"
            "const page = computed(() => pages.value?.find((one) => one.path === path))\n"
            "useHead({ title: page.value?.title })\n"
            "</script>\n<template>\n"
            '  <article v-if="page"><h1>{{ page.title }}</h1><ContentRenderer :value="page" /></article>\n'
            '  <NuxtLink v-for="one in pages" :key="one.path" :to="one.path">{{ one.path }}</NuxtLink>\n'
            "</template>\n"
        ),
        "content/index.md": page("index"),
        "content/later.md": page("later", "draft: true"),
        "content/open.md": page("open", "draft: false"),
        "content/1.numbered.md": page("numbered"),
        "content/blog/a.md": page("a", "", "<!-- marksecretx -->"),
        "content/blog/b.draft.md": page("draft"),
        "content/blog/_c.md": page("underscore"),
        "content/blog/-d.md": page("dash"),
        "content/blog/future.md": page("future", "date: 2999-01-01"),
        "content/blog/e.wip.md": page("wip"),
        "content/blog/internal/f.md": page("internal"),
        "content/blog/2026/g.md": page("deep"),
        "content/guides/h.md": page("guide"),
        "content/guides/deep/i.md": page("guidedeep"),
        "content/more/j.md": page("more"),
        "content/more/secret/k.md": page("secretmore"),
        "content/other/l.md": page("other"),
        "README.md": page("readme"),
    },
    frozenset(["index", "open", "numbered", "a", "underscore", "dash", "future", "deep", "guide", "more", "draft"]),
    frozenset({"draft"}),
)

ASTRO_BY_NAME = GeneratorSite(
    "Astro",
    {
        "astro.config.mjs": "export default {}\n",
        "src/content/blog/a.md": page("a"),
        "src/content/blog/draft.md": page("draft", "draft: true"),
        "src/content/blog/_b.md": page("underscore"),
        "src/content/blog/_x/c.md": page("underscorefolder"),
        "README.md": page("readme"),
    },
    frozenset(["a"]),
)

_ASTRO_PAGE = (
    "---\nimport { getCollection, render } from 'astro:content';\n"
    "export async function getStaticPaths() {\n"
    "  const entries = await getCollection('NAME', ({ data }) => data.draft !== true);\n"
    "  return entries.map((entry) => ({ params: { slug: entry.id }, props: { entry } }));\n}\n"
    "const { entry } = Astro.props;\nconst { Content } = await render(entry);\n---\n"
    '<html lang="en"><head><title>{entry.data.title}</title></head>'
    "<body><h1>{entry.data.title}</h1><Content /></body></html>\n"
)

ASTRO = GeneratorSite(
    "Astro",
    {
        "astro.config.mjs": (
            "import { defineConfig } from 'astro/config';\n"
            "export default defineConfig({ site: 'https://x.example', cacheDir: './cache',\n"
            "  vite: { cacheDir: './vite' } });\n"
        ),
        "src/content.config.ts": (
            "import { defineCollection, z } from 'astro:content';\n"
            "import { file, glob } from 'astro/loaders';\n"
            "export const BLOG = 'data/blog';\n"
            "const blog = defineCollection({\n"
            "  // base: './src/blog',\n"
            "  loader: glob({ pattern: ['**/[^_]*.{md,mdx}', '!**/wip/**', '!drafts/**'], base: `./${BLOG}` }),\n"
            "});\n"
            "const notes = defineCollection({ loader: glob({ base: './notes', pattern: '*.md' }), schema: z.any() });\n"
            "const team = defineCollection({ loader: glob({ base: './', pattern: 'people/*/about.md' }) });\n"
            "const shops = defineCollection({ loader: file('data/shops.json') });\n"
            "export const collections = { blog, 'short-notes': notes, team, shops };\n"
        ),
        "src/pages/blog/[...slug].astro": _ASTRO_PAGE.replace("NAME", "blog"),
        "src/pages/notes/[...slug].astro": _ASTRO_PAGE.replace("NAME", "short-notes"),
        "src/pages/team/[...slug].astro": _ASTRO_PAGE.replace("NAME", "team"),
        "src/pages/about.md": page("about"),
        "src/pages/later.md": page("later", "draft: true"),
        "src/pages/_part.md": page("pagepart"),
        "src/pages/_parts/b.md": page("pageparts"),
        "data/blog/a.md": page("a"),
        "data/blog/2020/b.md": page("b"),
        "data/blog/future.md": page("future", "pubDate: 2999-01-01"),
        "data/blog/draft.md": page("draft", "draft: true"),
        "data/blog/_c.md": page("underscore"),
        "data/blog/2020/_c.md": page("underscoredeep"),
        "data/blog/_2020/c.md": page("underscorefolder"),
        "data/blog/2020/wip/d.md": page("wip"),
        "data/blog/drafts/e.md": page("drafts"),
        "data/blog/slugged.md": page("slug", "slug: elsewhere"),
        "data/shops.json": '[{"id": "north", "title": "markshopsx"}, {"id": "south", "title": "South"}]',
        "notes/f.md": page("note"),
        "notes/_g.md": page("noteunderscore"),
        "notes/deep/h.md": page("notedeep"),
        "people/ann/about.md": page("ann"),
        "people/ann/diary.md": page("diary"),
        "README.md": page("readme"),
    },
    frozenset(["about", "later", "a", "b", "future", "underscorefolder", "slug", "note", "noteunderscore", "ann"]),
    frozenset({"later"}),
    frozenset({"shops"}),
)

STARLIGHT = GeneratorSite(
    "Astro",
    {
        "astro.config.mjs": (
            "import { defineConfig } from 'astro/config';\nimport starlight from '@astrojs/starlight';\n"
            "export default defineConfig({ site: 'https://x.example', cacheDir: './cache',\n"
            "  vite: { cacheDir: './vite' },\n"
            "  integrations: [starlight({ title: 'T', pagefind: false, defaultLocale: 'root',\n"
            "    locales: { root: { label: 'English', lang: 'en' }, ja: { label: 'Japanese' } } })] });\n"
        ),
        "src/content.config.ts": (
            "import { defineCollection } from 'astro:content';\n"
            "import { docsLoader } from '@astrojs/starlight/loaders';\n"
            "import { docsSchema } from '@astrojs/starlight/schema';\n"
            "export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };\n"
        ),
        "src/content/docs/index.md": page("index"),
        "src/content/docs/guides/a.mdx": page("a", "", "## A heading\n\n{/* marksecretx */}\n\nText."),
        "src/content/docs/ja/guides/a.mdx": page("ja"),
        "src/content/docs/guides/draft.md": page("draft", "draft: true"),
        "src/content/docs/guides/s.md": page("slug", "slug: other/place"),
        "src/content/docs/guides/_b.md": page("underscore"),
        "src/content/docs/_parts/c.md": page("parts"),
        "README.md": page("readme"),
    },
    frozenset(["index", "a", "ja", "slug", "parts"]),
)

OBSIDIAN = GeneratorSite(
    "Obsidian",
    {
        ".obsidian/app.json": '{"userIgnoreFilters": ["nothing/", "Private/"]}',
        "Private/d.md": page("private"),
        ".obsidian/templates.json": '{"folder": "Forms"}',
        "notes/a.md": page("a", "", "b %%marksecretx%%\n\n%%\nmarksecretx\n\nmarksecretx\n%%\n"),
        "notes/yes.md": page("yes", "publish: true"),
        "notes/no.md": page("no", "publish: false"),
        "it/b.md": page("b"),
        "de/b.md": page("bother"),
        "Forms/c.md": page("form"),
    },
    frozenset(["a", "yes", "b", "bother"]),
)

GATSBY = GeneratorSite(
    "Gatsby",
    {
        "gatsby-config.js": (
            "module.exports = { plugins: [{ resolve: `gatsby-source-filesystem`, "
            "options: { path: `${__dirname}/content/blog`, name: `blog`, ignore: [`**/wip/**`, `**/\\.*`] } }] }\n"
        ),
        "content/blog/a/index.md": page("a"),
        "content/blog/b/index.md": page("b", "draft: true"),
        "content/blog/future/index.md": page("future", "date: 2999-01-01"),
        "content/blog/_c/index.md": page("underscore"),
        "content/blog/wip/d/index.md": page("wip"),
        "content/other/c.md": page("other"),
        "README.md": page("readme"),
    },
    frozenset(["a", "future", "underscore"]),
)
"""Held against the source of gatsby-source-filesystem, which knows ``ignore`` alone."""

GENERATOR_SITES = (
    *(
        HUGO,
        HUGO_MOUNTS,
        JEKYLL,
        HEXO,
        ELEVENTY,
        MKDOCS,
        PELICAN,
        VITEPRESS,
        ZOLA,
        DOCUSAURUS,
        DOCUSAURUS_PRESET,
        NUXT,
        NUXT_3,
        ASTRO,
        ASTRO_BY_NAME,
        STARLIGHT,
        OBSIDIAN,
        GATSBY,
    ),
)
