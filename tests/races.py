"""Writers that meet others at the worst moment: between writing and committing, and right before they publish."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import CommitIdentity
from maintenance.fs.file_io import FileIO
from maintenance.fs.staged import StagedFile
from maintenance.operations.ingestion.inline import commit_rows_of
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows
from tests.models.commit_order import Record, arrow


@dataclass
class Prepared:
    """A writer that has written its files and is about to commit."""

    table: CatalogTable
    records: Sequence[Record]
    state: WriteState
    messages: Sequence[CommitMessage]

    @classmethod
    def of(cls, table: CatalogTable, records: Sequence[Record]) -> "Prepared":
        context, state = table.write_context(), table.write_state("a")
        kinds = kinds_of_texts([kind for kind, *_ in records])
        # Tables without a primary key take inserts only.
        given = conform(arrow(records), kinds if table.is_primary_key_table else None, context)
        return cls(table, records, state, write_rows(context, state, given))

    def commit(self) -> tuple[int, ...]:
        return commit_rows_of(None, self.table, self.messages, CommitIdentity("a"), self.state).snapshot_ids


@dataclass(frozen=True, slots=True)
class Overtaken(FileIO):
    """Storage on which others publish right before whoever has it, one each time."""

    rivals: list[Callable[[], object]] = field(default_factory=list)

    def stage(self, path: str, data: bytes) -> StagedFile:
        if self.rivals:
            self.rivals.pop(0)()
        return FileIO.stage(self, path, data)


def overtaken(table: CatalogTable, *rivals: Callable[[], object]) -> CatalogTable:
    """The table for somebody who is overtaken by each of the rivals in turn."""
    options = {**table.dynamic_options, "commit.min-retry-wait": "1 ms"}
    return replace(table, file_io=Overtaken(rivals=list(rivals)), dynamic_options=options)
