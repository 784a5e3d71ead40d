"""What a catalog keeps of a table besides its files, and what has to be reported to it when these change.

Most catalogs keep nothing: a snapshot is published by creating its file. A REST server publishes snapshots itself; a
Hive metastore lists partitions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from maintenance.commit.publish_check import PublishCheck
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import StagedSnapshot


class ReadySnapshot(Protocol):
    """A snapshot that one step makes visible."""

    def publish(self) -> bool:
        """Take that step, atomically; False if the snapshot is not the next one. Once, and after the check.

        Raises: InfrastructureError: whether it is there is unknown.
        """


@dataclass(frozen=True, slots=True)
class _OfFile:
    """A snapshot that is published by creating its file."""

    staged: StagedSnapshot
    check: PublishCheck

    def publish(self) -> bool:
        if not self.staged.create():
            return False
        if not self.check.is_next():
            self.staged.withdraw()
            return False
        return self.staged.confirm()


@contextmanager
def _staged(check: PublishCheck) -> Iterator[_OfFile]:
    with check.snapshots.stage(check.snapshot) as staged:
        yield _OfFile(staged, check)


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """The record of one table in a catalog that keeps none; a small value that travels to Spark's tasks."""

    def stage(self, check: PublishCheck) -> AbstractContextManager[ReadySnapshot]:
        """Make a snapshot ready to be published. What was not published is gone at the end of the `with` block."""
        return _staged(check)

    def committed(self, paths: TablePaths, entries: Sequence[ManifestEntry]) -> None:
        """Report what a published snapshot changed. Never fails: the rows are committed."""

    def tag_created(self, name: str) -> None:
        """Report a new tag. Raises: InfrastructureError: the catalog cannot be reached."""

    def tag_deleted(self, name: str) -> None:
        """Report that a tag is gone. Raises: InfrastructureError: the catalog cannot be reached."""

    @property
    def keeps_partitions(self) -> bool:
        """Whether the catalog keeps the partitions of tables with `metastore.partitioned-table`."""
        return False

    def add_partitions(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Register partitions, if the catalog keeps any. Raises: InfrastructureError."""

    def forget_partitions(
        self, specs: Sequence[Mapping[str, str]], kept: Callable[[], Sequence[Mapping[str, str]]]
    ) -> None:
        """Report that the rows of partitions are gone. Never fails: they are.

        Args: `specs`: folders, by some of the columns or all; `kept`: those that have rows, asked where it matters.
        """

    def mark_partitions_done(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Report that partitions are complete, if the catalog keeps any. Raises: InfrastructureError."""

    def create_branch(self, branch: str, tag: str | None) -> bool:
        """Create a branch, if the catalog does that. Returns whether it did. Raises: AlreadyExistsError."""
        del branch, tag
        return False

    def delete_branch(self, branch: str) -> bool:
        """Delete a branch, if the catalog does that. Returns whether it did. Raises: NotFoundError."""
        del branch
        return False

    def check_may_move(self, what: str, table: str) -> None:
        """Raises: UnsupportedError: the table's snapshots cannot be set back by changing files alone."""


FILES_ALONE = CatalogRecord()
