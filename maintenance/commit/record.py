"""What a catalog keeps of a table besides its files, and what has to be reported to it when these change.

Most catalogs keep nothing: a snapshot is published by creating its file. A REST server publishes snapshots itself; a
Hive metastore lists partitions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from maintenance.commit.succession import Succession
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.paths import TablePaths


@dataclass(frozen=True, slots=True)
class CatalogRecord:
    """The record of one table in a catalog that keeps none; a small value that travels to Spark's tasks."""

    def publish(self, made: Succession, still: Callable[[], bool]) -> bool:
        """Make a snapshot visible, atomically; False if it is not the next one.

        Args: `still`: asked right before; if it says no, nothing is published, and the answer is False.

        Raises: InfrastructureError: whether it is there is unknown.
        """
        return made.snapshots.publish(made.snapshot, still, made.holds)

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
