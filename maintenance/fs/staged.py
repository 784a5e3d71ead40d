"""Files that are ready and have no name yet: what is left to do is one step, which happens or does not.

Between staging and publishing is the last moment to look whether the file may appear.
"""

from dataclasses import dataclass
from typing import Protocol, Self

from maintenance.fs.reported import reported


class Unnamed(Protocol):
    """A file that a storage has ready."""

    def publish(self) -> bool:
        """Give it its name, atomically. False if the name is taken by another content, or was prevented."""

    def discard(self) -> None:
        """Delete it: nothing of it stays."""


class Creates(Protocol):
    """A storage that creates a file in one step."""

    def create_absent(self, path: str, data: bytes) -> bool:
        """Create a file atomically, False if the name is taken by another content."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """For storages that create a file in one step: until then there is nothing of it."""

    storage: Creates
    path: str
    data: bytes

    def publish(self) -> bool:
        return self.storage.create_absent(self.path, self.data)

    def discard(self) -> None:
        """There is nothing to delete."""


@dataclass(slots=True)
class StagedFile:
    """A file that is ready to get its name; one that was not published is deleted at the end of its `with` block."""

    path: str
    file: Unnamed
    _tried: bool = False

    def publish(self) -> bool:
        """Give it its name, atomically and safe from a power cut. False if the name is taken by another content.

        Raises: WriteError: certainly there is no file of that name because of this call; StorageError: unknown.
        """
        self._tried = True
        return self._publish(self.path)

    @reported("write", missing_is_fault=True)
    def _publish(self, path: str) -> bool:
        del path
        return self.file.publish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._tried:
            self.file.discard()
