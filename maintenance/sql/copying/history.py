"""Which files COPY INTO has loaded into a table: a file of JSON for each load, below the table's folder.

A file is known by its path, size and time of change. Paimon's Spark connector keeps and reads the same records.
Source: Java `CopyLoadHistoryManager`.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from maintenance.fs.storage import FileStatus
from maintenance.table.table import Table

_FOLDER = "copy-into/history"
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class LoadHistory:
    table: Table

    @property
    def _folder(self) -> str:
        return f"{self.table.location.rstrip('/')}/{_FOLDER}"

    def loaded(self, files: list[FileStatus]) -> set[str]:
        """Paths of the files that were loaded as they are now. A record that cannot be read counts for none."""
        wanted = {_digest(hadoop_path(status.path)): status for status in files}
        if not self.table.file_io.folder_exists(self._folder):
            return set()
        found = set()
        for name in self.table.file_io.list_names(self._folder):
            status = wanted.get(name.removeprefix("load-").partition("-")[0])
            if status is not None and status.path not in found and self._is_of(name, status):
                found.add(status.path)
        return found

    def _is_of(self, name: str, status: FileStatus) -> bool:
        try:
            record = json.loads(self.table.file_io.read_bytes(f"{self._folder}/{name}"))
            return (int(record["fileSize"]), int(record["lastModified"])) == (status.size, status.mtime_ms)
        except (ValueError, KeyError, TypeError, FileNotFoundError):
            return False

    def add(self, rows: Mapping[str, int], files: list[FileStatus], snapshot_id: int | None) -> None:
        """Keep that files were loaded. `rows`: of each, by its path."""
        self.table.file_io.make_folder(self._folder)
        now = time.time_ns() // 1_000_000
        for status in files:
            path = hadoop_path(status.path)
            record = {
                "filePath": path,
                "fileSize": status.size,
                "lastModified": status.mtime_ms,
                "loadedAt": now,
                "snapshotId": -1 if snapshot_id is None else snapshot_id,
                "rowsLoaded": rows[status.path],
            }
            name = f"load-{_digest(path)}-{now}"
            self.table.file_io.overwrite(f"{self._folder}/{name}", json.dumps(record).encode())


def hadoop_path(path: str) -> str:
    """A path as Hadoop prints it."""
    return path if "://" in path or path.startswith("file:") else f"file:{path}"


def _digest(path: str) -> str:
    return hashlib.sha256(path.encode()).hexdigest()[:_DIGITS]
