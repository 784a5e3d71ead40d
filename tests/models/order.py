"""How Paimon orders values and records, one value at a time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from maintenance.types.values import Value

Record = Mapping[str, Any]


def ordered(value: Value) -> tuple[Any, ...]:
    """A tuple that sorts as the value does: nulls first, text by its bytes, -0.0 before 0.0, all NaN equal and last."""
    if value is None:
        return (0,)
    if isinstance(value, str):
        return (1, value.encode())
    if isinstance(value, float):
        if math.isnan(value):
            return (2,)
        return (1, value, math.copysign(1, value)) if value == 0 else (1, value, 0)
    return (1, value)


def ordered_key(values: Sequence[Value]) -> tuple[Any, ...]:
    """The same for the columns of a key."""
    return tuple(ordered(value) for value in values)


def age(record: Record, sequence_fields: Sequence[str], *, descending: bool) -> list[Any]:
    """What to sort the records of one key by; the last is the newest. Null loses whatever the direction."""
    collected: list[Any] = []
    for name in sequence_fields:
        value = record[name]
        if value is None:
            collected.append((0, 0))
        else:
            collected.append((1, Reversed(ordered(value)) if descending else ordered(value)))
    return [*collected, record["_SEQUENCE_NUMBER"]]


class Reversed:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "Reversed") -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)
