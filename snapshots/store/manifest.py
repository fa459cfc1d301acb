"""manifest.json: the contents of a snapshot, with the size and SHA-256 of every file (design section 3)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from snapshots.columns import ALL, FileKind
from snapshots.model import Api, Workspace
from snapshots.problems import ParquetryError

FORMAT = 5
"""The newest snapshot format this program writes; it reads every older one and refuses newer ones. Since 2 there are
search indexes, since 3 fields in groups and references to several APIs, since 4 a digest of each published row, since
5 segments, with all that only readers need in one column."""
SEGMENTS_SINCE: Final = 5
"""The first format whose files are by segment. In older ones, all entries of an API are in one."""
DIGESTS_SINCE: Final = 4
"""The first format whose rows have digests (``DIGEST_COLUMN``)."""
MANIFEST = "manifest.json"


class ManifestError(ParquetryError):
    """A manifest cannot be used: unreadable, or of a newer format."""


class HistoryUse(StrEnum):
    """The part that git's history has in a version's dates."""

    NONE = "none"
    """No date is from git."""
    WHOLE = "whole"
    """Some are."""
    CUT_OFF = "cut off"
    """Some are, and some of those are too late, since the clone was shallow."""


class Commit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A commit, for people. Of who made it nothing reaches a client of the API: only the console and commands that work
    on the store show it."""

    subject: str
    """The first line of its message."""
    author: str
    """The author's name, without an address."""
    at: int
    """The committer date, UTC milliseconds."""
    differs: bool = False
    """Whether files of the workspace were not as in the commit: changed, or not added yet."""


class DataFile(msgspec.Struct, frozen=True):
    """One Parquet file of a snapshot."""

    path: str
    """Relative to the snapshot's directory, with forward slashes."""
    api: str
    """The ``uid`` of its API."""
    lang: str
    kind: FileKind
    rows: int
    bytes: int
    sha256: str
    content: str
    """SHA-256 of the rows' logical content: equal for equal content, so an unchanged file is linked."""
    scheduled: int = 0
    """The number of rows with the status ``scheduled``."""
    segment: str = ALL
    """The segment of its entries (``data_files.segments``); ``ALL`` in versions of formats without segments, too."""

    @property
    def is_of_segment(self) -> bool:
        """Whether the file is one of those by segment."""
        return is_of_segment(self.path)


def is_of_segment(path: str) -> bool:
    """Return whether a path in a version is that of a data file by segment: ``<lang>/<endpoint>/<segment>.parquet``,
    and before that perhaps another folder."""
    return path.count("/") > 1


class LaggingTranslations(msgspec.Struct, frozen=True):
    """The translations of an API into a language that are older than their originals."""

    api: str
    """The endpoint."""
    lang: str
    count: int
    first: tuple[str, ...]
    """The IDs of the first hundred entries."""


