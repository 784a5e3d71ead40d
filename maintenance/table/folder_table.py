"""A table that is the files of a folder, without snapshots: what format tables and object tables share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from maintenance.errors import NotFoundError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.options.model import TableModel
from maintenance.spelling import suggestion
from maintenance.table.system.view import NAMES, ArrowView
from maintenance.table.table import Table
from maintenance.types.data_type import DataField


@dataclass(frozen=True, slots=True)
class FolderTable(ArrowView):
    """What a table with snapshots has besides is refused by one sentence, which says what kind of table this is.

    Attributes:
        location: the folder.
        kind: what such a table is called, with its article.
        may: what can be done with one, a sentence.
        taken: the options that one read or write may have.
    """

    name: str
    location: str
    file_io: FileIO
    schema: TableSchema

    kind: ClassVar[str]
    may: ClassVar[str]
    taken: ClassVar[frozenset[str]] = frozenset()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only called for what the class has not."""
            if name.startswith("_") or not hasattr(Table, name):
                raise AttributeError(name)
            raise self.refused(f"no '{name}'")

    @property
    def identifier(self) -> str:
        return self.name

    @property
    def options(self) -> TableModel:
        return self.schema.model

    @property
    def fields(self) -> tuple[DataField, ...]:
        return self.schema.fields

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options, which are not stored. Raises: UnsupportedError: an option does not apply."""
        for key in options:
            if key not in self.taken:
                raise UnsupportedError(
                    f"{self.kind} does not take the option '{key}': it has no snapshots, only the files of its folder",
                    f"table {self.name}",
                    f"Leave it out.{suggestion(key, self.taken)}",
                )
        return replace(self, schema=replace(self.schema, options={**self.schema.options, **options}))

    def refused(self, what: str) -> UnsupportedError:
        """The error for what tables of this kind do not have."""
        return UnsupportedError(
            f"'{self.name}' is {self.kind}, the files of a folder: it has {what}", f"table {self.name}", self.may
        )

    def as_paimon_gives(self, branch: str, system_table: str | None) -> Self:
        """The table itself, also for the names of system tables: those of Paimon's catalogs. Raises: as `part`."""
        return self.part(branch, None if system_table in NAMES else system_table)

    def part(self, branch: str, system_table: str | None) -> Self:
        """The table itself. Raises: NotFoundError: a branch or system table is named, and there are none."""
        if branch == MAIN_BRANCH and system_table is None:
            return self
        what = f"branch '{branch}'" if system_table is None else f"system table '${system_table}'"
        table = self.name.partition("$")[0]
        problem = f"{what} does not exist: '{table}' is {self.kind}, which has no branches and system tables"
        raise NotFoundError(problem, f"table {table}", "Name the table itself.")
