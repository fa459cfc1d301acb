"""Bytes of a content file, and its format → documents."""

from __future__ import annotations

from collections.abc import Iterator

from snapshots.documents.document import Document, Format
from snapshots.documents.json_reader import read_json, read_jsonl
from snapshots.documents.markdown_reader import read_markdown
from snapshots.documents.yaml_reader import read_yaml
from snapshots.problems import Problems


def read_documents(
    file: str,
    format: Format,  # noqa: A002 - the word for it everywhere else
    data: bytes,
    problems: Problems,
) -> Iterator[Document]:
    """Return the documents of a file's bytes: one, or one an item of a YAML or JSON list, or one a line of JSONL.

    ``file`` is the path to name in problems. What cannot be read is reported and left out: the whole file, an item of
    its list, or a line. Lines count from 1.
    """
    match format:
        case Format.MARKDOWN:
            return read_markdown(file, data, problems)
        case Format.YAML:
            return read_yaml(file, data, problems)
        case Format.JSON:
            return read_json(file, data, problems)
        case Format.JSONL:
            return read_jsonl(file, data, problems)
