"""pypaimon reads what we write, compact and index."""

import os
import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import (
    FIRST,
    AddColumn,
    CatalogTable,
    DropColumn,
    RenameColumn,
    SetOption,
    UpdateColumnType,
    open_catalog,
)
from maintenance.commit.overwrite import Overwrite
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.types.type_text import parse_data_type
from tests.java.samples import (
    SAMPLES,
    VALUES,
    Sample,
    Values,
    arrow_of,
    columns_of,
    comparable,
    rows_in,
    rows_of,
    table_of,
)
from tests.nested_values import array_of
from tests.pypaimon.process import PYTHON, run_script
from tests.tables import create_table, keyed, live


@pytest.fixture(scope="module")
def pypaimon() -> Path:
    """The interpreter of pypaimon's environment. Where there is none the test is skipped, in CI it fails."""
    reason = f"there is no {PYTHON}: run scripts/install pypaimon"
    if not PYTHON.exists() and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if not PYTHON.exists():
        pytest.skip(reason)
    return PYTHON


def with_format(name: str, **options: str) -> Sample:
    return replace(SAMPLES[name], options={**SAMPLES[name].options, **options})


# pypaimon reads INT96 as nanoseconds of 64 bits.
_NEAR: Values = {
    text: tuple(v for v in values if not text.startswith("TIMESTAMP(9)") or -(2**63) <= int(v or 0) < 2**63)
    for text, values in VALUES.items()
}
# pypaimon reads ORC by way of nanoseconds, and Avro by way of Python's dates.
_IN_NANOSECONDS: Values = {
    text: tuple(v for v in values if "TIMESTAMP" not in text or (isinstance(v, int) and 0 <= v < 2**62))
    for text, values in VALUES.items()
}
_IN_AVRO: Values = {text: values for text, values in _IN_NANOSECONDS.items() if not text.startswith("TIMESTAMP(9)")}
TABLES: dict[str, tuple[Sample, Values]] = {
    **{name: (sample, _NEAR) for name, sample in SAMPLES.items()},
    "orc": (with_format("append", **{"file.format": "orc"}), _IN_NANOSECONDS),
    "keyed orc": (with_format("keyed", **{"file.format": "orc", "file.compression": "zlib"}), _IN_AVRO),
    "avro": (with_format("append", **{"file.format": "avro"}), _IN_AVRO),
    "keyed avro": (with_format("keyed", **{"file.format": "avro", "file.compression": "deflate"}), _IN_AVRO),
    "row": (with_format("append", **{"file.format": "row"}), _NEAR),
    "keyed row": (with_format("keyed", **{"file.format": "row", "file.block-size": "1 kb"}), _NEAR),
    "thin": (with_format("keyed", **{"data-file.thin-mode": "true"}), _NEAR),
    "levels": (with_format("keyed", **{"file.format.per.level": "0:avro,5:orc"}), _IN_AVRO),
    "levels of rows": (with_format("keyed", **{"file.format.per.level": "0:row,5:orc"}), _IN_AVRO),
}


def maintained(warehouse: str, sample: Sample, values: Values) -> CatalogTable:
    """A table of ours, written, compacted, indexed, and written again."""
    # To merge rows, pypaimon makes them Python objects, which hold no nanoseconds.
    columns = [c for c in columns_of(values) if not (sample.primary_keys and c[1].startswith("TIMESTAMP(9)"))]
    table = sample.create(warehouse, columns)

    def batch(start: int, count: int, version: int) -> pa.Table:
        rows = rows_of(range(start, start + count), version, values)
        return arrow_of(rows, columns_of(values)).select(table.schema.field_names)

    for start, version in ((0, 0), (8, 1)):
        table.write_arrow(batch(start, 12, version))
    compact(None, table, full=True)
    rewrite_file_index(None, table.copy({"file-index.bloom-filter.columns": "id"}))
    late = batch(14, 4, 2)
    table.write_arrow(late, ["+I", "+U", "-D", "-D"] if sample.primary_keys else None)
    return table


