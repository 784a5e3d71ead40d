"""Keys of every type: both engines sort them alike, else neither would find the records that belong together."""

from pathlib import Path

import pytest

from maintenance.operations.compaction.compact import compact
from maintenance.types.values import Value
from tests.java.process import JavaProcess
from tests.java.samples import VALUES, Row, Sample, arrow_of, comparable, rows_in, table_of


@pytest.mark.parametrize("text", VALUES)
def test_both_write_and_compact_in_turns(java: JavaProcess, tmp_path: Path, text: str) -> None:
    columns = [("k", f"{text} NOT NULL"), ("v", "INT")]
    Sample(("k",), (), {"bucket": "1"}).create(str(tmp_path), columns)
    # This version of the core takes NaN for equal to everything, and the zeros for each other; later ones do not.
    keys = tuple(value for value in VALUES[text] if repr(value) not in ("nan", "-0.0"))
    wanted: dict[str, Row] = {}

    def batch(chosen: tuple[Value, ...], version: int) -> list[Row]:
        rows: list[Row] = [(key, version) for key in chosen]
        wanted.update({repr(row[0]): row for row in rows})
        return rows

    def check() -> None:
        assert comparable(java.rows(str(tmp_path), "db.t")) == comparable(wanted.values())
        assert comparable(rows_in(table_of(str(tmp_path)).to_arrow())) == comparable(wanted.values())

    table_of(str(tmp_path)).write_arrow(arrow_of(batch(keys, 0), columns))
    java.write(str(tmp_path), "db.t", batch(keys[::-2], 1))
    table_of(str(tmp_path)).write_arrow(arrow_of(batch(keys[1:], 2), columns))
    check()
    assert compact(None, table_of(str(tmp_path)), full=True).snapshot_ids
    check()
    java.write(str(tmp_path), "db.t", batch(keys[::2], 3))
    java.compact(str(tmp_path), "db.t")
    check()
