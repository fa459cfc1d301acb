"""A bucket as ``Objects``, by obstore: Amazon S3 and what speaks it, Google Cloud Storage, Azure Blob Storage.

The only file that imports obstore, which comes with the extra ``parquetry[objects]``.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import obstore
import obstore.store
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from snapshots.store.buckets.bucket_url import Bucket
from snapshots.store.buckets.conditions import Conditions, try_conditions
from snapshots.store.buckets.errors import cause, is_missing_bucket, is_missing_credentials, is_past_the_end
from snapshots.store.buckets.receiving import in_order, receive
from snapshots.store.durable import StoreError, reading
from snapshots.store.objects import (
    ABSENT,
    ANY,
    UNCHANGED,
    Conflict,
    Expected,
    ListedObject,
    MissingBucket,
    MissingObject,
    ObjectContent,
    Objects,
    StoreUnreachable,
    Unchanged,
    checked_key,
    checked_prefix,
)
from snapshots.times import Stopwatch

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

PART: Final = 8 << 20
"""Bytes of a large object that are sent or asked for in one request."""
PARTS_AT_ONCE: Final = 4
SHORT_BYTES: Final = 128 << 10
"""Bytes of the largest document that is written with the short time limit, in which nothing is heard of a store that
is still being sent one."""

_LONGEST: Final = timedelta(seconds=120)
_SHORT: Final[ClientConfig] = {
    "timeout": _LONGEST,
    "read_timeout": timedelta(seconds=2),
    "connect_timeout": timedelta(seconds=1),
}
"""For documents and lists, which pollers ask for: obstore's own 30 s and ten retries would hide an outage for minutes.

