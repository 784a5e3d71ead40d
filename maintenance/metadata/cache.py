"""Parsed metadata files kept in memory, so that a process does not decode the same manifest again and again.

Manifests and manifest lists never change under their name; a snapshot's name comes back after a rollback. So an entry
counts only while the file's version (see `FileIO.version`) is the one it was read at: a damaged, replaced or removed
file is never hidden by what was read of it before. On object stores, where each look costs a round trip, manifests and
their lists are trusted once they were read. One cache per process and setting; it does not travel to tasks.
Source: Java `CachingCatalog`, options `cache-enabled`, `cache.manifest.*`, `cache.snapshot.max-num-per-table`.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any

from maintenance.options.catalog import CacheSettings

_MAX_TABLES = 1000


@dataclass(frozen=True, slots=True)
class _Kept:
    version: Hashable
    value: Any
    weight: int


@dataclass(slots=True)
class RecentlyUsed:
    """The newest values by path, up to a total weight; those used longest ago leave first. Safe between threads."""

    max_weight: int
    _kept: OrderedDict[str, _Kept] = field(default_factory=OrderedDict)
    _weight: int = 0
    _lock: Lock = field(default_factory=Lock)

    def get(self, path: str, version: Hashable) -> Any:
        """What was kept of the file at this version, None if nothing was."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is None or kept.version != version:
                return None
            self._kept.move_to_end(path)
            return kept.value

    def newest(self, path: str) -> tuple[Hashable, Any] | None:
        """What was last kept of a file, with its version at that time."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is None:
                return None
            self._kept.move_to_end(path)
            return kept.version, kept.value

    def put(self, path: str, version: Hashable, value: Any, weight: int = 1) -> None:
        if weight > self.max_weight:
            return
        with self._lock:
            old = self._kept.pop(path, None)
            self._weight += weight - (old.weight if old else 0)
            self._kept[path] = _Kept(version, value, weight)
            while self._weight > self.max_weight:
                _, dropped = self._kept.popitem(last=False)
                self._weight -= dropped.weight


@dataclass(frozen=True, slots=True)
class MetadataCache:
    """What one process keeps, by path. `manifests`: weighed in bytes; `snapshots`: each weighs 1.

    Some tables have hundreds of snapshots that are looked at again and again, and most have few. So the number for a
    table is one for the average of a thousand tables.
    """

    manifests: RecentlyUsed
    snapshots: RecentlyUsed


@lru_cache(maxsize=8)
def metadata_cache(settings: CacheSettings) -> MetadataCache:
    """This process's cache of those settings."""
    return MetadataCache(
        RecentlyUsed(settings.manifest_bytes), RecentlyUsed(settings.snapshots_per_table * _MAX_TABLES)
    )
