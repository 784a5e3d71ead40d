"""What the soak's writer commits: a batch for each number, always the same, and the rows that all of them leave."""

import random
from collections.abc import Mapping

import pyarrow as pa

COLUMNS: Mapping[str, str] = {"id": "BIGINT NOT NULL", "version": "BIGINT", "note": "STRING"}
_KEYS = 5_000
_CHANGES = 200
_DELETED = 0.15

Change = tuple[str, int, int]


def names(tables: int) -> list[str]:
    """Of the soak's tables; each of them gets the same batches."""
    return [f"soak.orders_{number:02d}" for number in range(tables)]


def changes(number: int) -> list[Change]:
    """(row kind, id, version) of a batch: upserts, and deletions of keys that may or may not be there."""
    chosen = random.Random(number)
    ids = chosen.sample(range(_KEYS), _CHANGES)
    return [("-D" if chosen.random() < _DELETED else "+I", identifier, number) for identifier in ids]


def batch(number: int) -> tuple[pa.Table, list[str]]:
    """The rows of a batch and their kinds."""
    actual = changes(number)
    columns = [[change[1] for change in actual], [change[2] for change in actual]]
    rows = pa.table([*(pa.array(column, pa.int64()) for column in columns), [note(*change[1:]) for change in actual]],
                    names=list(COLUMNS))  # fmt: skip
    return rows, [change[0] for change in actual]


def note(identifier: int, version: int) -> str:
    return f"order {identifier}, version {version}"


def model(numbers: range) -> dict[int, int]:
    """id -> version after the batches of these numbers."""
    state: dict[int, int] = {}
    for number in numbers:
        for kind, identifier, version in changes(number):
            if kind == "-D":
                state.pop(identifier, None)
            else:
                state[identifier] = version
    return state