def read_by(warehouses: list[str], *columns: str, where: str = "") -> list[pa.Table]:
    """`db.t` of each warehouse, as pypaimon reads it. `columns`: these alone; `where`: a column=number."""
    chosen = [f"--columns={','.join(columns)}"] if columns else []
    chosen += [f"--where={where}"] if where else []
    run_script("read_tables.py", *chosen, *warehouses)
    collected = []
    for warehouse in warehouses:
        with pa.OSFile(f"{warehouse}/rows.arrow") as source:
            collected.append(pa.ipc.open_file(source).read_all())
    return collected


@pytest.mark.slow
def test_pypaimon_reads_our_rows(pypaimon: Path, tmp_path: Path) -> None:
    tables = {str(tmp_path / name): maintained(str(tmp_path / name), *table) for name, table in TABLES.items()}
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        wanted = table.to_arrow()
        assert actual.column_names == wanted.column_names
        assert comparable(rows_in(actual.cast(wanted.schema))) == comparable(rows_in(wanted))


def test_pypaimon_reads_what_deletion_vectors_leave(pypaimon: Path, tmp_path: Path) -> None:
    """Vectors of our deletions and of our compactions; of 32 bits, since it knows no others."""
    tables = {}
    for name, keys, options in (
        ("append", (), {"bucket": "-1"}),
        ("buckets", (), {"bucket": "2", "bucket-key": "id"}),
        ("keyed", ("id",), {"bucket": "2"}),
    ):
        table = create_table(
            tmp_path / name, primary_keys=keys, options={"deletion-vectors.enabled": "true", **options}
        )
        # Much more than what changes, or a compaction would rewrite all of it.
        table.write_arrow(keyed({number: uuid.uuid4().hex for number in range(2000)}))
        compact(None, table)
        table.delete("id IN (3, 4, 5, 77) OR id >= 1990")
        table.update({"v": "'new'"}, "id BETWEEN 100 AND 110")
        if keys:
            compact(None, table)
        snapshot = table.latest_snapshot()
        assert snapshot is not None
        assert table.manifests.deletion_vectors(snapshot)
        tables[str(tmp_path / name)] = table
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        assert actual.num_rows == 1986
        assert actual.sort_by("id").to_pylist() == table.to_arrow().sort_by("id").to_pylist()


# pypaimon knows no MULTISET.
NESTED: list[tuple[str, tuple[Any, ...]]] = [
    ("INT NOT NULL", (1, 2, 3)),
    ("ARRAY<MAP<INT, ARRAY<INT>>>", ([[(1, [1])], None], None, [])),
    ("MAP<STRING, ARRAY<TIMESTAMP(6)>>", ([("a", [1_000, None])], [], None)),
    (
        "ROW<a INT NOT NULL, b TIME(3), c ARRAY<DECIMAL(10, 2)>>",
        (None, (1, 43_200, [Decimal("1.50")]), (2, None, [])),
    ),
]


def test_pypaimon_reads_nested_columns(pypaimon: Path, tmp_path: Path) -> None:
    types = [parse_data_type(text) for text, _ in NESTED]
    columns = [(f"c{n}", data_type) for n, data_type in enumerate(types)]
    arrays = [array_of(values, data_type) for (_, values), data_type in zip(NESTED, types, strict=True)]
    rows = pa.table(dict(zip((name for name, _ in columns), arrays, strict=True)))
    tables = {}
    for name, keys in (("append", ()), ("keyed", ("c0",))):
        table = Sample(keys, (), {"bucket": "1" if keys else "-1"}).create(str(tmp_path / name), columns)
        table.write_arrow(rows)
        table.write_arrow(rows.slice(1))
        tables[str(tmp_path / name)] = table
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        assert actual.sort_by("c0").to_pylist() == table.to_arrow().sort_by("c0").to_pylist()


