"""What every kind of storage offers. There are three: local disks, object stores, and what fsspec has a driver for."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from maintenance.fs.staged import Unnamed

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a listing.

    Attributes:
        mtime_ms: last change, milliseconds since 1970 UTC.
        version: as of `Storage.version`; None where a listing does not tell it.
    """

    path: str
    name: str
    size: int
    mtime_ms: int
    version: Hashable | None = None


class Storage(Protocol):
    """`renames_at_once`: a folder gets another name in one step.

    Files by their whole path, scheme included.

    A missing file is a `FileNotFoundError` for those that read. Missing folders are empty, and what is deleted may be
    missing.
    """

    renames_at_once: ClassVar[bool]

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int:
        """Raises: FileNotFoundError."""

    def version(self, path: str) -> Hashable | None:
        """What changes when the file does, None where that cannot be known. Raises: FileNotFoundError."""

    def lasting_version(self, path: str) -> Hashable | None:
        """As `version`, of a file whose name is given once. Storage is asked where that costs little.

        Where it is not asked, a file that is gone has a version, too.
        """

    def read_bytes(self, path: str) -> bytes: ...

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """The content of some small files, at the same time where that is faster."""

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        """Bytes from `offset` on, fewer where the file ends, and the size of the file."""

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        """The content, and its version; no content if it still has the version given."""

    def open_input(self, path: str, size: int | None) -> "pa.NativeFile":
        """A file opened for reading at any position. `size`: what it should have; it decides what is fetched first."""

    def open_output(self, path: str) -> "pa.NativeFile": ...

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file whose name nobody else uses."""

    def overwrite(self, path: str, data: bytes, *, flushed: bool) -> None:
        """Replace a small file as a whole."""

    def stage(self, path: str, data: bytes) -> Unnamed:
        """Make a file ready to get its name."""

    def list_files(self, folder: str) -> list[FileStatus]:
        """The files directly in a folder, without those that start with a dot."""

    def list_names(self, folder: str) -> list[str]: ...

    def list_tree(self, folder: str) -> list[FileStatus]:
        """All files below a folder, hidden ones too; `path` is relative to the folder."""

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        """As `list_tree`, a part at a time, so that a large folder need not fit in memory."""

    def list_folders(self, folder: str) -> Mapping[str, int]:
        """The folders directly in a folder, with their last change in milliseconds, 0 where that is not known."""

    def make_folder(self, folder: str) -> None: ...

    def folder_exists(self, folder: str) -> bool: ...

    def delete(self, path: str) -> None: ...

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete files in any order, many with one request where the storage can."""

    def delete_folder(self, folder: str) -> None: ...

    def delete_empty_folder(self, folder: str) -> bool:
        """Delete a folder if nothing is in it. Returns whether it is gone now; False where there are no folders."""

    def move_file(self, source: str, target: str) -> None:
        """Give a file another path. It counts as new there, so that nobody takes it for an old one that is left."""

    def move_files(self, targets: Mapping[str, str]) -> None:
        """Move files, each to its target; those that are missing are left out. An interrupted call may have moved any.

        No target is lost when this returns; on an object store no source goes before all targets are there.
        """

    def copy_files(self, targets: Mapping[str, str]) -> None:
        """Copy files, each to its target, which is replaced if it exists. Raises: FileNotFoundError."""

    def rename_folder(self, source: str, target: str) -> None: ...
