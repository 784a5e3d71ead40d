"""The table that is committed to, as a commit sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maintenance.commit.lock import NO_LOCK, TableLock
from maintenance.commit.record import FILES_ALONE, CatalogRecord
from maintenance.commit.rules import NO_RULES, CommitRules
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.table_files import TableFiles


@dataclass(frozen=True, slots=True)
class CommitTarget(TableFiles):
    """The table that is committed to.

    Attributes:
        properties: of every snapshot committed, on top of those of the identity.
        lock: under which snapshots are published.
        record: what the catalog keeps of the table.
        rules: what its kind demands of commits.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    lock: TableLock = NO_LOCK
    record: CatalogRecord = FILES_ALONE
    rules: CommitRules = NO_RULES

    def latest_schema_id(self) -> int:
        ids = Schemas(self.file_io, self.paths.schema_folder()).list_ids()
        return ids[-1] if ids else self.schema.id
