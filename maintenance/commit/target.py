"""The table that is committed to, as a commit sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maintenance.commit.lock import NO_LOCK, TableLock
from maintenance.commit.record import FILES_ALONE, CatalogRecord
from maintenance.commit.rules import NO_RULES, CommitRules
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.options.model import TableModel


@dataclass(frozen=True, slots=True)
class CommitTarget:
    """The table that is committed to.

    Attributes:
        properties: of every snapshot committed, on top of those of the identity.
        lock: under which snapshots are published.
        record: what the catalog keeps of the table.
        rules: what its kind demands of commits.
    """

    name: str
    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    options: Mapping[str, str]
    properties: Mapping[str, str] = field(default_factory=dict)
    lock: TableLock = NO_LOCK
    record: CatalogRecord = FILES_ALONE
    rules: CommitRules = NO_RULES

    @property
    def model(self) -> TableModel:
        """What the options say."""
        return TableModel.of(self.options)

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.file_io, self.paths)

    @property
    def manifests(self) -> Manifests:
        return Manifests(self.file_io, self.paths)

    def load_schemas(self, ids: Sequence[int]) -> dict[int, TableSchema]:
        """Schemas by id."""
        stored = Schemas.of(self.file_io, self.paths)
        return {number: self.schema if number == self.schema.id else stored.get(number) for number in ids}

    def latest_schema_id(self) -> int:
        ids = Schemas(self.file_io, self.paths.schema_folder()).list_ids()
        return ids[-1] if ids else self.schema.id
