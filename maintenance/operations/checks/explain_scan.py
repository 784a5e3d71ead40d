"""Which files a read with a filter opens, which it leaves out, and why: operation `explain_scan`."""

from dataclasses import dataclass

from maintenance.read.defaults import stored_predicate
from maintenance.scan.explain import FileVerdict, explain_plan, explained
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ScanExplanation:
    """The verdicts on the files of one snapshot.

    Attributes:
        where: the filter as text.
        files: all that a read without a filter opens.
    """

    table: str
    snapshot_id: int | None
    where: str | None
    files: tuple[FileVerdict, ...]

    @property
    def kept(self) -> int:
        """Files that the read opens."""
        return sum(file.kept for file in self.files)

    @property
    def skipped(self) -> dict[str, int]:
        """Files left out, by what left them out."""
        counts: dict[str, int] = {}
        for file in self.files:
            if file.by is not None:
                counts[file.by] = counts.get(file.by, 0) + 1
        return counts

    @property
    def rows(self) -> int:
        """Rows that may match, as far as file indexes tell."""
        return sum(file.row_count if file.rows is None else file.rows for file in self.files if file.kept)

    def __str__(self) -> str:
        return explained(self.files)


def explain_scan(table: Table, where: str | None = None) -> ScanExplanation:
    """Explain a batch read. `where`: a filter in Spark's SQL dialect. Raises: PredicateError."""
    travelled, snapshot = table.travelled()
    predicate = stored_predicate(table.predicate(where), travelled.schema, travelled.options)
    verdicts = explain_plan(travelled.scan_source(), snapshot, predicate)
    return ScanExplanation(table.identifier, None if snapshot is None else snapshot.id, where, verdicts)
