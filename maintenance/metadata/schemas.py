"""The schema versions of a table. There is no hint: the latest is the highest number. Source: Java `SchemaManager`."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.errors import MissingFileError
from maintenance.format.metadata.schema import TableSchema, parse_schema, serialize_schema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.identity import check_number

if TYPE_CHECKING:  # a catalog reads schemas without what knows of data files
    from maintenance.metadata.paths import TablePaths

_PREFIX = "schema-"


@dataclass(frozen=True, slots=True)
class Schemas:
    """Reads and publishes the schemas of one branch.

    Attributes:
        folder: its schema folder.
        behind: the folder of schemas that its files name, too, where this one lacks them; None = there is no other.
    """

    file_io: FileIO
    folder: str
    behind: str | None = None

    @classmethod
    def of(cls, file_io: FileIO, paths: "TablePaths") -> "Schemas":
        """The schemas that the files of a table are written under."""
        return cls(file_io, paths.schema_folder(), f"{paths.root}/schema" if paths.follows_main else None)

    def list_ids(self) -> list[int]:
        return self.ids_of(self.list_files())

    def list_files(self) -> list[str]:
        """The names of all files in the folder."""
        return self.file_io.list_names(self.folder)

    @staticmethod
    def ids_of(names: Iterable[str]) -> list[int]:
        """The numbers of the schemas among some files, ascending."""
        texts = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        return sorted(int(text) for text in texts if text.isdecimal())

    def get(self, schema_id: int) -> TableSchema:
        """The schema of that id. Raises: MissingFileError; CorruptFileError: damaged, or it holds another schema."""
        path = f"{self.folder}/{_PREFIX}{schema_id}"
        try:
            schema = parse_schema(self.file_io.read_settled(path), path)
        except FileNotFoundError as error:
            if self.behind is not None:
                return Schemas(self.file_io, self.behind).get(schema_id)
            raise MissingFileError(
                f"schema {schema_id} does not exist", self.folder, "Restore the schema file."
            ) from error
        check_number("schema", schema_id, schema.id, path)
        return schema

    def latest(self) -> TableSchema | None:
        """The newest schema, None where there is no table."""
        ids = self.list_ids()
        return self.get(ids[-1]) if ids else None

    def publish(self, schema: TableSchema) -> bool:
        """Make a schema visible, atomically; False if another one has this id."""
        return self.file_io.publish(f"{self.folder}/{_PREFIX}{schema.id}", serialize_schema(schema))