Two seconds without a byte are an outage; a day's counts, which may be tens of megabytes, take as long as they take.
"""
_SLEPT_SECONDS: Final = 600.0
"""A try that took longer was not under way: the machine slept. What was to be created may be wanted no more."""
_LONG: Final[ClientConfig] = {"timeout": _LONGEST, "connect_timeout": timedelta(seconds=2)}
_BACKOFF: Final[Any] = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=1),
    "base": 2,
}
_RETRIES: Final[RetryConfig] = {"max_retries": 2, "retry_timeout": timedelta(seconds=8), "backoff": _BACKOFF}
_LONG_RETRIES: Final[RetryConfig] = {"max_retries": 2, "retry_timeout": timedelta(seconds=180), "backoff": _BACKOFF}


class BucketObjects(Objects):
    """The objects of a bucket, or of the part of it under a prefix.

    Before the first change it is tried whether the store keeps to conditions; one that does not is never written to.
    """

    shares_files = True

    def __init__(self, bucket: Bucket) -> None:
        self.location = bucket.location
        self._bucket = bucket
        try:
            self._documents = self._client(_SHORT, _RETRIES)
            self._files = self._client(_LONG, _LONG_RETRIES)
        except BaseError as error:
            raise StoreError(
                f"{self.location}: the settings in the environment cannot be used: {cause(str(error))}."
            ) from None
        self._trying = threading.Lock()
        self._conditions: Conditions | None = None

    def read(self, key: str) -> ObjectContent | None:
        """Return the document, ``None`` where there is none."""
        with self._asking("read", key):
            try:
                found = obstore.get(self._documents, checked_key(key))
                return ObjectContent(bytes(found.bytes()), _tag(found.meta))
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

    def read_if_changed(self, key: str, tag: str) -> ObjectContent | Literal[Unchanged.UNCHANGED] | None:
        """Ask for the document unless its ETag is that of ``tag``."""
        with self._asking("read", key):
            try:
                e_tag, _ = _parts_of(tag)
                unless: Any = {"if_none_match": e_tag} if e_tag else {}
                found = obstore.get(self._documents, checked_key(key), options=unless)
                now = _tag(found.meta)
                return UNCHANGED if now == tag else ObjectContent(bytes(found.bytes()), now)
            except NotModifiedError:
                return UNCHANGED
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

    def replace(
        self,
        key: str,
        data: bytes,
        expected: str | Expected,
        *,
        private: bool = False,  # who reads a bucket is the bucket's setting
    ) -> str:
        """Put the document under the condition; what the answer leaves open is read back."""
        client = self._documents if len(data) <= SHORT_BYTES else self._files
        return self._replace(key, data, expected, client, quoted=self._kept_conditions().quoted)

    def try_replace(self, key: str, data: bytes, expected: str | Expected, *, quoted: bool) -> str:
        """Put the document under the condition, although it is not known yet whether the store keeps to it."""
        return self._replace(key, data, expected, self._documents, quoted=quoted)

    def create(self, key: str, source: Path | bytes) -> None:
        """Put bytes and small files under the condition that nothing is there, larger ones in parts."""
        quoted = self._kept_conditions().quoted
        if isinstance(source, bytes) or source.stat().st_size <= PART:
            self._replace(
                key, source if isinstance(source, bytes) else _content(source), ABSENT, self._files, quoted=quoted
            )
            return
        with self._asking("write", key):
            with suppress(FileNotFoundError):
                there = obstore.head(self._files, checked_key(key))
                if not self._has_content(key, there["size"], source):
                    raise Conflict(f"{self._named(key)} already exists with different content.")
                return
            obstore.put(self._files, key, source, chunk_size=PART, max_concurrency=PARTS_AT_ONCE)

    def copy(self, source: str, destination: str) -> None:
        """Make the store copy the object itself. Raises ``MissingObject`` where the source is not there."""
        self._kept_conditions()
        with self._asking("copy", source):
            try:
                obstore.copy(self._files, checked_key(source), checked_key(destination))
            except FileNotFoundError as error:
                self._check_bucket(error)
                raise MissingObject(f"{self._named(source)} is not there.") from None

    def fetch(self, key: str, path: Path, size: int, sha256: str | None) -> None:
        """Download the object, several parts at once; its content is checked before it gets the name ``path``."""
        receive(self._parts(key, size), path, size, sha256, self._named(key))

    @contextmanager
    def as_file(self, key: str, size: int, sha256: str | None) -> Iterator[Path]:
        """Download the object for the block, into the folder for temporary files."""
        with tempfile.TemporaryDirectory(prefix="cms-object-") as folder:
            path = Path(folder, "object")
            self.fetch(key, path, size, sha256)
            yield path

    def names(self, prefix: str) -> list[ListedObject]:
        """List the objects, a thousand a request."""
        with self._asking("list", prefix):
            found = [
                ListedObject(one["path"], one["size"], int(one["last_modified"].timestamp() * 1000))
                for several in obstore.list(self._documents, prefix=checked_prefix(prefix) or None)
                for one in several
            ]
        return sorted(found, key=lambda one: one.key)

    def folders(self, prefix: str) -> list[str]:
        """List what is between the prefix and the next slash."""
        with self._asking("list", prefix):
            found = obstore.list_with_delimiter(self._documents, prefix=checked_prefix(prefix) or None)
        return sorted(folder.rpartition("/")[2] for folder in found["common_prefixes"])

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects in bulk where the store can; one by one where one is missing and the store minds."""
        asked = [checked_key(key) for key in keys]
        if not asked:
            return
        with self._asking("delete", asked[0]):
            try:
                obstore.delete(self._files, asked)
            except FileNotFoundError as error:
                self._check_bucket(error)
                for key in asked:
                    with suppress(FileNotFoundError):
                        obstore.delete(self._files, key)

    def conditions(self) -> Conditions:
        """Try whether the store keeps to conditions, with an object that is deleted again."""
        key = f"_probe/{secrets.token_hex(8)}"

        try:
            return try_conditions(partial(self.try_replace, key))
        finally:
            with suppress(StoreError):
                self.delete([key])

    def _kept_conditions(self) -> Conditions:
        with self._trying:
            if self._conditions is None:
                found = self.conditions()
                if not found.kept:
                    raise StoreError(
                        f"{self.location}: this store {found.fault}, so that two writers could undo each other's "
                        "changes. Nothing was written. Use another store; `cms store check` tries one."
                    )
                self._conditions = found
            return self._conditions

    def _replace(
        self, key: str, data: bytes, expected: str | Expected, client: ObjectStore, *, quoted: bool, tries: int = 2
    ) -> str:
        begun = Stopwatch()
        try:
            with self._asking("write", key):
                mode = _mode(expected, quoted=quoted)
                if self._bucket.service.needs_version and isinstance(mode, dict) and "version" not in mode:
                    raise PreconditionError("a tag that is not of Google's")
                return _tag(obstore.put(client, checked_key(key), data, mode=mode, use_multipart=False))
        except (Conflict, StoreUnreachable):
            # The first of several attempts may have been the one that was carried out, and its answer lost.
            found = self.read(key)
            if found is not None and found.data == data:
                return found.tag
            if found is not None or expected is not ABSENT or not tries or begun.seconds() > _SLEPT_SECONDS:
                raise
        # It was there, and is gone by now.
        return self._replace(key, data, expected, client, quoted=quoted, tries=tries - 1)

    def _parts(self, key: str, size: int) -> Iterator[bytes]:
        """Yield an object's bytes in order, some parts ahead of the caller; one byte more where there are more."""

        def part(begin: int) -> Any:
            with self._asking("read", key):
                try:
                    return obstore.get_range(
                        self._files, checked_key(key), start=begin, end=min(begin + PART, size + 1)
                    )
                except FileNotFoundError as error:
                    self._check_bucket(error)
                    raise MissingObject(f"{self._named(key)} is not there.") from None
                except BaseError as error:
                    if is_past_the_end(str(error)):
                        return b""  # its size and SHA-256 will show whether it should have ended here
                    raise

        if not size:  # of which Azurite gives no part
            return iter([self._whole(key)])
        begins = range(0, size + 1, PART)
        return map(part, begins) if len(begins) == 1 else in_order(part, begins, PARTS_AT_ONCE)

    def _whole(self, key: str) -> bytes:
        with self._asking("read", key):
            return bytes(obstore.get(self._files, checked_key(key)).bytes())

    def _has_content(self, key: str, size: int, source: Path) -> bool:
        with reading(source), source.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != size:
                return False
            return all(opened.read(len(part)) == bytes(part) for part in self._parts(key, size))

    @contextmanager
    def _asking(self, verb: str, key: str) -> Iterator[None]:
        """Turn the client's errors in the block into ours; those of a missing object stay."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError):
            raise Conflict(f"{self._named(key)}: somebody else has changed it meanwhile. Try again.") from None
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise StoreError(
                f"cannot {verb} {self._named(key)}: {cause(str(error))}. "
                "Check which credentials are in force and what they permit."
            ) from None
        except FileNotFoundError as error:
            self._check_bucket(error)
            raise MissingObject(f"{self._named(key)} is not there.") from None
        except BaseError as error:
            self._check_bucket(error)
            if is_missing_credentials(str(error)):
                raise StoreError(
                    f"cannot {verb} {self._named(key)}: no credentials were found. "
                    f"Give them in the environment: {self._bucket.service.credentials}."
                ) from None
            raise StoreUnreachable(
                f"cannot {verb} {self._named(key)}: the store gives no usable answer ({cause(str(error))}). "
                "Try again when it does."
            ) from None

    def _check_bucket(self, error: Exception) -> None:
        if is_missing_bucket(str(error)):
            raise MissingBucket(
                f"{self.location}: there is no {self._bucket.service.container} "
                f'"{self._bucket.name}". Create it, or correct the name.'
            ) from None

    def _named(self, key: str) -> str:
        return f"{self.location}/{key}" if key else self.location

    def _client(self, options: ClientConfig, retries: RetryConfig) -> ObjectStore:
        bucket = self._bucket
        client: ClientConfig = {**options, "allow_http": bucket.allow_http}
        settings, arguments = bucket.service.signed(bucket.anonymous)
        store = getattr(obstore.store, bucket.service.client)
        made: ObjectStore = store(
            bucket.name,
            config={**bucket.config, **settings},
            prefix=bucket.prefix or None,
            client_options=client,
            retry_config=retries,
            **arguments,
        )
        return made


def _tag(meta: Any) -> str:
    e_tag, version = meta.get("e_tag") or "", meta.get("version")
    return f"{e_tag}@{version}" if version else e_tag


def _mode(expected: str | Expected, *, quoted: bool) -> Any:
    """Return the condition as obstore has it: S3 and Azure look at the ETag, Google at the version."""
    if expected is ANY:
        return "overwrite"
    if expected is ABSENT:
        return "create"
    e_tag, version = _parts_of(str(expected))
    condition = {}
    if e_tag:
        condition["e_tag"] = e_tag if quoted else e_tag.strip('"')
    if version:
        condition["version"] = version
    return condition


def _parts_of(tag: str) -> tuple[str, str]:
    e_tag, _, version = tag.partition("@")
    return e_tag, version


def _content(path: Path) -> bytes:
    with reading(path):
        return path.read_bytes()
