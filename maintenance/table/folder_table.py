"""A table that is the files of a folder, without snapshots: what format tables and object tables share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.table.system.view import ArrowView
from maintenance.types.data_type import DataField


@dataclass(frozen=True, slots=True)
class FolderTable(ArrowView):
    """`location`: the folder."""

    name: str
    location: str
    file_io: FileIO
    schema: TableSchema

    @property
    def identifier(self) -> str:
        return self.name

    @property
    def options(self) -> Mapping[str, str]:
        return self.schema.options

    @property
    def fields(self) -> tuple[DataField, ...]:
        return self.schema.fields

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options, stored nowhere."""
        return replace(self, schema=replace(self.schema, options={**self.schema.options, **options}))
