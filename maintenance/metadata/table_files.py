"""A table as scans, writes and commits see it; travels to Spark's tasks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.options.model import TableModel


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Where the files of a table are, and what they are like. `options`: dynamic ones included."""

    name: str
    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    options: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", TableModel.of(self.options))

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

    def load_schemas(self, ids: Iterable[int]) -> dict[int, TableSchema]:
        """Schemas by id."""
        stored = Schemas.of(self.file_io, self.paths)
        return {number: self.schema if number == self.schema.id else stored.get(number) for number in ids}
