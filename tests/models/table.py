"""What a table with a primary key holds after any history of writes and compactions: a dict and the rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.models.order import Record, age

Key = int
Row = tuple[Any, ...]
State = dict[Key, Row]
RETRACT = ("-U", "-D")


@dataclass
class TableModel:
    """The newest record of each key, retractions included: a late record must still lose against them.

    Attributes:
        sequence_fields: positions of the columns of `sequence.field` in a row.
        newest: kind, row and sequence number of the newest record of each key.
    """

    sequence_fields: Sequence[int] = ()
    descending: bool = False
    newest: dict[Key, tuple[str, Row, int]] = field(default_factory=dict)
    written: int = 0

    def write(self, records: Iterable[tuple[str, Row]]) -> None:
        """Records in the order they are written; the key is the first column."""
        for kind, row in records:
            known = self.newest.get(row[0])
            self.written += 1
            if known is None or self._age(row, self.written) > self._age(known[1], known[2]):
                self.newest[row[0]] = (kind, row, self.written)

    def _age(self, row: Row, number: int) -> "_Age":
        names = [str(position) for position in self.sequence_fields]
        record: Record = {**{name: row[int(name)] for name in names}, "_SEQUENCE_NUMBER": number}
        return _Age(age(record, names, descending=self.descending))

    def forget_retractions(self, concerned: Callable[[Key], bool]) -> None:
        """Everything of these keys was compacted into the highest level: what was deleted leaves no trace."""
        self.newest = {
            key: actual for key, actual in self.newest.items() if actual[0] not in RETRACT or not concerned(key)
        }

    @property
    def state(self) -> State:
        return {key: row for key, (kind, row, _) in self.newest.items() if kind not in RETRACT}


class _Age:
    """Sequence values that only know how to be less than each other."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def __gt__(self, other: "_Age") -> bool:
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            if mine != theirs:
                return bool(theirs < mine)
        return False


def applied(state: Mapping[Key, Row], changes: Iterable[tuple[str, Row]]) -> State:
    """A state after a changelog; every change must fit what is there."""
    after = dict(state)
    for kind, row in changes:
        match kind:
            case "+I":
                assert row[0] not in after, f"+I {row} of a key that is there"
                after[row[0]] = row
            case "+U":
                assert row[0] not in after, f"+U {row} without its -U"
                after[row[0]] = row
            case _:
                assert after.pop(row[0], None) == row, f"{kind} {row} of another row"
    return after
