"""What a table holds after writes, deletions and overwrites, for each merge engine and without a key: plain dicts.

Rows are (part, id, u, v). Keys are (part, id), or id alone where keys move between partitions. With `aggregation` u is
a sum and v the last value; `partial-update` keeps what is there where a new value is null; `first-row` keeps the row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = tuple[int, int, int | None, str | None]


@dataclass
class KeyedRows:
    """`engine`: None without a primary key; `crossing`: keys move between partitions."""

    engine: str | None
    crossing: bool = False
    _by_key: dict[Any, Row] = field(default_factory=dict)
    _rows: list[Row] = field(default_factory=list)

    @property
    def rows(self) -> list[Row]:
        actual = self._rows if self.engine is None else self._by_key.values()
        return sorted(actual, key=repr)

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if self.engine is None:
                self._rows.append(row)
                continue
            key = row[1] if self.crossing else row[:2]
            self._by_key[key] = self._merged(self._by_key.get(key), row)

    def _merged(self, old: Row | None, new: Row) -> Row:
        if old is None or self.engine == "deduplicate":
            return new
        if self.engine == "first-row":
            return old
        if self.engine == "partial-update":
            return (*old[:2], old[2] if new[2] is None else new[2], old[3] if new[3] is None else new[3])
        total = None if old[2] is None and new[2] is None else (old[2] or 0) + (new[2] or 0)
        return (*old[:2], total, new[3])

    def remove(self, gone: Callable[[Row], bool]) -> None:
        self._by_key = {key: row for key, row in self._by_key.items() if not gone(row)}
        self._rows = [row for row in self._rows if not gone(row)]
