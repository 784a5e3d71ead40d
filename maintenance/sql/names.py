"""Full names of tables and views."""

import re
from dataclasses import dataclass

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_PATH = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*")


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


def path_of(text: str) -> tuple[str, ...]:
    """The names in ``db.`my table` ``: dots are between them, unless they stand inside backticks."""
    if not _PATH.fullmatch(text):
        return tuple(text.split("."))
    return tuple(quoted.replace("``", "`") or plain for quoted, plain in _PART.findall(text))
