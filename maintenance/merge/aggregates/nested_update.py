"""`nested_update`: arrays of rows put together; with `nested-key` rows replace those of the same key.

Options, each `fields.<column>.<name>`: `nested-key` (fields of the row); `nested-key-null-strategy` (`merge`, `ignore`
or `error` for rows with a null in their key); `nested-sequence-field`: a row only replaces one whose sequence is not
larger; `count-limit`: at most this many rows, with a key no new keys beyond. Null elements are left out. A retraction
takes away every row that is equal to one of its own, or has its key. Source: Java `FieldNestedUpdateAgg`, where rows
with a key have no order.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError, OptionError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.elements import Elements, identities
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import DataType

_STRATEGIES = ("merge", "ignore", "error")
_NO_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class NestedRows:
    """The rows of an array column, with what identifies them.

    Attributes:
        codes: of each row: equal where the keys are, without a key where whole rows are.
        usable: rows that take part: not null, and not ignored for a null in their key.
        sequences: numbers in the order of the rows' sequences; None without sequence.
    """

    codes: list[int]
    usable: list[bool]
    sequences: list[int] | None

    @classmethod
    def of(cls, rows: pa.Array, column: AggregatedColumn) -> "NestedRows":
        """Raises: DataError: a null in a key, with strategy `error`."""
        fields = dict(zip((field.name for field in row_type(column).fields), rows.flatten(), strict=True))
        key = [fields[name] for name in names_of(column, "nested-key")]
        usable = rows.is_valid().to_numpy(zero_copy_only=False)
        partly = np.zeros(len(rows), bool)
        for part in key:
            partly |= part.is_null().to_numpy(zero_copy_only=False)
        strategy = null_strategy(column)
        if strategy == "error" and (partly & usable).any():
            raise DataError("null in the key of a nested row", column.where, "Fill the key, or set 'ignore'.")
        if strategy == "ignore":
            usable = usable & ~partly
        sequence = [fields[name] for name in names_of(column, "nested-sequence-field")]
        return cls(
            identities(*(key or [rows])).tolist(), usable.tolist(), identities(*sequence).tolist() if sequence else None
        )


def nested(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    elements = Elements.of(inputs.since_set)
    inputs = elements.inputs
    rows = NestedRows.of(elements.items, column)
    ops = inputs.ops.tolist() if inputs.ops is not None else [Op.ADD] * len(inputs.order)
    valid, bounds = inputs.valid.tolist(), elements.offsets.tolist()
    merge = _Keyed(rows, limit(column)) if names_of(column, "nested-key") else _Plain(rows, limit(column))
    lists: list[list[int]] = []
    for start, end in zip(inputs.starts.tolist(), inputs.ends.tolist(), strict=True):
        held: list[int] | None = None
        for record in range(start, end):
            if valid[record]:
                held = _step(merge, held, list(range(bounds[record], bounds[record + 1])), ops[record])
            elif ops[record] == Op.BEHIND and held is not None:
                # Put in front of a null, what is there comes as if it were new.
                held = merge.add(None, held)
        lists.append(held or [])
    return elements.chosen_lists(lists)


def _step(merge: "_Keyed | _Plain", held: list[int] | None, incoming: list[int], op: int) -> list[int] | None:
    if op == Op.SET:
        return incoming
    if op == Op.RETRACT:
        return None if held is None else merge.retract(held, incoming)
    if op == Op.BEHIND:
        return incoming if held is None else merge.add(incoming, held)
    return merge.add(held, incoming)


@dataclass(frozen=True, slots=True)
class _Plain:
    """Without a key rows are put after each other."""

    rows: NestedRows
    limit: int

    def add(self, held: list[int] | None, incoming: list[int]) -> list[int]:
        usable = [number for number in incoming if self.rows.usable[number]]
        if held is None:
            return usable[: self.limit]
        if len(held) >= self.limit:
            return held
        return [number for number in held if self.rows.usable[number]] + usable[: self.limit - len(held)]

    def retract(self, held: list[int], incoming: list[int]) -> list[int]:
        taken = {self.rows.codes[number] for number in incoming if self.rows.usable[number]}
        return [number for number in held if self.rows.usable[number] and self.rows.codes[number] not in taken]


@dataclass(frozen=True, slots=True)
class _Keyed:
    """With a key each row has its place."""

    rows: NestedRows
    limit: int

    def add(self, held: list[int] | None, incoming: list[int]) -> list[int]:
        places: dict[int, int] = {}
        self._put(places, held or [], _NO_LIMIT)
        self._put(places, incoming, self.limit)
        return list(places.values())

    def _put(self, places: dict[int, int], numbers: list[int], most: int) -> None:
        rows = self.rows
        for number in numbers:
            if not rows.usable[number]:
                continue
            before = places.get(rows.codes[number])
            if before is None:
                if len(places) < most:
                    places[rows.codes[number]] = number
            elif rows.sequences is None or rows.sequences[number] >= rows.sequences[before]:
                places[rows.codes[number]] = number

    def retract(self, held: list[int], incoming: list[int]) -> list[int]:
        rows = self.rows
        places = {rows.codes[number]: number for number in held if rows.usable[number]}
        for number in incoming:
            if rows.usable[number]:
                places.pop(rows.codes[number], None)
        return list(places.values())


def row_type(column: AggregatedColumn) -> DataType:
    element = column.field.type.element
    assert element is not None
    return element


def names_of(column: AggregatedColumn, option: str) -> tuple[str, ...]:
    """Fields of the row that an option names, trimmed. Raises: OptionError: there is none of that name."""
    text = column.option(option)
    listed = () if text is None else tuple(name.strip() for name in text.split(","))
    field_names = [field.name for field in row_type(column).fields]
    for name in listed:
        if name not in field_names:
            raise OptionError(
                f"'{column.key(option)}' names '{name}'", column.where, f"Fields are {', '.join(field_names)}."
            )
    return listed


def null_strategy(column: AggregatedColumn) -> str:
    """What becomes of a null in a key. Raises: OptionError."""
    text = (column.option("nested-key-null-strategy") or "merge").strip().lower()
    if text not in _STRATEGIES:
        raise OptionError(
            f"'{column.key('nested-key-null-strategy')}' = '{text}'", column.where, "Use merge, ignore or error."
        )
    return text


def limit(column: AggregatedColumn) -> int:
    """Rows that are kept at most. Raises: OptionError."""
    text = column.option("count-limit")
    try:
        return _NO_LIMIT if text is None else int(text.strip())
    except ValueError as error:
        fix = f"Set '{column.key('count-limit')}' to a whole number."
        raise OptionError(f"'{column.key('count-limit')}' = '{text}'", column.where, fix) from error


def check(column: AggregatedColumn) -> None:
    keyed = bool(names_of(column, "nested-key"))
    names_of(column, "nested-sequence-field")
    null_strategy(column)
    limit(column)
    for option in ("nested-key-null-strategy", "nested-sequence-field"):
        if column.option(option) is not None and not keyed:
            fix = f"Set '{column.key(option)}' and '{column.key('nested-key')}', or neither."
            raise OptionError(f"'{column.key(option)}' without '{column.key('nested-key')}'", column.where, fix)


def is_array_of_rows(data_type: DataType) -> bool:
    return data_type.root == "ARRAY" and data_type.element is not None and data_type.element.root == "ROW"


NESTED_UPDATE = Aggregate("nested_update", is_array_of_rows, "ARRAY of ROW", nested, retracts=True, check=check)
