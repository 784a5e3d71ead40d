"""What a table holds after some commits: the records of each key, applied one after the other in commit order.

Tables have the columns `id`, `a`, `b`. A commit is a list of records (kind, id, a, b); later records come later.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from hypothesis import strategies as st

Record = tuple[str, int, int | None, int | None]
Row = tuple[int | None, int | None]

ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update, deletes": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.a.aggregate-function": "last_value",
        "fields.b.aggregate-function": "first_non_null_value",
    },
    "first-row": {"merge-engine": "first-row"},
    "sequence.field": {"sequence.field": "a"},
}
DELETES = ("deduplicate", "partial-update, deletes")
FIELDS = (("id", "INT NOT NULL"), ("a", "INT"), ("b", "INT"))


def arrow(records: Sequence[Record]) -> pa.Table:
    """Records as rows to write, without their kinds."""
    columns = list(zip(*records, strict=True))[1:]
    return pa.table([pa.array(column, pa.int32()) for column in columns], names=["id", "a", "b"])


def by_key(rows: pa.Table) -> dict[int, Row]:
    """Rows that were read; each key once."""
    actual = rows.to_pylist()
    known = {row["id"]: (row["a"], row["b"]) for row in actual}
    assert len(known) == len(actual), f"a key is there twice: {actual}"
    return known


@st.composite
def batches(draw: st.DrawFn, engine: str) -> list[Record]:
    """The records of a commit. Deletions have no values: a removed row would begin again with them.

    Of partial updates nothing follows the deletion of a key: a writer that merges both before it writes them, as Paimon
    does too, leaves a row that was not removed.
    """
    kinds = st.sampled_from(["+I", "+I", "-D"]) if engine in DELETES else st.just("+I")
    values = st.one_of(st.none(), st.integers(0, 3))
    records = draw(st.lists(st.tuples(kinds, st.integers(0, 3), values, values), min_size=1, max_size=6))
    collected: list[Record] = []
    removed: set[int] = set()
    for kind, key, a, b in records:
        if kind == "-D":
            removed.add(key)
            collected.append((kind, key, None, None))
        elif engine != "partial-update, deletes" or key not in removed:
            collected.append((kind, key, a, b))
    return collected


def fold(engine: str, commits: Iterable[Sequence[Record]]) -> dict[int, Row]:
    """The rows of a table by key."""
    rows: dict[int, Row] = {}
    for commit in commits:
        for kind, key, a, b in commit:
            before = rows.get(key)
            if kind == "-D":
                rows.pop(key, None)
            elif before is None:
                rows[key] = (a, b)
            elif engine == "first-row":
                continue
            elif engine == "deduplicate":
                rows[key] = (a, b)
            elif engine.startswith("partial-update"):
                rows[key] = (before[0] if a is None else a, before[1] if b is None else b)
            elif engine == "aggregation":
                rows[key] = (a, b if before[1] is None else before[1])
            elif engine == "sequence.field" and _sequence(a) >= _sequence(before[0]):
                rows[key] = (a, b)
    return rows


def _sequence(value: int | None) -> int:
    """No sequence is the oldest one."""
    return -1 if value is None else value
