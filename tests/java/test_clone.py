"""Java reads a copy of its table, and goes on with it."""

from pathlib import Path

import pytest

from maintenance.catalog import AddColumn, open_catalog
from maintenance.operations import clone
from tests.java.process import JavaProcess
from tests.java.samples import table_of


@pytest.mark.parametrize(
    "options", [{"bucket": "2"}, {"bucket": "1", "deletion-vectors.enabled": "true"}, {"bucket": "-1"}]
)
def test_java_goes_on_with_a_copy(java: JavaProcess, tmp_path: Path, options: dict[str, str]) -> None:
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    dynamic = options["bucket"] == "-1"
    java.create_table(here, "db.t", [("k", "INT NOT NULL"), ("v", "STRING")], ([] if dynamic else ["k"], []), options)
    for number in range(3):
        java.write(here, "db.t", [(k, f"{number}") for k in range(number, number + 4)])
    java.alter(here, "db.t", [AddColumn("n", "INT")])
    java.write(here, "db.t", [(1, "new", 7)])
    for _ in range(2):
        clone(table_of(here), open_catalog({"warehouse": there}), "db.t")
        assert sorted(java.rows(there, "db.t"), key=str) == sorted(java.rows(here, "db.t"), key=str)
        java.compact(here, "db.t")
    java.write(there, "db.t", [(99, "here only", None)])
    assert (99, "here only", None) in java.rows(there, "db.t")
