"""The tables of an API of an opened version, and the places of their rows in the parts (design section 4)."""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Final

from engine.identifiers import quoted
from engine.read.files.array_file import ArrayFile
from engine.read.files.parts import ApiParts
from engine.read.files.paths import rows_file, tables_file, vocabulary_file
from engine.read.files.row_arrays import PARTS, POSITIONS, ROWS
from engine.read.files.tables import Table


class OpenedTables:
    """The tables of an API. Its rows are those of all of them, language by language, each in default order."""

    def __init__(self, directory: Path, api: ApiParts, database: str) -> None:
        """``directory`` is that of the tables, ``database`` what their DuckDB file is attached as. Raises as
        ``OpenedPart``."""
        self.api: Final = api
        self.database: Final = database
        self.is_damaged = False
        """Whether a damage was found since the tables were opened."""
        self._directory: Final = directory
        self._inode: Final = tables_file(directory).stat().st_ino
        self._file: Final = ArrayFile(rows_file(directory), api.token)
        self.vocabulary: Final = ArrayFile(vocabulary_file(directory), api.token) if api.has_vocabulary else None
        """The words of all texts, ``None`` where they are those of one part, or of none."""
        self.parts: Final = self._file.numbers(PARTS)
        """The number of the part that each row is in."""
        self.positions: Final = self._file.numbers(POSITIONS)
        """The position of each row in its part."""
        self.rows: Final = self._file.numbers(ROWS)
        """The row of each position in a part, part after part."""
        counts = [api.rows_of(lang) for lang in api.languages]
        self.languages: Final = {
            lang: range(end - count, end)
            for lang, count, end in zip(api.languages, counts, accumulate(counts), strict=True)
        }
        """The rows of each language."""
        self.firsts: Final = [0, *accumulate(part.rows for part in api.parts)]
        """Where in ``rows`` each part begins."""
        if not (len(self.parts) == len(self.positions) == len(self.rows) == sum(counts)):
            raise ValueError(f"{rows_file(directory).name} does not belong to it")

    def row(self, part: int, position: int) -> int:
        """Return the row of a position in a part."""
        return self.rows[self.firsts[part] + position]

    def tables(self) -> dict[str, Table]:
        """Return the tables by language."""
        schema = f"{quoted(self.database)}.{quoted(self.api.name)}"
        return {lang: Table(f"{schema}.{quoted(lang)}", rows.start) for lang, rows in self.languages.items()}

    def is_read_by(self, statement: str) -> bool:
        """Whether a statement, as SQL, reads one of the tables."""
        return f"{quoted(self.database)}." in statement

    def discard(self) -> None:
        """Mark the tables as damaged and delete them, so that the next process that opens a version makes them
        again."""
        self.is_damaged = True
        with suppress(OSError):  # they are made again already, or cannot be
            if tables_file(self._directory).stat().st_ino == self._inode:
                tables_file(self._directory).unlink()

    def close(self) -> None:
        """Close the files beside the tables. Nothing may be read any more."""
        self._file.close()
        if self.vocabulary is not None:
            self.vocabulary.close()