class Manifest(msgspec.Struct, frozen=True):
    """Everything a reader has to know about one version before it opens a file."""

    format: int
    version: str
    """``YYYYMMDDTHHMMSSmmmZ-<8 hex of the content hash>``, the time of the build in UTC."""
    content: str
    """SHA-256 over the definitions and every file's ``content``: equal for equal snapshots."""
    workspace: Workspace
    files: tuple[DataFile, ...]
    created_at: int
    """UTC milliseconds of the build."""
    created_by: str
    """``user@host`` of the build."""
    builder: str
    """``parquetry <version>``."""
    commit: str | None = None
    """The git commit of the workspace when it is a checkout."""
    committed: Commit | msgspec.UnsetType = msgspec.UNSET
    """The same commit for people; absent without one, and in versions of programs that did not record it. It is the one
    that the content was first built from: the same content of a later commit is the same version, since ``content``
    does not depend on it, and the audit log has the commit of each build that made a version current."""
    quick: bool | msgspec.UnsetType = msgspec.UNSET
    """True in versions that ``cms dev`` made, absent in all others. Such a version answers as a full one of the same
    ``content`` does, but has no search indexes, and its data files are compressed less."""

    sources: str | msgspec.UnsetType = msgspec.UNSET
    """A digest over the definitions' and content files' names and bytes, and the assets that they name: equal for equal
    files, whatever program reads them. Absent in versions of programs that did not record it."""
    history: HistoryUse | msgspec.UnsetType = msgspec.UNSET
    """Absent in versions of programs that did not record it."""
    assets: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """``asset_names``; absent where there are none."""
    assets_url: str | msgspec.UnsetType = msgspec.UNSET
    """The beginning of their delivered addresses; absent where there are none, and in versions of older programs."""
    lagging: tuple[LaggingTranslations, ...] | msgspec.UnsetType = msgspec.UNSET
    """``lagging_translations``; absent where an API has only one language, and in versions of older programs."""

    def files_of(self, api: Api, lang: str, kind: FileKind = FileKind.PUBLISHED) -> tuple[DataFile, ...]:
        """Return the files with an API's versions in a language, by segment; none without such versions."""
        found = [f for f in self.files if f.api == api.uid and f.lang == lang and f.kind is kind]
        return tuple(sorted(found, key=lambda file: file.segment))

    @property
    def lagging_translations(self) -> tuple[LaggingTranslations, ...] | None:
        """The translations that were older than their originals when the version was built; ``None`` where that is not
        known."""
        return None if self.lagging is msgspec.UNSET else self.lagging

    @property
    def asset_names(self) -> tuple[str, ...]:
        """The names of the workspace's assets that the content names."""
        return () if self.assets is msgspec.UNSET else self.assets

    @property
    def assets_lack_host(self) -> bool:
        """Whether assets are delivered at addresses that hold for pages on the server's own host alone."""
        return isinstance(self.assets_url, str) and self.assets_url.startswith("/")

    @property
    def public_url(self) -> str | None:
        """The server's address with which the version was built; ``None`` without one, where no asset is named, and
        where assets are somewhere else."""
        end = f"/assets/{self.workspace.id}/"
        if not isinstance(self.assets_url, str) or not self.assets_url.endswith(end):
            return None
        return self.assets_url.removesuffix(end) or None

    @property
    def described_commit(self) -> Commit | None:
        """``committed``; ``None`` where it is absent."""
        return None if self.committed is msgspec.UNSET else self.committed

    @property
    def known_sources(self) -> str:
        """``sources``; empty where that is not recorded."""
        return "" if self.sources is msgspec.UNSET else self.sources

    @property
    def full(self) -> bool:
        """Whether ``cms snapshot build`` made the version: the same bytes for the same content."""
        return self.quick is not True

    @property
    def entries(self) -> int:
        """The number of versions in the snapshot, over all APIs, languages and kinds."""
        return sum(f.rows for f in self.files if f.kind is not FileKind.SEARCH)


# Made while the module is imported: two threads that decode a type for the first time at once crash in msgspec.
_decode: Final = msgspec.json.Decoder(Manifest).decode


def encode_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as indented JSON, the same bytes for the same manifest."""
    return msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=1) + b"\n"


def decode_manifest(data: bytes, where: str) -> Manifest:
    """Return the ``Manifest`` of a manifest.json; ``where`` names the file in messages.

    Raises ``ManifestError`` when it is damaged or of a newer format than this program knows.
    """
    try:
        found = msgspec.json.decode(data, type=dict[str, Any]).get("format")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"{where}: not a manifest: {error}. Restore the file or activate another snapshot version."
        ) from None
    if not isinstance(found, int) or found < 1:
        raise ManifestError(f"{where}: not a manifest: 'format' is {found!r}. Activate another snapshot version.")
    if found > FORMAT:
        raise ManifestError(
            f"{where}: snapshot format {found} is newer than this program reads ({FORMAT}). "
            "Upgrade parquetry on this machine, or activate an older snapshot version."
        )
    try:
        return _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ManifestError(
            f"{where}: damaged manifest: {error}. Restore the file or activate another snapshot version."
        ) from None
