"""Small folders shaped as sites have them: files and nothing that was written for this program."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

LONG = "a-very-long-section-name-of-the-documentation/with-another-long-name-in-it/and-a-page-at-the-end"

HUGO = {
    "hugo.toml": (
        'baseURL = "https://site.example/"\ndefaultContentLanguage = "en"\n'
        "[languages.en]\nweight = 1\n[languages.de]\nweight = 2\n[languages.zh-cn]\nweight = 3\n"
    ),
    "content/posts/hello.md": (
        "+++\ntitle = 'Hello'\ndate = 2024-05-02T09:00:00Z\ntags = ['a', 'b']\nlang = 'informal'\n"
        "related = ['/posts/deep/bundle/']\n+++\nHello.\n"
    ),
    "content/posts/hello.de.md": "+++\ntitle = 'Hallo'\ndate = 2024-05-03T09:00:00Z\n+++\nHallo.\n",
    "content/posts/hello.zh-cn.md": "---\ntitle: 你好\ndate: 2024-05-04\n---\n你好。\n",
    "content/posts/deep/bundle/index.md": (
        "---\ntitle: Bundle\ndate: 2024-05-05\nrelated: [../../hello.md, https://site.example/posts/json/]\n---\n"
        "In a folder.\n"
    ),
    "content/posts/json.md": '{\n  "title": "JSON",\n  "date": "2024-05-06"\n}\nBody.\n',
    f"content/posts/{LONG}.md": "---\ntitle: Long\ndate: 2024-05-07\n---\nLong.\n",
    "content/posts/_includes/part.md": "A part of pages.\n",
    "content/posts/future.md": "---\ntitle: Later\ndate: 2999-01-01\n---\nLater.\n",
}

JEKYLL = {
    "_config.yml": "title: A site\nurl: https://site.example\n",
    "_posts/2025-12-18-first-post.md": (
        "---\nlayout: post\ntitle: First\ndate: 2025-12-18 00:00:00 +0000\ntags: [x]\n---\nFirst.\n"
    ),
    "_posts/2025-12-19-second.markdown": (
        "---\nlayout: post\ntitle: Second\ndate: 2025/12/19 9:00 -0500\n---\nSecond.\n"
    ),
    "_posts/2025-12-20-third.MD": "---\nlayout: post\ntitle: Third\n---\nThird.\n",
    "_data/people.yml": "- name: Ann M. Lee\n  city: Leeds\n",
    "about.md": "---\nlayout: page\ntitle: About\n---\nAbout.\n",
}

ASTRO = {
    "astro.config.mjs": "export default {}\n",
    "package.json": '{"name": "site"}\n',
    "src/content/blog/en/first.mdx": "---\ntitle: First\npubDate: 'Jul 08 2022'\nheroImage: /a.png\n---\n# First\n",
    "src/content/blog/en/guides/second.md": "---\ntitle: Second\npubDate: 2022-07-15\n---\nSecond.\n",
    "src/content/blog/ja/first.mdx": "---\ntitle: 最初\npubDate: 2022-07-16\n---\n最初\n",
}

PRESETS = {
    "dist/presets.json": (
        '{\n  "version": "1",\n  "presets": {\n    "amenity/bar": {"icon": "bar", "name": "Bar"},\n'
        '    "shop": {"icon": "shop", "name": "Shop"}\n  }\n}\n'
    ),
    "dist/translations/en.json": '{\n  "bar.name": "Bar",\n  "shop.name": "Shop"\n}\n',
    "dist/translations/pt_BR.json": '{\n  "bar.name": "Bar",\n  "shop.name": "Loja"\n}\n',
    "dist/translations/de.json": '{"bar.name": "Bar"}\n',
}

PLAIN = {
    "README.md": "# A folder of notes\n",
    "notes/a.md": "# A\n\nText.\n",
    "notes/deep/er/b.md": "# B\n\nText.\n",
    "notes/c.markdown": "# C\n\nText.\n",
}


def write_folder(root: Path, *files: Mapping[str, str]) -> Path:
    """Write files below ``root``; return it."""
    for name, text in {name: text for group in files for name, text in group.items()}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