def test_pypaimon_reads_columns_that_changed(pypaimon: Path, tmp_path: Path) -> None:
    """Columns added, renamed, dropped, moved and made wider; before a compaction and after."""
    changes = (
        AddColumn("n", "DATE", position=FIRST),
        RenameColumn("a", "z"),
        DropColumn("b"),
        AddColumn("b", "STRING"),
        UpdateColumnType("c", "BIGINT"),
    )
    columns = [("id", "INT NOT NULL"), ("a", "STRING"), ("b", "INT"), ("c", "INT")]
    numbers = pa.array([1, 2, 3], pa.int32())
    tables = {}
    for name, keys, compacted in (("append", (), False), ("keyed", ("id",), False), ("both", ("id",), True)):
        warehouse = str(tmp_path / name)
        table = Sample(keys, (), {"bucket": "1" if keys else "-1"}).create(warehouse, columns)
        table.write_arrow(pa.table({"id": numbers, "a": ["x", None, "y"], "b": numbers, "c": numbers}))
        open_catalog({"warehouse": warehouse}).alter_table("db.t", changes)
        table = table_of(warehouse)
        table.write_arrow(
            pa.table({"id": numbers.slice(1), "z": ["new", None], "c": pa.array([2**40, None], pa.int64())})
        )
        if compacted:
            compact(None, table, full=True)
        tables[warehouse] = table
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        wanted = table.to_arrow()
        assert actual.column_names == wanted.column_names
        assert comparable(rows_in(actual.cast(wanted.schema))) == comparable(rows_in(wanted))


