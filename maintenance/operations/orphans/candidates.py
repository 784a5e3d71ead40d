"""Files that may be orphans: all old files in the folders where a table's own files are named by metadata.

These are `manifest/`, `index/`, `statistics/`, the bucket folders at the depth of the partitions (also below external
paths), what is neither a snapshot nor a changelog in the folders of these, and all of a branch that was never finished.
Of schemas, tags and consumers only what publications that died have left is looked at; commit records, the quarantine
and all other folders never are. Large folders are listed page by page, and a file takes some hundred bytes here.
Source: metadata section 10.4, Java `OrphanFilesClean`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.amounts import number_of
from maintenance.format.bytes.text_hash import text_hashes
from maintenance.fs.file_io import FileIO
from maintenance.fs.storage import FileStatus
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_paths import is_entropy
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.paths import RETIRED, TablePaths
from maintenance.spark.sharing import SparkSharing
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.types.integer_order import distinct_integers

DATA, METADATA, INDEX, STATISTICS, UNFINISHED, HALF_BRANCH = (
    "data file",
    "manifest or manifest list",
    "index file",
    "statistics file",
    "unfinished file",
    "file of a half branch",
)
_BUCKET = "bucket-"
# So many folders are worth Spark's tasks.
_MANY_FOLDERS = 256
_HINTS = (EARLIEST, LATEST)
# The object that stands for an empty folder of a store, and packs that readers find without metadata.
_NEVER = (".folder",)
_NEVER_ENDS = (".managed.blob",)
# Files that a publication writes before it gives them their names, ours and Java's.
_TEMPORARY = ".tmp"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Files that are old enough, and which of them are live.

    Attributes:
        files: a row for each: `folder`, `name`, `bytes`, `changed` (milliseconds since 1970 UTC), `kind`.
        keys: distinct hashes of their names, ascending; `row_keys`: the position in `keys` for each row. Different
            names with one hash count as one, so a file may stay because of another one's name, and never go.
        is_live: for each of `keys`.
    """

    files: pa.Table
    keys: npt.NDArray[np.uint64]
    row_keys: npt.NDArray[np.intp]
    is_live: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, files: pa.Table) -> "Candidates":
        """Candidates none of which is known to be live."""
        keys, row_keys = np.unique(text_hashes(_without_checksum(files.column("name"))), return_inverse=True)
        return cls(files, keys, row_keys, np.zeros(len(keys), np.bool_))

    def mark(self, names: pa.Array) -> None:
        """Mark the files of these names as live."""
        if not len(self.keys) or not len(names):
            return
        hashes = distinct_integers(text_hashes(names))
        at = np.minimum(np.searchsorted(self.keys, hashes), len(self.keys) - 1)
        self.is_live[at[self.keys[at] == hashes]] = True

    @property
    def orphans(self) -> pa.Table:
        """The rows of those that are not live."""
        return self.files.filter(pa.array(~self.is_live[self.row_keys]))

    def are_orphans(self, names: pa.ChunkedArray) -> pa.Array:
        """Of each of these names, all of candidates, whether none of its files is live."""
        at = np.searchsorted(self.keys, text_hashes(_without_checksum(names)))
        return pa.array(~self.is_live[at])


def _without_checksum(names: pa.ChunkedArray) -> pa.ChunkedArray:
    """The names by which files are named. Hadoop keeps the checksum of `x` in `.x.crc`, which lives as long as `x`."""
    return pc.replace_substring_regex(names, r"^\.(.+)\.crc$", r"\1")


# As this engine and Paimon call files of global indexes, and Hadoop their checksums.
_INDEX_NAME = re.compile(r"\.?[a-z0-9-]+-global-index-[0-9a-f-]{36}\.index(\.crc)?")


