"""Storage on which something else happens while it is read, at a moment that a test chooses."""

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO, FileStatus
from maintenance.options.catalog import CacheSettings


@dataclass(frozen=True)
class InterferedWith(FileIO):
    """The local disk. `planned`: what happens once, right before the first file whose path matches is looked at."""

    planned: list[tuple[str, Callable[[], object]]] = field(default_factory=list, compare=False)

    def read_bytes(self, path: str) -> bytes:
        self._happen(path)
        return super().read_bytes(path)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        self._happen(path)
        return super().open_input(path, size)

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        self._happen(path)
        return super().read_part(path, offset, length)

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        self._happen(path)
        return super().read_if_changed(path, version)

    def version(self, path: str) -> Hashable | None:
        self._happen(path)
        return super().version(path)

    def list_files(self, folder: str) -> list[FileStatus]:
        self._happen(folder)
        return super().list_files(folder)

    def _happen(self, path: str) -> None:
        for item in list(self.planned):
            if re.search(item[0], path) and item in self.planned:
                self.planned.remove(item)
                item[1]()


def interfered_with(table: CatalogTable, pattern: str, act: Callable[[], object], *, times: int = 1) -> CatalogTable:
    """The table, read through a storage on which `act` happens when a path that matches is looked at.

    `act` works on the table as it is opened elsewhere. Nothing is kept in memory of what was read before.
    """
    planned = [(pattern, act) for _ in range(times)]
    cache = replace(CacheSettings(), manifest_bytes=0, snapshots_per_table=0)
    return replace(table, file_io=InterferedWith(table.file_io.settings, cache, planned))


def assert_happened(table: CatalogTable) -> None:
    """What was to happen while this table is read did."""
    assert isinstance(table.file_io, InterferedWith)
    assert table.file_io.planned == [], "nothing happened"