def test_pypaimon_reads_every_mode(pypaimon: Path, tmp_path: Path) -> None:
    """Rows that waited for their buckets, some that still wait, keys that moved, and sorted files."""
    columns = [("k", "INT NOT NULL"), ("p", "STRING"), ("v", "DOUBLE")]
    waiting = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "2"}
    samples = {
        "waiting": Sample(("k",), (), waiting),
        "straight": Sample(("k",), (), {"bucket": "-2", "postpone.target-row-num-per-bucket": "5"}),
        "moving": Sample(("k",), ("p",), {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
        "sorted": Sample((), ("p",), {"bucket": "-1"}),
        "dynamic": Sample(("k",), (), {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
        "dynamic in partitions": Sample(("p", "k"), ("p",), {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
        "by remainder": Sample((), (), {"bucket": "3", "bucket-key": "k", "bucket-function.type": "mod"}),
        "rescaled": Sample(("p", "k"), ("p",), {"bucket": "2"}),
        "expired": Sample((), ("p",), {"bucket": "-1"}),
    }
    tables = {}
    for name, sample in samples.items():
        table = sample.create(str(tmp_path / name), columns)
        for turn in range(3):
            if turn == 2:
                compact(None, table, full=True)
            keys = range(turn * 4, turn * 4 + 12)
            places = [f"{(k + turn) % 3}" for k in keys]
            table.write_arrow(pa.table({"k": pa.array(keys, pa.int32()), "p": places, "v": [k / 3 for k in keys]}))
        if name == "sorted":
            compact(None, table, order_strategy="hilbert", order_by=["v", "k"])
        if name == "rescaled":
            open_catalog({"warehouse": str(tmp_path / name)}).alter_table("db.t", [SetOption("bucket", "5")])
            table = table_of(str(tmp_path / name))
            kept = table.to_arrow(where="p = '1'")
            table.overwrite_arrow(kept, Overwrite([{"p": "1"}]))
            assert {entry.total_buckets for entry in live(table)} == {2, 5}
        if name == "expired":
            life, year = timedelta(days=1), "202$p-01-01"
            report = expire_partitions(table, expiration_time=life, max_expires=1, timestamp_pattern=year)
            assert len(report.expired) == 1
        tables[str(tmp_path / name)] = table
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        wanted = table.to_arrow()
        assert wanted.num_rows in (16, 20, 24, 36)
        assert comparable(rows_in(actual.cast(wanted.schema))) == comparable(rows_in(wanted))


TRACKED = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
EVOLVING = {**TRACKED, "data-evolution.enabled": "true"}


def with_ids(table: CatalogTable) -> list[dict[str, Any]]:
    names = [*table.schema.field_names, "_ROW_ID", "_SEQUENCE_NUMBER"]
    rows: list[dict[str, Any]] = table.to_arrow(columns=names).sort_by("id").to_pylist()
    return rows


def test_pypaimon_reads_rows_by_their_ids(pypaimon: Path, tmp_path: Path) -> None:
    """Rows that were updated, compacted and updated again."""
    tables = {}
    for name, options in (("tracked", TRACKED), ("evolved", EVOLVING)):
        table = create_table(tmp_path / name, primary_keys=(), options=options)
        table.write_arrow(keyed({number: f"v{number}" for number in range(5)}))
        table.write_arrow(keyed({5: "five"}))
        table.update({"v": "'new'"}, "id = 1 OR id = 5")
        compact(None, table, full=True)
        table.update({"v": "'newer'"}, "id = 2")
        table.write_arrow(keyed({6: "six"}))
        tables[str(tmp_path / name)] = table
    for actual, table in zip(read_by(list(tables)), tables.values(), strict=True):
        rows = with_ids(table)
        if "data-evolution.enabled" not in table.options:
            # pypaimon does not look into files for ids, so it reads none of rows that were written again.
            actual, rows = actual.select(["id", "v"]), [{"id": row["id"], "v": row["v"]} for row in rows]
        assert actual.sort_by("id").to_pylist() == rows


def test_pypaimon_changes_columns_of_ours(pypaimon: Path, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    table = create_table(warehouse, primary_keys=(), options=EVOLVING)
    table.write_arrow(keyed({number: f"v{number}" for number in range(3)}))
    run_script("evolve_table.py", warehouse)
    expected = {0: "by pypaimon", 1: "v1", 2: "by pypaimon, too", 77: "theirs"}
    assert [(row["id"], row["v"], row["_ROW_ID"]) for row in with_ids(table)] == [
        (key, text, number) for number, (key, text) in enumerate(expected.items())
    ]
    assert compact(None, table, full=True).snapshot_ids
    table.update({"v": "'ours'"}, "id = 77")
    (actual,) = read_by([warehouse])
    assert actual.sort_by("id").to_pylist() == with_ids(table)
    assert [row["v"] for row in with_ids(table)] == [*list(expected.values())[:3], "ours"]


def test_blobs_that_either_writes_are_read_by_both(pypaimon: Path, tmp_path: Path) -> None:
    """Files of blobs that we and pypaimon write, rolled at a size, are read by both."""
    fields = [("id", "INT"), ("b", "BLOB"), ("v", "STRING")]
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob.target-file-size": "200 b"}
    table = create_table(tmp_path, fields, (), {"bucket": "-1", **options})
    blobs = [b"ours", None, b"o" * 300, b"", b"last"]
    table.write_arrow(pa.table({"id": pa.array(range(5), pa.int32()), "b": blobs, "v": [*"abcde"]}))
    table.update({"v": "'new'"}, "id = 2")
    run_script("write_blobs.py", tmp_path)
    expected = [*zip(range(5), blobs, ("a", "b", "new", "d", "e"), strict=True)]
    expected += [(7, b"theirs", "x"), (8, None, "y"), (9, b"t" * 300, "z")]
    (theirs,) = read_by([str(tmp_path)])
    for actual in (table.to_arrow(), theirs):
        rows = zip(*(actual.column(name).to_pylist() for name in ("id", "b", "v")), strict=True)
        assert sorted(rows, key=repr) == sorted(expected, key=repr)
    assert fsck(table.file_io, table.location, deep=True).faults == ()
