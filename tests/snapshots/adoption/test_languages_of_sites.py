"""``cms init --from`` reads each file in the language that its generator gives it, and joins no others."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from cli.creating.init import adopt_site
from snapshots.adoption.languages import is_tag, written_in
from snapshots.build.build import build
from snapshots.columns import FileKind
from snapshots.store.store import open_store
from tests.sites.generator_sites import MARK, page
from tests.sites.site_folders import write_folder
from tests.stores.data_files import stored_rows

NOW = 1_780_000_000_000
JAPANESE = "これは日本語の文章です。料金は次のとおりです。"


class Spoken(msgspec.Struct, frozen=True):
    """A site, and what it is to deliver."""

    name: str
    files: dict[str, str]
    languages: dict[str, str]
    """By language, the marks of its versions."""
    joined: tuple[str, ...] = ()
    """Marks whose versions are translations of each other."""


def hugo(configuration: str) -> dict[str, str]:
    return {"hugo.toml": f"baseURL = 'https://x.example/'\n{configuration}"}


SITES = (
    Spoken(
        "hugo-mounts",
        {
            **hugo(
                "defaultContentLanguage = 'en'\n[languages.en]\n[languages.ja]\n"
                "[[module.mounts]]\nsource = 'content/english'\ntarget = 'content'\nlang = 'en'\n"
                "[[module.mounts]]\nsource = 'content/japanese'\ntarget = 'content'\nlang = 'ja'\n"
            ),
            "content/english/blog/a.md": page("a"),
            "content/japanese/blog/a.md": page("aj"),
            "content/japanese/blog/b.md": page("bj"),
            "content/japanese/about.md": page("cj"),
        },
        {"en": "a", "ja": "aj bj cj"},
        ("a aj",),
    ),
    Spoken(
        "hugo-mounts-elsewhere",
        {
            **hugo("defaultContentLanguage = 'en'\n[languages.en]\n[languages.fil]\n"),
            "config/_default/module.yaml": "mounts:\n- {source: content, target: content, lang: en}\n"
            "- {source: i18n/content-fil, target: content, lang: fil}\n- {source: shared, target: static}\n",
            "content/docs/a.md": page("a"),
            "i18n/content-fil/docs/a.md": page("af"),
        },
        {"en": "a", "fil": "af"},
        ("a af",),
    ),
    Spoken(
        "hugo-folders",
        {
            **hugo(
                "defaultContentLanguage = 'ja'\n[languages.en]\ncontentDir = 'content.en'\n"
                "[languages.ja]\ncontentDir = 'content'\n"
            ),
            "content/docs/a.md": page("aj"),
            "content.en/docs/a.md": page("a"),
        },
        {"ja": "aj", "en": "a"},
        ("a aj",),
    ),
    Spoken(
        "hugo-names",
        {
            **hugo("defaultContentLanguage = 'ja'\n[languages.ja]\n[languages.zgh]\n"),
            "content/docs/a.md": page("aj"),
            "content/docs/a.zgh.md": page("az"),
            "content/docs/o.xx.md": page("o"),
        },
        {"ja": "aj o", "zgh": "az"},
        ("aj az",),
    ),
    Spoken(
        "zola",
        {
            "config.toml": "base_url = 'https://x.example'\ndefault_language = 'en'\n[languages.fr]\n",
            "content/_index.md": "+++\n+++\n",
            "content/_index.fr.md": "+++\n+++\n",
            "content/blog/_index.md": "+++\n+++\n",
            "content/blog/a.md": "+++\ntitle = 'A'\n+++\nmarkax\n",
            "content/blog/a.fr.md": "+++\ntitle = 'A'\n+++\nmarkafx\n",
            "content/blog/data.json": '{"a": 1}',
            **{f"content/p{n}/index.md": f"+++\ntitle = 'P'\n+++\nmarkp{n}x\n" for n in range(30)},
            **{f"content/p{n}/part.toml": "a = 1\n" for n in range(30)},
            "content/p1/index.fr.md": "+++\ntitle = 'P'\n+++\nmarkpfx\n",
        },
        {"en": "a " + " ".join(f"p{n}" for n in range(30)), "fr": "af pf"},
        ("a af", "p1 pf"),
    ),
    Spoken(
        "vitepress",
        {
            "docs/.vitepress/config.ts": "export default defineConfig({\n  locales: {\n    root: { label: 'English', "
            "lang: 'en-US' },\n    ja: { label: '日本語', lang: 'ja-JP' },\n  },\n})\n",
            "docs/index.md": page("a"),
            "docs/guide/b.md": page("b"),
            "docs/ja/guide/b.md": page("bj"),
            "docs/ja/only.md": page("cj"),
            "docs/ja/others.md": page("dj"),
        },
        {"en-US": "a b", "ja": "bj cj dj"},
        ("b bj",),
    ),
    Spoken(
        "docusaurus",
        {
            "docusaurus.config.js": "module.exports = {i18n: {defaultLocale: 'ja', locales: ['ja', 'en', 'pt-BR']}};\n",
            "docs/a.md": page("aj"),
            "docs/it/b.md": page("bj"),
            "i18n/en/docusaurus-plugin-content-docs/current/a.md": page("a"),
            "i18n/pt-BR/docusaurus-plugin-content-docs/current/it/b.md": page("bp"),
            "i18n/en/code.json": '{"x": {"message": "y"}}',
            "blog/2020-01-01-c.md": page("cj"),
        },
        {"ja": "aj bj cj", "en": "a", "pt-BR": "bp"},
        ("a aj", "bj bp"),
    ),
    Spoken(
        "starlight",
        {
            "astro.config.mjs": "export default defineConfig({ integrations: [starlight({ defaultLocale: 'root',\n"
            "locales: { root: { label: '日本語', lang: 'ja' }, en: { label: 'English' } } })] })\n",
            "src/content/docs/a.md": page("aj"),
            "src/content/docs/en/a.md": page("a"),
        },
        {"ja": "aj", "en": "a"},
        ("a aj",),
    ),
    Spoken(
        "mkdocs",
        {
            "mkdocs.yml": "site_name: T\nplugins:\n- i18n:\n    languages:\n    - locale: de\n      default: true\n"
            "    - locale: en\n",
            "docs/index.md": page("ad"),
            "docs/index.en.md": page("a"),
            "docs/v1.2.md": page("v"),
        },
        {"de": "ad v", "en": "a"},
        ("a ad",),
    ),
    Spoken(
        "nuxt",
        {
            "nuxt.config.ts": "export default { i18n: { defaultLocale: 'ja', locales: ['ja', 'en'] } }\n",
            "content/ja/blog/a.md": page("aj"),
            "content/en/blog/a.md": page("a"),
            "content/en/blog/b.md": page("b"),
        },
        {"ja": "aj", "en": "a b"},
        ("a aj",),
    ),
    Spoken(
        "pelican",
        {
            "pelicanconf.py": "PATH = 'content'\nDEFAULT_LANG = 'en'\nTIMEZONE = 'UTC'\n",
            "content/first.md": page("a", "slug: first\ndate: 2020-01-01"),
            "content/erster.md": page("ad", "slug: first\nlang: de\ndate: 2020-01-01"),
            "content/2020-01-02-deux.md": page("bf", "slug: second\nlang: fr"),
            "content/2020-01-02-second.md": page("b", "slug: second\nlang: en"),
            "content/third.md": page("c", "date: 2020-01-01"),
            "content/dritter.md": page("cd", "lang: de\ndate: 2020-01-01"),
            "content/pages/about.md": page("d", "slug: first"),
            "content/pages/ueber.md": page("dd", "slug: first\nlang: de"),
        },
        {"en": "a b c d", "de": "ad cd dd", "fr": "bf"},
        ("a ad", "b bf", "d dd"),
    ),
    Spoken(
        "polyglot",
        {
            "_config.yml": "languages: [en, fr, de]\ndefault_lang: en\nplugins: [jekyll-polyglot]\n"
            "collections: {guides: {output: true}}\n",
            "about.md": page("a", "permalink: /about/\nlang: en"),
            "a-propos.md": page("af", "permalink: /about/\nlang: fr"),
            "team.md": page("b"),
            "later.md": page("e", "lang: ja"),
            "team.de.md": page("bd", "lang: de"),
            "mentions.md": page("cf", "page_id: legal\nlang: fr\npermalink: /mentions/"),
            "legal.md": page("c", "page_id: legal\nlang: en\npermalink: /legal/"),
            "_posts/en/2020-01-01-p.md": page("p", "lang: en"),
            "_posts/fr/2020-01-01-p.md": page("pf", "lang: fr"),
            "_posts/2020-01-02-q.md": page("q", "lang: en"),
            "_posts/2020-01-02-q.fr.md": page("qf", "lang: fr"),
            "_guides/h.md": page("h", "permalink: /guides/h/"),
            "_guides/hilfe.md": page("hd", "lang: de\npermalink: /guides/h/"),
        },
        {"en": "a b c p q h", "fr": "af cf pf qf", "de": "bd hd"},
        ("a af", "c cf", "p pf", "h hd"),
    ),  # held against Polyglot 1.13 with Jekyll, which joins no pages by what ends the names of their files
    Spoken(
        "hexo",
        {
            "_config.yml": "language: zh-CN\nsource_dir: source\n",
            "source/_posts/a.md": page("a", "date: 2020-01-01"),
        },
        {"zh-CN": "a"},
    ),
    Spoken(
        "vault",
        {
            ".obsidian/app.json": "{}",
            **{f"{code}/{name}.md": page(f"{code}{name}") for code in ("de", "it", "is") for name in ("a", "b")},
        },
        {"en": "dea deb ita itb isa isb"},
    ),
    Spoken(
        "plain-notes",
        {f"{code}/{name}{code}.md": page(f"{code}{name}") for code in ("de", "it", "is") for name in ("a", "b")},
        {"en": "dea deb ita itb isa isb"},
    ),
    Spoken(
        "plain-rare-languages",
        {f"pages/{code}/{name}.md": page(f"{code}{name}") for code in ("en", "fil", "api") for name in ("c", "d")},
        {"en": "enc end", "fil": "filc fild", "api": "apic apid"},
        ("enc filc apic", "end fild apid"),
    ),
    Spoken("plain-japanese", {"notes/a.md": page("a") + JAPANESE, "notes/b.md": page("b") + JAPANESE}, {"ja": "a b"}),
    Spoken(
        "i18next",
        {
            f"public/locales/{code}/{name}.json": f'{{"menu": {{"home": "mark{code[:2]}{name}x"}}}}'
            for code in ("en", "fr", "pt-BR")
            for name in ("common", "shop")
        },
        {"en": "encommon enshop", "fr": "frcommon frshop", "pt-BR": "ptcommon ptshop"},
        ("encommon frcommon ptcommon", "enshop frshop ptshop"),
    ),
    Spoken(
        "rails",
        {
            "Gemfile": "gem 'rails'\n",
            "config/database.yml": "production: {password: markdbx}\ntest: {password: marktestx}\n",
            "config/locales/en.yml": "en:\n  hello: markenx\n  days: [a, b]\n",
            "config/locales/pt-BR.yml": "pt-BR:\n  hello: markptx\n",
            "config/locales/models/user.en.yml": "en:\n  user: {one: markuserx}\n",
        },
        {"en": "en user", "pt-BR": "pt"},
        ("en pt",),
    ),
)


def delivered(root: Path, store: Path) -> dict[str, dict[str, set[str]]]:
    """Return the marks of the live versions of a workspace, by language and entry."""
    opened = open_store(store)
    made = build(root, opened, now=NOW)
    place = opened.workspace(made.workspace)
    found: dict[str, dict[str, set[str]]] = {}
    for file in place.manifest(made.version).files:
        if file.kind is FileKind.PUBLISHED:
            lang, endpoint = file.path.rpartition(".")[0].split("/")[:2]
            rows = stored_rows(place.bring_file(made.version, file))
            for row in rows:
                entry = f"{endpoint}/{row['id']}"
                found.setdefault(lang, {}).setdefault(entry, set()).update(MARK.findall(row["json"]))
    return found


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_each_text_is_in_its_language(site: Spoken, tmp_path: Path) -> None:
    root = write_folder(tmp_path / "site", site.files)
    assert adopt_site(root, root).errors == 0
    found = delivered(root, tmp_path / "store")
    spoken = {lang: {mark for some in entries.values() for mark in some} for lang, entries in found.items()}
    assert {lang: some for lang, some in spoken.items() if some} == {
        lang: set(names.split()) for lang, names in site.languages.items()
    }
    entries: dict[str, set[str]] = {}
    for of_language in found.values():
        for entry, some in of_language.items():
            entries.setdefault(entry, set()).update(some)
    joined = {frozenset(some) for some in entries.values() if len(some) > 1}
    assert joined == {frozenset(names.split()) for names in site.joined}
    assert len({entry.partition("/")[0] for entry in entries}) <= 3


def test_any_language_tag_is_one_and_other_names_are_not() -> None:
    assert all(map(is_tag, ["en", "fil", "zgh", "zh-Hans", "es-419", "pt_BR", "sr-Latn-RS", "ca-valencia"]))
    assert not any(map(is_tag, ["xx", "posts", "img", "docs", "2024", "a", "en-", "zz-ZZ"]))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (JAPANESE, "ja"),
        ("안녕하세요 세계", "ko"),
        ("这是中文的文章", "zh"),
        ("Plain English.", None),
        ("Привет, мир", None),
    ],
)
def test_letters_tell_a_language_that_alone_is_written_in_them(text: str, language: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text)
    assert written_in(tmp_path, ["a.md"]) == language
