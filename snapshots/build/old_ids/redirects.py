"""Make redirects of old IDs and addresses, in the forms that web servers and hosts read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from snapshots.compile.links import page_address


class Page(msgspec.Struct, frozen=True):
    """An entry that has a page, and what it was called before."""

    endpoint: str
    page_url: str
    """The address, with ``{id}`` and ``{lang}``."""
    entry_id: str
    languages: tuple[str, ...]
    """The languages of its versions that are no drafts, in the workspace's order."""
    old_ids: tuple[str, ...]
    old_addresses: tuple[tuple[str, str], ...]
    """(path, language of the version that names it)."""


class Redirect(msgspec.Struct, frozen=True):
    """A path on the site, decoded, and the address to which it leads now, as it is sent."""

    path: str
    address: str


def redirects(pages: Sequence[Page], is_page: Callable[[str], bool]) -> tuple[list[Redirect], list[str]]:
    """Return the redirects of a site by path, and why others are none, each in a sentence.

    ``is_page`` tells of a path whether an entry has its page there now.
    """
    found: dict[str, Redirect] = {}
    refused: list[str] = []
    for page in pages:
        for path, address in _of_page(page):
            path_now = unquote(urlsplit(address).path)
            if path == path_now:
                continue
            if is_page(path):
                refused.append(
                    f"{path}, of {page.entry_id!r} in {page.endpoint}, is the page of an entry: no redirect."
                )
            elif path in found and found[path].address != address:
                refused.append(f"{path} leads to {found[path].address} already: no redirect to {address}.")
            else:
                found[path] = Redirect(path, address)
    return [found[path] for path in sorted(found)], refused


def _of_page(page: Page) -> Iterator[tuple[str, str]]:
    by_language = "{lang}" in page.page_url
    for lang in page.languages if by_language else page.languages[:1]:
        for old in page.old_ids:
            old_path = unquote(urlsplit(page_address(page.page_url, old, lang)).path)
            yield old_path, page_address(page.page_url, page.entry_id, lang)
    for path, lang in page.old_addresses:
        yield unquote(path), page_address(page.page_url, page.entry_id, lang)


def _netlify(every: Sequence[Redirect]) -> str:
    """Return a ``_redirects`` file. Stars and colons are encoded, since they stand for other things there."""
    return "".join(f"{_encoded(one.path)} {one.address} 301\n" for one in every)


def _nginx(every: Sequence[Redirect]) -> str:
    """Return locations for a ``server`` block, each with and without the slash at its end; queries are kept."""
    lines = []
    paths = {one.path for one in every}
    for one in every:
        bare = one.path.rstrip("/")
        is_file = "." in bare.rpartition("/")[2]
        other = bare if one.path != bare or is_file else f"{bare}/"
        arguments = "" if "?" in one.address or "#" in one.address else "$is_args$args"
        target = one.address.replace("$", "%24") + arguments
        for path in [one.path, *([other] if other and other not in paths else [])]:
            lines.append(f"location = {_in_quotes(path)} {{ return 301 {_in_quotes(target)}; }}\n")
    return "".join(lines)


def _json(every: Sequence[Redirect]) -> str:
    rows = [{"from": _encoded(one.path), "to": one.address, "status": 301} for one in every]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _encoded(path: str) -> str:
    return quote(path, safe="/!$&'()+,;=@~")


def _in_quotes(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


FORMATS: Final[Mapping[str, Callable[[Sequence[Redirect]], str]]] = {
    "netlify": _netlify,
    "nginx": _nginx,
    "json": _json,
}
"""The printers of redirects, by the name of the form."""
