"""Names of tables: ``database.table``, with ``$branch_<name>`` and ``$<system table>`` behind.

Source: Java `Identifier`.
"""

from dataclasses import dataclass

from maintenance.errors import SchemaError
from maintenance.metadata.branch_root import BRANCH_PREFIX, MAIN_BRANCH
from maintenance.names import segment

DATABASE_SUFFIX = ".db"
# The database of tables about all tables of a catalog.
SYS = "sys"
"""What stands behind a database's name in the name of its folder."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """A parsed name.

    Attributes:
        branch: ``main`` unless given.
        system_table: None for the table itself.
    Raises: SchemaError: a part of it would lead to another folder.
    """

    database: str
    table: str
    branch: str = MAIN_BRANCH
    system_table: str | None = None

    def __post_init__(self) -> None:
        where = f"table {self}"
        segment(self.database, "a database", where, suffix=DATABASE_SUFFIX, error=SchemaError)
        segment(self.table, "a table", where, error=SchemaError)
        segment(self.branch, "a branch", where, prefix=BRANCH_PREFIX, error=SchemaError)

    @classmethod
    def parse(cls, text: str) -> "Identifier":
        """Raises: SchemaError: the text is not the name of a table."""
        database, dot, object_name = text.partition(".")
        table, *parts = object_name.split("$")
        if not dot or not database or not table or len(parts) > 2:
            raise _invalid(text)
        branch, system = MAIN_BRANCH, None
        if parts and parts[0].startswith(BRANCH_PREFIX):
            branch = parts.pop(0).removeprefix(BRANCH_PREFIX)
        if parts:
            system = parts.pop(0).lower()
        if parts or not branch or system == "":
            raise _invalid(text)
        return cls(database, table, branch, system)

    @classmethod
    def of_table(cls, text: str, where: str) -> "Identifier":
        """The name of a table itself. Raises: SchemaError: of a branch, be it ``main``, or of a system table."""
        name = cls.parse(text)
        if "$" in text.partition(".")[2]:
            raise no_own_table(text, where)
        return name

    def __str__(self) -> str:
        branch = "" if self.branch == MAIN_BRANCH else f"${BRANCH_PREFIX}{self.branch}"
        return f"{self.database}.{self.table}{branch}"


def no_own_table(text: str, where: str) -> SchemaError:
    """That a name is not one of a table that can be made or dropped."""
    return SchemaError(f"'{text}' is not a table of its own", where, "Name the table itself.")


def _invalid(text: str) -> SchemaError:
    return SchemaError(
        f"'{text}' is not the name of a table",
        "identifier",
        "Write database.table, database.table$branch_b or …$snapshots.",
    )
