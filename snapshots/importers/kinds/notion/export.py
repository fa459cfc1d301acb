"""Notion: an export as Markdown & CSV, a ZIP file or the folder extracted from it.

Each page is a Markdown file whose name ends with the ID of the page, with its title as a heading, and, in a database, a
line for each property below it. Each database is a CSV file beside a folder with its pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from snapshots.importers.export import Export
from snapshots.importers.kinds.tables.table import Table
from snapshots.importers.losses import Unreadable
from snapshots.importers.model import ApiPlan, FieldPlan, Imported, ImportedVersion
from snapshots.importers.names import endpoints
from snapshots.importers.reading.csv_rows import columns, rows
from snapshots.importers.reading.zip_files import extracted
from snapshots.model import FieldType

MOST_BYTES: Final = 64 << 20
"""Bytes of a page."""

_NAMED: Final = re.compile(r"(.*?) ?([0-9a-f]{32})(_all)?")
"""The name of a file without its extension: what it is about, and its ID."""
_ID: Final = re.compile(r"([0-9a-f]{32})(?:_all)?\.(?:md|csv)$")
_LINK: Final = re.compile(r"(!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\])\(([^()\s]+(?:\([^()\s]*\)[^()\s]*)*)\)")
"""A link or a picture of a page: what stands before its address, its text, and the address."""
_RELATION: Final = re.compile(r"[^()]*\(([^()]*[0-9a-f]{32}\.md)\)")
_PROPERTY: Final = re.compile(r"([^:\n]{1,200}): ?(.*)")
_PAGES: Final = "pages"


class _Page(msgspec.Struct):
    """A page: its file, and the database that it is in."""

    id: str
    path: Path
    title: str
    database: Path | None = None
    parent: str | None = None


class _Database(msgspec.Struct):
    """A database: its table, with the columns that lead to other pages."""

    path: Path
    table: Table
    relations: dict[str, str] = {}
    """The endpoint that a column leads to, by the column."""


def read(export: Export) -> Imported:
    """Return the pages and databases of a Notion export."""
    root = extracted(export.path, export.work)
    reader = _Reader(export, root)
    if not reader.pages and not reader.databases:
        raise Unreadable(f"{export.path.name}: not an export of Notion: no .md or .csv file in it is named with an ID.")
    return Imported(reader.plans(), reader.versions(), [export.language or "en"])


class _Reader:
    def __init__(self, export: Export, root: Path) -> None:
        self._export, self._root = export, root
        self.databases = self._databases()
        self.pages = self._pages()
        self._endpoint_of = {
            page.id: _PAGES if page.database is None else self.databases[page.database].table.plan.endpoint
            for page in self.pages.values()
        }
        self._has_text: dict[str, bool] = {}
        """Whether the entries of pages are Markdown files, as far as that was asked for."""
        for database in self.databases.values():
            self._settle(database)

    def _databases(self) -> dict[Path, _Database]:
        """Return the databases by the folder of their pages."""
        files: dict[tuple[Path, str], Path] = {}
        for path in sorted(self._root.rglob("*.csv")):
            named = _NAMED.fullmatch(path.stem)
            if named is None:
                self._lose(path, "a table", "its name has no ID, so it is none of Notion's")
                continue
            key = (path.parent, named[2])
            if key not in files or named[3]:  # that of all rows, not of a view
                files[key] = path
        titles = {path: _NAMED.fullmatch(path.stem) for path in files.values()}
        plain = {path: found[1] if found and found[1] else path.stem for path, found in titles.items()}
        taken: dict[str, int] = {_PAGES: 1}
        unique = {}
        for path, title in plain.items():
            taken[title.lower()] = taken.get(title.lower(), 0) + 1
            unique[path] = title if taken[title.lower()] == 1 else f"{title} {taken[title.lower()]}"
        names = endpoints(title.lower() for title in unique.values())
        return {
            self._folder(path): _Database(
                path,
                Table(names[unique[path].lower()], plain[path], filter(None, columns(path)), self._export.losses),
            )
            for path in files.values()
        }

    def _folder(self, path: Path) -> Path:
        """Return the folder of a database's pages: named like its file, with the ID or without."""
        named = _NAMED.fullmatch(path.stem)
        title = named[1] if named else path.stem
        other = path.parent / title
        whole = path.parent / path.stem.removesuffix("_all")
        return other if other.is_dir() and not whole.is_dir() else whole

    def _pages(self) -> dict[str, _Page]:
        found: dict[str, _Page] = {}
        for path in sorted(self._root.rglob("*.md")):
            named = _NAMED.fullmatch(path.stem)
            if named is None:
                self._lose(path, "a page", "its name has no ID, so it is none of Notion's")
                continue
            if path.stat().st_size > MOST_BYTES:
                self._lose(path, "a page", f"it has more than {MOST_BYTES:,} bytes")
                continue
            database = path.parent if path.parent in self.databases else None
            found[named[2]] = _Page(named[2], path, named[1], database)
        by_folder = {}
        for page in found.values():
            by_folder[page.path.with_suffix("")] = page
            by_folder.setdefault(page.path.parent / page.title, page)
        for page in found.values():
            above = by_folder.get(page.path.parent)
            page.parent = above.id if above is not None and above.database is None else None
        return found

    def _settle(self, database: _Database) -> None:
        """Decide on the fields of a database."""
        leading: dict[str, set[str | None]] = {}
        names = columns(database.path)
        for _, cells in rows(database.path):
            row = {name: cell for name, cell in zip(names, cells, strict=False) if name}
            database.table.note(row)
            for name, cell in row.items():
                if cell.strip():
                    leading.setdefault(name, set()).update(self._targets(cell))
        database.table.settle()
        fields = database.table.fields
        for name, targets in leading.items():
            if name in fields and None not in targets:
                database.relations[name] = name
                field = fields[name]
                field.type, field.apis = FieldType.REFERENCES, sorted({one for one in targets if one is not None})
        taken = {field.id.lower() for field in database.table.plan.fields}
        body = next(one for one in ("body", "text", "page_body") if one not in taken)
        database.table.plan.fields.append(FieldPlan(body, FieldType.RICHTEXT, markdown=True))

    def _targets(self, cell: str) -> set[str | None]:
        """Return the APIs of the pages that a cell of a relation names; ``None`` is among them for any other cell."""
        ids = self._related(cell)
        return {self._endpoint_of[one] for one in ids} if ids else {None}

    def _related(self, cell: str) -> list[str]:
        parts = [part.strip() for part in re.split(r"(?<=\.md\)),", cell)]
        found = [_RELATION.fullmatch(part) for part in parts if part]
        ids = [unquote(one[1])[-35:-3] for one in found if one is not None]
        return ids if len(ids) == len(found) and all(one in self._endpoint_of for one in ids) else []

    def plans(self) -> list[ApiPlan]:
        """Return the APIs: one for each database, and one for the pages in none."""
        made = [database.table.plan for database in self.databases.values()]
        if any(page.database is None for page in self.pages.values()):
            fields = [
                FieldPlan("title", FieldType.TEXT),
                FieldPlan("parent", FieldType.REFERENCE, apis=[_PAGES]),
                FieldPlan("body", FieldType.RICHTEXT, markdown=True),
            ]
            made.append(ApiPlan(_PAGES, "Pages", fields))
        return made

    def versions(self) -> Iterator[ImportedVersion]:
        """Return the entries: each page, and each row of a database that has no page."""
        for page in self.pages.values():
            text = self._text(page)
            if text is None:
                continue
            title, body = _titled(text, page.title)
            if page.database is None:
                values = {"title": title, "parent": page.parent, "body": self._linked(page, body)}
                yield ImportedVersion(_PAGES, page.id, values, where=self._shown(page.path))
            else:
                yield self._row(self.databases[page.database], page, title, body)
        for folder, database in self.databases.items():
            yield from self._pageless(folder, database)

    def _row(self, database: _Database, page: _Page, title: str, body: str) -> ImportedVersion:
        """Return the entry that a page of a database is."""
        names = database.table.names
        cells, rest = _properties(body, names)
        version = database.table.version({names[0]: title, **cells}, self._shown(page.path), page.id)
        return self._completed(database, version, cells, self._linked(page, rest))

    def _completed(
        self, database: _Database, version: ImportedVersion, cells: Mapping[str, str], body: str | None
    ) -> ImportedVersion:
        fields = database.table.fields
        for name in database.relations:
            version.values[fields[name].id] = [
                {"api": self._endpoint_of[one], "id": one} for one in self._related(cells.get(name, ""))
            ]
        version.values[database.table.plan.fields[-1].id] = body
        return version

    def _pageless(self, folder: Path, database: _Database) -> Iterator[ImportedVersion]:
        """Return the rows of a database of which the export has no page."""
        names = columns(database.path)
        titles = [page.title for page in self.pages.values() if page.database == folder]
        with_page = len(titles)
        count = sum(1 for _ in rows(database.path))
        if count <= with_page:
            return
        known = {_plain(title) for title in titles}
        for line, cells in rows(database.path):
            if _plain(cells[0]) not in known:
                row = {name: cell for name, cell in zip(names, cells, strict=False) if name}
                where = f"{self._shown(database.path)}:{line}"
                self._export.losses.add(where, "the page of a row", "the export does not contain it")
                yield self._completed(database, database.table.version(row, where), row, None)

    def _text(self, page: _Page) -> str | None:
        try:
            return page.path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            self._lose(page.path, "a page", "it is not valid UTF-8")
            return None

    def _linked(self, page: _Page, body: str) -> str:
        """Return the text of a page with links that lead to entries, and to copies of its files."""

        def link(found: re.Match[str]) -> str:
            before, words, url = found.groups()
            parts = urlsplit(url)
            if parts.scheme or parts.netloc or not parts.path:
                return found[0]
            path = unquote(parts.path)
            linked = _ID.search(path)
            if linked is not None:
                entry = self._entry(page, linked[1])
                return words if entry is None else f"{before}({entry})"
            source = page.path.parent / path
            name = path.rpartition("/")[2]
            made = self._export.copies.address([source], self._root, name, url, self._shown(page.path))
            return found[0] if made == url else f"{before}({made})"

        return _LINK.sub(link, body)

    def _entry(self, page: _Page, wanted: str) -> str | None:
        endpoint = self._endpoint_of.get(wanted)
        if endpoint is None:
            why = "it leads to a page or a database that is no entry: only its text stays"
            self._export.losses.add(self._shown(page.path), "a link", why)
            return None
        if wanted not in self._has_text:
            target = self.pages[wanted]
            _, body = _titled(self._text(target) or "", target.title)
            names = [] if target.database is None else self.databases[target.database].table.names
            self._has_text[wanted] = bool(_properties(body, names)[1].strip())
        return f"../{endpoint}/{wanted}.{'md' if self._has_text[wanted] else 'yaml'}"

    def _shown(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _lose(self, path: Path, what: str, why: str) -> None:
        self._export.losses.add(self._shown(path), what, why)


def _titled(text: str, name: str) -> tuple[str, str]:
    """Return the title of a page, and what stands below it."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if first.startswith("# "):
        return first[2:].strip(), rest.lstrip("\n")
    return name, text


def _properties(body: str, names: list[str]) -> tuple[dict[str, str], str]:
    """Return the properties with which the text of a page in a database begins, and the rest of the text."""
    lines = body.split("\n")
    found: dict[str, str] = {}
    at = 0
    for line in lines:
        named = _PROPERTY.fullmatch(line)
        if named is not None and named[1] in names:
            found[named[1]] = named[2]
        elif not line.strip() or not found:
            break
        else:
            last = next(reversed(found))
            found[last] = f"{found[last]}\n{line}"
        at += 1
    return found, "\n".join(lines[at:]).strip("\n")


def _plain(title: str) -> str:
    """Return what the name of a file keeps of a title."""
    return re.sub(r"[^\w]+", "", title).lower()[:40]
