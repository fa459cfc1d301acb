"""The state of the translations in a version: what is missing by its files, what is older by its manifest."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from snapshots.model import Api
from snapshots.store.durable import StoreError
from snapshots.store.manifest import LaggingTranslations, Manifest
from snapshots.store.store import WorkspaceStore


class StoredTranslations:
    """The translations in one version. Each method raises ``StoreError`` where a file cannot be read."""

    def __init__(self, workspace_store: WorkspaceStore, manifest: Manifest) -> None:
        self._workspace_store, self._manifest = workspace_store, manifest

    def missing(self, api: Api, lang: str) -> list[str]:
        """Return the IDs of the entries that are published in the main language and not in this one, sorted."""
        originals = self._ids(api, self._manifest.workspace.main_language)
        translated = pc.is_in(originals, value_set=self._ids(api, lang))
        found: list[str] = sorted(originals.filter(pc.invert(translated)).to_pylist())
        return found

    def lagging(self, api: Api, lang: str) -> LaggingTranslations | None:
        """Return those that were older than their originals when the version was built; ``None`` in versions of older
        programs, which do not say it."""
        known = self._manifest.lagging_translations
        if known is None:
            return None
        of_language = (one for one in known if (one.api, one.lang) == (api.endpoint, lang))
        return next(of_language, LaggingTranslations(api.endpoint, lang, 0, ()))

    def _ids(self, api: Api, lang: str) -> pa.Array:
        found: list[pa.Array] = []
        for file in self._manifest.files_of(api, lang):
            path = self._workspace_store.bring_file(self._manifest.version, file)
            try:
                with pq.ParquetFile(path) as opened:
                    found += opened.read(columns=["id"])["id"].chunks
            except (pa.ArrowException, OSError, KeyError) as error:
                raise StoreError(
                    f"{path} cannot be read: {error}. `cms snapshot verify` says what is damaged."
                ) from error
        return pa.chunked_array(found, pa.string()).combine_chunks()
