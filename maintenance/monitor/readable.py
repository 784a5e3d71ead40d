"""Can the table be read? Reports files that could not be read during the checks, and data files missing or cut off.

Data files and index files are looked up in the listings of their folders, not opened. The folders with the newest files
are listed each time, the others a part at a time, so that a table with many buckets costs no more than one with few.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from maintenance.amounts import number_of
from maintenance.errors import RESTORE, ErrorClass
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.each_read import each_read
from maintenance.metadata.expired import is_held
from maintenance.monitor.judgement import Judgement
from maintenance.spark.errors import as_paimon_error
from maintenance.table.table import Table

READABLE = "readable"
_FOLDERS = 32
_TURN_SECONDS = 300
_ALWAYS = 2**63 - 1
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class ReadFault:
    """Something that could not be read.

    Attributes:
        where: a path, or what the error says of the place; may be empty.
        damage: whether a file is missing or broken; else storage, this process or tables.yaml is to blame.
    """

    found: str
    where: str
    fix: str
    damage: bool = True

    @classmethod
    def of(cls, error: Exception) -> "ReadFault":
        path = str(error.filename) if isinstance(error, OSError) and error.filename else ""
        failure = as_paimon_error(error, path)
        return cls(failure.found, failure.where, failure.fix, failure.error_class == ErrorClass.DAMAGE)

    def __str__(self) -> str:
        return f"{self.found} ({self.where})" if self.where and self.where not in self.found else self.found


def readable(faults: Sequence[ReadFault], details: Mapping[str, Any] | None = None) -> Judgement:
    """Everything that judging the table needs could be read. `faults`: what could not, the most important first."""
    numbers = dict(details or {})
    if not faults:
        return Judgement(READABLE, True, "metadata and data files are there", details=numbers)
    first, *others = faults
    rows = [{"fault": fault.found, "where": fault.where, "next step": fault.fix} for fault in faults[:_SHOWN]]
    and_others = f"; and {len(others)} more" if others else ""
    return Judgement(READABLE, False, f"{first}{and_others}", first.fix, {**numbers, "faults": rows})


def lost_files(table: Table, snapshot: Snapshot, now: datetime) -> list[ReadFault]:
    """Files of the snapshot's data that are missing or have another size than its metadata says.

    Args: `now`: decides which part of many folders is listed.
    """
    folders: dict[str, _Folder] = {}
    for entry in table.manifests.live_entries(snapshot):
        path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
        folder = folders.setdefault(path.rpartition("/")[0], _Folder())
        folder.expected[path.rpartition("/")[2]] = entry.file.file_size
        folder.newest = max(folder.newest, entry.file.creation_time or 0)
    for index in table.manifests.read_index(snapshot):
        path, _, name = table.paths.index_file(index).rpartition("/")
        folder = folders.setdefault(path, _Folder())
        folder.expected[name] = index.file_size
        folder.newest = _ALWAYS
    chosen = _chosen(folders, int(now.timestamp()) // _TURN_SECONDS)
    listings = each_read(table.file_io.list_files, chosen, table.location)
    faults = []
    for path, listing in zip(chosen, listings, strict=True):
        sizes = {status.name: status.size for status in listing}
        for name, size in folders[path].expected.items():
            fault = _fault(f"{path}/{name}", sizes.get(name), size)
            faults += [fault] if fault else []
    # What an expired snapshot needed may be gone.
    return faults if not faults or is_held(table.file_io, table.paths, snapshot.id) else []


@dataclass(slots=True)
class _Folder:
    """What must be in a folder: sizes in bytes by name. `newest`: when the newest of the files was made, in ms."""

    expected: dict[str, int] = field(default_factory=dict)
    newest: int = 0


def _fault(path: str, size: int | None, expected: int) -> ReadFault | None:
    if size is None:
        return ReadFault("a file of the current snapshot is missing", path, RESTORE)
    if size != expected:
        return ReadFault(f"a file has {number_of(size, 'byte')}, the metadata says {expected:,}", path, RESTORE)
    return None


def _chosen(folders: Mapping[str, _Folder], turn: int) -> list[str]:
    """The folders with the newest files, and a part of the others that moves on with each turn."""
    ordered = sorted(folders, key=lambda path: (-folders[path].newest, path))
    first, others = ordered[:_FOLDERS], sorted(ordered[_FOLDERS:])
    start = turn * _FOLDERS % len(others) if others else 0
    return [*first, *(others + others)[start : start + min(_FOLDERS, len(others))]]
