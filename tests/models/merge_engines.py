"""What the merge engines make of the records of one key, one record after the other.

Written from the rules of Paimon's reference (data sections 4.1 to 4.4). A record is a dict with `_VALUE_KIND`,
`_SEQUENCE_NUMBER` and the columns; records of a key come oldest first. The result is a dict of the same form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.models.aggregates import Function, RetractError
from tests.models.order import Record, ordered_key

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
RETRACT = (UPDATE_BEFORE, DELETE)


class RefusedError(Exception):
    """The engine takes no retractions."""


@dataclass
class Engine:
    """The columns of a table and what is set for them. `functions`: a function for one key's values, by column."""

    columns: Sequence[str]
    functions: Mapping[str, Function] = field(default_factory=dict)
    ignore_retract: Sequence[str] = ()
    ignore_delete: bool = False
    remove_on_delete: bool = False


def first_row(records: Sequence[Record], *, ignore_delete: bool) -> Record | None:
    if len(records) == 1:
        return records[0]
    if not ignore_delete and any(record["_VALUE_KIND"] in RETRACT for record in records):
        raise RefusedError
    kept = [record for record in records if record["_VALUE_KIND"] not in RETRACT]
    return kept[0] if kept else None


def aggregation(records: Sequence[Record], engine: Engine) -> dict[str, Any]:
    """Every column has a function."""
    if len(records) == 1:
        return dict(records[0])
    row: dict[str, Any] = dict.fromkeys(engine.columns)
    deleted = False
    for record in records:
        deleted = engine.remove_on_delete and record["_VALUE_KIND"] == DELETE
        if deleted:
            row = {name: record[name] for name in engine.columns}
            continue
        for name in engine.columns:
            row[name] = _step(engine, name, row[name], record)
    return {**row, "_VALUE_KIND": DELETE if deleted else INSERT, "_SEQUENCE_NUMBER": records[-1]["_SEQUENCE_NUMBER"]}


def _step(engine: Engine, name: str, value: Any, record: Record, *, late: bool = False) -> Any:
    function = engine.functions[name]
    if record["_VALUE_KIND"] in RETRACT:
        if name in engine.ignore_retract:
            return value
        if not function.retracts:
            raise RetractError
        return function.retract(value, record[name])
    if late and name in engine.ignore_retract:
        return function.add(record[name], value)
    return function.add_late(value, record[name]) if late else function.add(value, record[name])


@dataclass
class Group:
    """A sequence group."""

    order_by: Sequence[str]
    members: Sequence[str]
    removes: bool = False


def partial_update(records: Sequence[Record], engine: Engine, groups: Sequence[Group] = ()) -> dict[str, Any]:
    """Columns in `functions` aggregate; they are members of groups."""
    if len(records) == 1:
        return dict(records[0])
    return _PartialUpdate(engine, groups).run(records)


class _PartialUpdate:
    def __init__(self, engine: Engine, groups: Sequence[Group]) -> None:
        self.engine = engine
        self.groups = groups
        self.row: dict[str, Any] = dict.fromkeys(engine.columns)
        self.grouped = {name for group in groups for name in (*group.order_by, *group.members)}

    def run(self, records: Sequence[Record]) -> dict[str, Any]:
        opened = inserted = deleted = False
        number = None
        for record in records:
            deleted = False
            if record["_VALUE_KIND"] in RETRACT:
                if not opened:
                    self.start_from(record)
                opened = True
                if self.engine.ignore_delete:
                    continue
                deleted = self.retract(record)
            else:
                self.add(record)
                opened = inserted = True
            number = record["_SEQUENCE_NUMBER"]
        kind = DELETE if deleted or not inserted else INSERT
        return {**self.row, "_VALUE_KIND": kind, "_SEQUENCE_NUMBER": number}

    def start_from(self, record: Record) -> None:
        self.row = {name: record[name] for name in self.engine.columns}

    def retract(self, record: Record) -> bool:
        """Whether the row was removed."""
        if self.groups:
            return self.retract_groups(record)
        if not self.engine.remove_on_delete:
            raise RefusedError
        if record["_VALUE_KIND"] == DELETE:
            self.start_from(record)
            return True
        return False

    def wins(self, record: Record, group: Group) -> bool | None:
        """None: the record has nothing for the group."""
        given = [record[name] for name in group.order_by]
        if all(value is None for value in given):
            return None
        return ordered_key(given) >= ordered_key([self.row[name] for name in group.order_by])

    def retract_groups(self, record: Record) -> bool:
        won = [(group, self.wins(record, group)) for group in self.groups]
        if record["_VALUE_KIND"] == DELETE and any(group.removes and wins for group, wins in won):
            self.start_from(record)
            return True
        for group, wins in won:
            if wins is None:
                continue
            for name in group.members:
                if name in self.engine.functions:
                    self.row[name] = _step(self.engine, name, self.row[name], record)
                elif wins:
                    self.row[name] = None
            if wins:
                self.row.update({name: record[name] for name in group.order_by})
        return False

    def add(self, record: Record) -> None:
        for name in self.engine.columns:
            if name not in self.grouped and record[name] is not None:
                self.row[name] = record[name]
        for group in self.groups:
            wins = self.wins(record, group)
            if wins is None:
                continue
            for name in group.members:
                if name in self.engine.functions:
                    self.row[name] = _step(self.engine, name, self.row[name], record, late=not wins)
                elif wins:
                    self.row[name] = record[name]
            if wins:
                self.row.update({name: record[name] for name in group.order_by})
