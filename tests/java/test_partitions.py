"""Partition columns of every type: both engines write into and read from the same folders, and prune alike."""

from pathlib import Path

import pytest

from tests.java.process import JavaProcess
from tests.java.samples import VALUES, Row, Sample, arrow_of, comparable, rows_in, table_of


@pytest.mark.parametrize("text", VALUES)
def test_partitions_of_each_type(java: JavaProcess, tmp_path: Path, text: str) -> None:
    columns = [("id", "INT"), ("p", text)]
    # A folder's name has at most 255 bytes.
    values = (*(value for value in VALUES[text] if not isinstance(value, bytes | str) or len(value) < 50), None)
    legacy = "false" if "BINARY" in text or text == "BYTES" else "true"
    Sample((), ("p",), {"bucket": "-1", "partition.legacy-name": legacy}).create(str(tmp_path), columns)
    ours: list[Row] = [(n, value) for n, value in enumerate(values)]
    theirs: list[Row] = [(n + 100, value) for n, value in enumerate(values)]
    table_of(str(tmp_path)).write_arrow(arrow_of(ours, columns))
    java.write(str(tmp_path), "db.t", theirs)
    assert comparable(java.rows(str(tmp_path), "db.t")) == comparable([*ours, *theirs])
    assert comparable(rows_in(table_of(str(tmp_path)).to_arrow())) == comparable([*ours, *theirs])
    for number, value in enumerate(values[:-1]):
        (actual,) = java.pushed(str(tmp_path), "db.t", "id", [("equal", "p", value)])
        assert {number, number + 100} <= set(actual), value
    (actual,) = java.pushed(str(tmp_path), "db.t", "id", [("isNull", "p")])
    assert {len(values) - 1, len(values) + 99} <= set(actual)
