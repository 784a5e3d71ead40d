"""Data files and what manifests say of them: as Java writes them, for every type."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.types.data_type import DataType
from maintenance.types.type_text import parse_data_type
from tests.java.process import JavaProcess
from tests.java.samples import TYPES, VALUES, Sample, table_of
from tests.java.test_nested_tables import arrow_of
from tests.strategies import bits

NESTED: dict[str, tuple[Any, ...]] = {
    "ARRAY<INT NOT NULL>": ([1, 2], [], None),
    "MAP<STRING, ARRAY<TIMESTAMP(9)>>": ([("a", [1, None])], [], None),
    "MULTISET<STRING>": ([("a", 2)], None, []),
    "ROW<a INT NOT NULL, b MAP<DECIMAL(20, 2), ROW<c TIME(3), d ARRAY<MULTISET<INT>>>>> NOT NULL": (
        (1, [(1, (5, [[(1, 2)], None])), (2, None)]),
        (2, None),
        (3, []),
    ),
    "ARRAY<MAP<INT, ARRAY<INT>>>": ([[(1, [1])], None], [], None),
}
# Where readers differ in what bounds mean, none are written here.
UNBOUNDED = ("FLOAT", "DOUBLE", "BINARY", "VARBINARY")
COLUMNS = [("id", "INT NOT NULL"), *((f"c{n}", text) for n, text in enumerate((*TYPES, *NESTED)))]
PARSED: list[tuple[str, DataType]] = [(name, parse_data_type(text)) for name, text in COLUMNS]


def rows() -> list[tuple[Any, ...]]:
    choices = [*((*VALUES[text], None) for text in TYPES), *NESTED.values()]
    return [(n, *(values[n % len(values)] for values in choices)) for n in range(6)]


def only_entry(warehouse: str) -> ManifestEntry:
    table = table_of(warehouse)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.manifests.live_entries(snapshot)
    return entry


def only_file(warehouse: str) -> tuple[DataFileMeta, pq.ParquetFile]:
    entry = only_entry(warehouse)
    path = table_of(warehouse).paths.data_file(entry.partition, entry.bucket, entry.file)
    return entry.file, pq.ParquetFile(path)


@pytest.mark.parametrize("file_format", ["orc", "avro"])
def test_nulls_are_counted_alike(java: JavaProcess, tmp_path: Path, file_format: str) -> None:
    names = ["BOOLEAN", "INT", "STRING", "DATE", "TIME(3)", "DECIMAL(38, 10)", "BYTES", *list(NESTED)[::2]]
    columns = [("id", "INT"), *((f"c{n}", text) for n, text in enumerate(names))]
    parsed = [(name, parse_data_type(text)) for name, text in columns]
    choices = [(*VALUES[text], None) if text in VALUES else NESTED[text] for text in names]
    written = [(n, *(values[n % len(values)] for values in choices)) for n in range(5)]
    sample = Sample((), (), {"bucket": "-1", "file.format": file_format})
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    sample.create(ours, columns).write_arrow(arrow_of(written, parsed))
    java.create_table(theirs, "db.t", columns, ((), ()), sample.options)
    java.write(theirs, "db.t", written)
    files = [only_entry(ours).file, only_entry(theirs).file]
    assert files[0].value_stats_cols == files[1].value_stats_cols
    assert files[0].value_stats.null_counts == files[1].value_stats.null_counts


@pytest.mark.parametrize("keys", [(), ("id",), ("c18", "c17", "id")], ids=["append", "keyed", "keyed by times"])
def test_files_and_their_entries_are_as_java_writes_them(
    java: JavaProcess, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    sample = Sample(keys, (), {"bucket": "1" if keys else "-1"})
    columns = [(name, f"{text} NOT NULL" if name in keys and name != "id" else text) for name, text in COLUMNS]
    written = [row for row in rows() if None not in [row[n] for n, (name, _) in enumerate(COLUMNS) if name in keys]]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    sample.create(ours, columns).write_arrow(arrow_of(written, PARSED))
    java.create_table(theirs, "db.t", columns, (keys, ()), sample.options)
    java.write(theirs, "db.t", written)
    (our_file, our_data), (java_file, java_data) = only_file(ours), only_file(theirs)
    assert structure(our_data) == structure(java_data)
    for part in ("row_count", "min_key", "max_key", "value_stats_cols", "delete_row_count", "level"):
        assert getattr(our_file, part) == getattr(java_file, part), part
    fields = table_of(ours).schema.fields_of(our_file.value_stats_cols or [name for name, _ in COLUMNS])
    for field, our, their in zip(
        fields, stats_values(our_file.value_stats, fields), stats_values(java_file.value_stats, fields), strict=True
    ):
        first = 2 if field.type.root in UNBOUNDED else 0
        assert list(map(bits, our))[first:] == list(map(bits, their))[first:], field


def structure(file: pq.ParquetFile) -> list[str]:
    """The schema of a file, line by line, without the name of the whole.

    parquet-mr marks the repeated group of a map as a map once more, which readers ignore.
    """
    return [line.replace(" key_value (Map) {", " key_value {") for line in str(file.schema).splitlines()[2:]]