@dataclass(frozen=True, slots=True)
class _Part:
    """A folder to list, with all below it.

    Attributes:
        depth: of the files in it, counted from the folder; 0: directly in it; None: any.
        spread: files may also be further below, where `entropy-inject` puts them.
        prefix: of the files that are never candidates; empty = none.
        indexes: only files of global indexes, outside the table's folder.
        unfinished: only what a publication that died has left, which is a hidden file until it gets its name.
    """

    file_io: FileIO
    folder: str
    kind: str
    older_than: int
    depth: int | None = 0
    prefix: str = ""
    spread: bool = False
    unfinished: bool = False
    indexes: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of some folders. `old`: those old enough, as of `Candidates`; `files`, `bytes`: of all of them."""

    old: pa.Table
    files: int
    bytes: int


def list_candidates(
    file_io: FileIO,
    paths: TablePaths,
    older_than: int,
    *,
    branch_folders: Mapping[str, int] | None = None,
    external: Sequence[str] = (),
    sharing: SparkSharing | None = None,
    parallelism: int | None = None,
) -> Listing:
    """All files that were last changed before a moment, and how many files there are in all.

    Args: `older_than`: milliseconds since 1970 UTC; `branch_folders`: of `Branches.folders`; `external`: roots outside
        the table to look below; `sharing`: of many folders, and of few ones if `parallelism` is given: the most tasks
        that share them.
    """
    parts = [
        *_metadata_parts(file_io, paths, older_than, branch_folders),
        *_data_parts(file_io, paths, older_than, external),
        *(_Part(file_io, root, INDEX, older_than, indexes=True) for root in external),
    ]
    shares = shared_out(parts, parallelism)
    enough = parallelism is not None or len(parts) > _MANY_FOLDERS
    where = None
    if sharing is not None:
        where = sharing.session_for(len(shares), f"{number_of(len(parts), 'folder')}", enough=enough)
    listed = all_done(run_tasks(where, _list_parts, shares), paths.root)
    return Listing(
        pa.concat_tables([_frame([], None), *(part.old for part in listed)]),
        sum(part.files for part in listed),
        sum(part.bytes for part in listed),
    )


def shared_out(items: Sequence[_Part], most: int | None) -> list[list[_Part]]:
    """The items in lists of about equal length: one for each, or at most this many lists."""
    count = len(items) if most is None else min(len(items), max(1, most))
    return [list(items[number::count]) for number in range(count)]


def _metadata_parts(
    file_io: FileIO, paths: TablePaths, older_than: int, folders: Mapping[str, int] | None
) -> Iterator[_Part]:
    root = paths.root
    yield _Part(file_io, paths.manifest_folder(), METADATA, older_than)
    yield _Part(file_io, f"{root}/index", INDEX, older_than)
    yield _Part(file_io, f"{root}/statistics", STATISTICS, older_than)
    branches = Branches(file_io, paths)
    folders = branches.folders() if folders is None else folders
    for branch in branches.names(folders):
        of_branch = replace(paths, branch=branch)
        yield _Part(file_io, of_branch.snapshot_folder(), UNFINISHED, older_than, prefix="snapshot-")
        yield _Part(file_io, of_branch.changelog_folder(), UNFINISHED, older_than, prefix="changelog-")
        for folder in (of_branch.tag_folder(), of_branch.schema_folder(), of_branch.consumer_folder()):
            yield _Part(file_io, folder, UNFINISHED, older_than, unfinished=True)
    for folder in branches.unfinished(older_than, folders):
        yield _Part(file_io, folder, HALF_BRANCH, older_than, None)


def _data_parts(file_io: FileIO, paths: TablePaths, older_than: int, external: Sequence[str]) -> Iterator[_Part]:
    """A part for each value of the first partition column, or for each bucket of a table without partitions."""
    depth = len(paths.partition_fields)
    for root in (paths.root, *external):
        base = f"{root}/{paths.data_directory}" if paths.data_directory else root
        for name in file_io.list_folders(base):
            if "=" in name if depth else name.startswith(_BUCKET):
                yield _Part(file_io, f"{base}/{name}", DATA, older_than, depth, spread=root != paths.root)


def _list_parts(parts: Sequence[_Part]) -> Listing:
    """The files of some folders. Runs in a task."""
    frames, count, size = [_frame([], None)], 0, 0
    for part in parts:
        for page in _pages(part):
            files = [status for status in page if _is_candidate(status, part)]
            count += len(files)
            size += sum(status.size for status in files)
            frames.append(_frame([status for status in files if status.mtime_ms < part.older_than], part))
    return Listing(pa.concat_tables(frames).combine_chunks(), count, size)


def _pages(part: _Part) -> Iterator[Sequence[FileStatus]]:
    """The files of a folder, with paths from there on. What lies deeper than files of indexes is not listed."""
    if not part.indexes:
        yield from part.file_io.tree_pages(part.folder)
        return
    found = part.file_io.list_files(part.folder)
    yield [replace(status, path=status.name) for status in found if _INDEX_NAME.fullmatch(status.name)]


def _is_candidate(status: FileStatus, part: _Part) -> bool:
    *folders, name = status.path.split("/")
    if part.depth is None:
        return True
    if part.unfinished:
        return not folders and name.startswith(".") and name.endswith(_TEMPORARY)
    if part.spread and is_entropy("/".join(folders[part.depth :])):
        del folders[part.depth :]
    if len(folders) != part.depth or not name or name in _NEVER or name.endswith(_NEVER_ENDS):
        return False
    if part.prefix:
        return not name.startswith((part.prefix, RETIRED)) and name not in _HINTS
    if not folders:
        return True
    return folders[-1].startswith(_BUCKET) and all("=" in folder for folder in folders[:-1])


def _frame(files: Sequence[FileStatus], part: _Part | None) -> pa.Table:
    folder, kind = ("", "") if part is None else (part.folder, part.kind)
    columns = [
        pa.array([f"{folder}/{status.path}".rpartition("/")[0] for status in files], pa.string()),
        pa.array([status.name for status in files], pa.string()),
        pa.array([status.size for status in files], pa.int64()),
        pa.array([status.mtime_ms for status in files], pa.int64()),
        pa.array([kind] * len(files), pa.string()),
    ]
    return pa.table(columns, ["folder", "name", "bytes", "changed", "kind"])
