"""Parse the bytes of a content file into documents, by its format."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

from snapshots.documents.collections import read_collection
from snapshots.documents.document import ContentDocument, Format
from snapshots.documents.json_reader import read_json, read_jsonl
from snapshots.documents.markdown_reader import read_markdown
from snapshots.documents.slips import conflicts
from snapshots.documents.toml_reader import read_toml
from snapshots.documents.yaml_reader import read_yaml
from snapshots.problems import Problems

_CONFLICT = b"<<<<<<< "


def read_documents(
    file: str,
    form: Format,
    data: bytes,
    problems: Problems,
    collection: tuple[str, ...] | None = None,
    *,
    is_translation: bool = False,
) -> Iterator[ContentDocument]:
    """Return the documents of a file's bytes: one, or one an item of a YAML or JSON list, or one a line of JSONL.

    With ``collection`` the file, or each of its documents, holds a collection at these keys; each item is a document.
    ``file`` is the path to name in problems. Unreadable parts are reported and left out: the whole file, an item of its
    list, or a line. Lines count from 1.

    Of a translation, a file of white space, or without a key and without text, has no documents: it is not written yet.
    """
    if is_translation and not data.removeprefix(BOM_UTF8).strip():
        return iter(())
    if _CONFLICT in data and _has_conflicts(file, form, data, problems):
        return iter(())
    documents = _documents(file, form, data, problems)
    if is_translation:
        documents = (document for document in documents if not document.says_nothing())
    return documents if collection is None else read_collection(file, documents, collection, problems)


def _documents(
    file: str,
    form: Format,
    data: bytes,
    problems: Problems,
) -> Iterator[ContentDocument]:
    match form:
        case Format.MARKDOWN:
            return read_markdown(file, data, problems)
        case Format.YAML:
            return read_yaml(file, data, problems)
        case Format.JSON:
            return read_json(file, data, problems)
        case Format.JSONL:
            return read_jsonl(file, data, problems)
        case Format.TOML:
            return read_toml(file, data, problems)


def _has_conflicts(
    file: str,
    form: Format,
    data: bytes,
    problems: Problems,
) -> bool:
    """Report the merge conflicts that git left in a file; return whether there are any."""
    markdown = form is Format.MARKDOWN
    lines = list(conflicts(data.decode(errors="replace"), markdown=markdown))
    for line in lines:
        message = "a merge conflict begins here: keep what is right, and remove the lines <<<<<<<, ======= and >>>>>>>"
        problems.error(file, line, "conflict", message, in_version=markdown)
    return bool(lines)
