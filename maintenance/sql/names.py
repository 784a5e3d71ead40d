"""Full names of tables and views."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's full name. `identifier`: within its catalog."""

    catalog: str
    database: str
    table: str

    @property
    def identifier(self) -> str:
        return f"{self.database}.{self.table}"

    @property
    def plain(self) -> "TableName":
        """The table itself, without a branch or the name of a system table."""
        return TableName(self.catalog, self.database, self.table.partition("$")[0])
