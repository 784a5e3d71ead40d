"""Large copies are made in Spark's tasks."""

import hashlib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import CorruptFileError
from maintenance.operations import clone
from maintenance.operations.databases import copying
from tests.small_tables import put, rows, small_table


def test_much_is_copied_in_tasks(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, there = small_table(tmp_path / "here"), open_catalog({"warehouse": str(tmp_path / "there")})
    for number in range(3):
        put(table, {number: "a"})
    monkeypatch.setattr(copying, "_MUCH", 0)
    lines: list[str] = []
    monkeypatch.setattr(copying, "map_in_threads", None)
    report = clone(table, there, "db.copy", spark=spark, progress=lines.append)
    assert (report.copied_files, report.digest) == (3, digest_of_files(table))
    assert lines == ["3 of 3 files are there"]
    assert rows(there.get_table("db.copy")) == rows(table)
    file = next(Path(table.location).rglob("data-*"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match="its manifest says"):
        clone(table, there, "db.other", spark=spark)
    assert len(list(Path(there.get_table("db.other").location).rglob("data-*"))) >= 2, "the others are there"


def digest_of_files(table: CatalogTable) -> str:
    root = Path(table.location)
    files = [(str(path.relative_to(root)), path.read_bytes()) for path in root.rglob("data-*")]
    lines = sorted(f"{name} {len(data)} {hashlib.sha256(data).hexdigest()}\n" for name, data in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()
