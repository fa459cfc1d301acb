"""What a folder is that is no content here: a site of another generator, an export, pages in another markup."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

_READ: Final = "What is read: Markdown, and folders of YAML, JSON or TOML files"
_TOO_MANY: Final = 50_000
"""Files of a folder that are looked at."""


class Other(msgspec.Struct, frozen=True):
    """A system whose folders are not read, or not by its rules."""

    name: str
    known_by: tuple[str, ...]
    """Patterns of paths, one of which its folders have."""
    instead: str = ""
    """What to do, as a sentence."""


OTHERS: Final = (
    Other("Sphinx", ("conf.py", "docs/conf.py", "source/conf.py", "docs/source/conf.py")),
    Other("Antora", ("antora.yml", "antora-playbook.yml")),
    Other("Middleman", ("config.rb",)),
    Other("Nanoc", ("nanoc.yaml",)),
    Other("Bridgetown", ("bridgetown.config.yml", "config/initializers.rb")),
    Other("Lektor", ("*.lektorproject",)),
    Other("Gridsome", ("gridsome.config.js",)),
    Other("mdBook", ("book.toml",)),
    Other("Quarto", ("_quarto.yml",)),
    Other("Jupyter Book", ("_toc.yml",)),
    Other(
        "WordPress",
        ("wp-config.php", "wp-content"),
        "Its content is in a database: export it under Tools > Export, and run `cms import wordpress FILE`.",
    ),
    Other(
        "Strapi",
        ("config/database.js", "config/database.ts"),
        "Its content is in a database: run `strapi export --no-encrypt`, and `cms import strapi FILE`.",
    ),
    Other(
        "Sanity",
        ("sanity.config.*", "sanity.cli.*"),
        "Its content is on its servers: run `sanity dataset export`, and `cms import sanity FILE`.",
    ),
)
"""Those that are told by name. Markdown in their folders is read, but not what they keep back."""
_MARKUP: Final = {
    "rst": ("reStructuredText", "rst"),
    "adoc": ("AsciiDoc", "asciidoc"),
    "asciidoc": ("AsciiDoc", "asciidoc"),
    "org": ("Org", "org"),
    "textile": ("Textile", "textile"),
    "html": ("HTML", "html"),
    "htm": ("HTML", "html"),
    "ipynb": ("Jupyter notebooks", "ipynb"),
    "docx": ("Word", "docx"),
    "odt": ("OpenDocument", "odt"),
    "tex": ("LaTeX", "latex"),
    "mdoc": ("Markdoc", ""),
    "typ": ("Typst", "typst"),
    "wiki": ("MediaWiki", "mediawiki"),
}
"""Names of markup, with those by which Pandoc knows it, by extension."""
_EXPORTS: Final = {
    "xml": "An export of WordPress is read by `cms import wordpress FILE`.",
    "ndjson": "An export of Sanity is read by `cms import sanity FILE`.",
    "zip": "Unpack it, and name the folder; `cms import --help` lists the exports that are read.",
    "gz": "Unpack it, and name the folder; `cms import --help` lists the exports that are read.",
    "json": "`cms import --help` lists the exports that are read.",
}


def other_of(root: Path) -> Other | None:
    """Return the system of which a folder is one, by its files; ``None`` for all others."""
    return next((one for one in OTHERS if any(any(root.glob(pattern)) for pattern in one.known_by)), None)


def why_no_content(path: Path, generator: str, folders: list[str]) -> str:
    """Return why a path holds no content to write definitions for, and what to do.

    ``generator`` is the name of the one that makes the site, ``folders`` are those of its content.
    """
    if path.is_file():
        hint = _EXPORTS.get(path.suffix[1:].lower(), "")
        return f"{path} is a file, not the folder of a site. {hint}".rstrip()
    if not path.is_dir():
        return f"{path} is not a folder. Name the folder of a site: `cms init --from SITE`."
    other = other_of(path)
    counts = Counter(ending for ending in _endings(path) if ending in _MARKUP)
    sentences = []
    if other is not None:
        sentences.append(f"{path} is a folder of {other.name}, which is not supported.")
    elif generator != "plain":
        named = " and ".join(folder or "." for folder in folders)
        sentences.append(f"{path} is a {generator} site, and holds no content in {named}.")
    if other is not None and other.instead:
        return f"{sentences[0]} {other.instead}"
    if counts:
        ending, count = counts.most_common(1)[0]
        name, reader = _MARKUP[ending]
        files = f"{'1 file' if count == 1 else f'{count:,} files'} of {name} (.{ending})"
        convert = f": convert them to Markdown, such as with `pandoc --from {reader} --to gfm`" if reader else ""
        sentences.append(f"{files if sentences else f'{path} holds {files}'}, which {_is(count)} not read{convert}.")
    if not sentences:
        sentences.append(f"{path} holds no content: no Markdown files, no folders of YAML, JSON or TOML files.")
        return sentences[0]
    return f"{' '.join(sentences)} {_READ}."


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _endings(root: Path) -> Iterator[str]:
    """Return the extensions of the files of a folder, those of its first thousands."""

    def every() -> Iterator[str]:
        for _, directories, files in os.walk(root):
            directories[:] = sorted(name for name in directories if not name.startswith(".") and name != "node_modules")
            yield from (name.rpartition(".")[2].lower() for name in files if "." in name)

    return islice(every(), _TOO_MANY)
