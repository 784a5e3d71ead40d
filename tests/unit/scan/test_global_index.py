"""Which rows a filter may match by global indexes: of one column, of several, and where an index says nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap, BitMap64

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.errors import OptionError
from maintenance.format.metadata.index_manifest import GlobalIndexMeta
from maintenance.metadata.manifests import Manifests
from maintenance.metastore.schema_change import UpdateColumnType
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.options.model import TableModel
from maintenance.scan.global_index import candidates_of, covered_rows, wanted_rows, with_candidates
from maintenance.scan.split import Split
from tests.tables import live
from tests.unit.scan.test_data_evolution import entry

OPTIONS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1", "write-only": "true"}
FIELDS = [("id", "INT"), ("a", "INT"), ("b", "STRING"), ("p", "INT")]


def rows_of(first: int, count: int, part: int = 0) -> pa.Table:
    """Column a counts from 0 in tens, column b says whether the id is odd."""
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "a": pa.array([i // 10 for i in ids], pa.int32()),
            "b": ["odd" if i % 2 else "even" for i in ids],
            "p": pa.array([part] * count, pa.int32()),
        }
    )


def table_in(folder: Path, partition_keys: Sequence[str] = ()) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db", ignore_if_exists=True)
    catalog.create_table("db.t", Schema(FIELDS, [], partition_keys, OPTIONS))
    return catalog.get_table("db.t")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """Rows 0 to 39, whose columns a and b have an index, and behind the indexes rows 40 to 49."""
    table = table_in(tmp_path_factory.mktemp("indexed"))
    table.write_arrow(rows_of(0, 20))
    table.write_arrow(rows_of(20, 20))
    create_global_index(None, table, "a", "btree")
    create_global_index(None, table, "b", "bitmap")
    table.write_arrow(rows_of(40, 10))
    return table


def wanted(table: CatalogTable, where: str | None, options: Mapping[str, str] | None = None) -> list[int] | None:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    actual = wanted_rows(
        table.manifests,
        snapshot,
        table.schema,
        TableModel({**table.options, **(options or {})}),
        table.commit_target().load_schemas,
        None if where is None else table.predicate(where),
        live(table),
    )
    return None if actual is None else sorted(actual)


LATE = list(range(40, 50))


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("a = 1", [*range(10, 20), *LATE]),
        ("a = 4", LATE),
        ("a = 9", LATE),
        ("a < 1", [*range(10), *LATE]),
        ("a >= 3", [*range(30, 40), *LATE]),
        ("a IN (0, 3)", [*range(10), *range(30, 40), *LATE]),
        ("a IS NULL", LATE),
        ("b = 'odd'", [*range(1, 40, 2), *LATE]),
        ("a = 1 AND b = 'odd'", [*range(11, 20, 2), *LATE]),
        ("a = 1 OR b = 'odd'", [*sorted({*range(10, 20), *range(1, 40, 2)}), *LATE]),
        ("a = 1 AND id = 3", [*range(10, 20), *LATE]),
        ("NOT (a = 1 OR a = 2)", [*range(10), *range(30, 40), *LATE]),
        ("NOT (a <> 1)", [*range(10, 20), *LATE]),
    ],
)
def test_rows_that_may_match(indexed: CatalogTable, where: str, rows: list[int]) -> None:
    """Rows behind the indexes may always match."""
    assert wanted(indexed, where) == rows


@pytest.mark.parametrize("where", [None, "id = 3", "a = 1 OR id = 3", "id = 3 AND p = 0"])
def test_where_indexes_say_nothing(indexed: CatalogTable, where: str | None) -> None:
    assert wanted(indexed, where) is None


def test_options_that_leave_indexes_aside(indexed: CatalogTable) -> None:
    assert wanted(indexed, "a = 1", {"global-index.column-update-action": "ignore"}) is None
    assert wanted(indexed, "a = 1", {"global-index.enabled": "false"}) is None
    assert wanted(indexed, "a = 1", {"global-index.enabled": "true"}) is not None


def test_only_rows_of_the_entries_are_named(indexed: CatalogTable) -> None:
    snapshot = indexed.latest_snapshot()
    assert snapshot is not None
    entries = [entry for entry in live(indexed) if entry.file.first_row_id == 0]
    load = indexed.commit_target().load_schemas
    given = (indexed.manifests, snapshot, indexed.schema, indexed.options, load, indexed.predicate("a < 9"), entries)
    assert list(wanted_rows(*given) or ()) == list(range(20))


def test_reads_find_what_they_should(indexed: CatalogTable) -> None:
    for where, rows in (("a = 1 AND b = 'odd'", range(11, 20, 2)), ("a = 4", range(40, 50)), ("a = 9", range(0))):
        assert sorted(indexed.to_arrow(where=where).column("id").to_pylist()) == list(rows)


def test_options_of_how_paimon_builds_indexes_change_nothing(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.write_arrow(rows_of(0, 20))
    options = {"btree-index.records-per-range": "10", "btree-index.build.max-parallelism": "4"}
    assert create_global_index(None, table, "a", "btree", options=options).files == 2
    with pytest.raises(OptionError, match="option 'bucket' of an index"):
        create_global_index(None, table, "a", "btree", options={"bucket": "2"})


def test_a_file_of_an_index_that_is_damaged_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = table_in(tmp_path)
    table.write_arrow(rows_of(0, 20))
    create_global_index(None, table, "a", "btree")
    assert wanted(table, "a = 1") == list(range(10, 20))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (part,) = table.manifests.read_index(snapshot)
    path = Path(table.paths.index_file(part))
    path.write_bytes(path.read_bytes()[:-9] + b"\0" * 9)
    assert wanted(table, "a = 1") == list(range(20))
    assert "the global index on column a is not used for some rows" in caplog.text
    path.unlink()
    assert wanted(table, "a = 1") == list(range(20))


def test_keys_of_another_type_are_not_asked(tmp_path: Path) -> None:
    table = table_in(tmp_path)
    table.write_arrow(rows_of(0, 20))
    create_global_index(None, table, "a", "btree")
    create_global_index(None, table, "b", "bitmap")
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.t", [UpdateColumnType("a", "BIGINT")])
    table = catalog.get_table("db.t")
    assert wanted(table, "a = 1") is None
    assert wanted(table, "b = 'odd'") == list(range(1, 20, 2))
    assert wanted(table, "a = 1 AND b = 'odd'") == list(range(1, 20, 2))
    Path(table.location, "schema", "schema-0").unlink()
    assert wanted(table, "b = 'odd'") is None, "what the type was is not known"


def test_indexes_of_other_partitions_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = table_in(tmp_path, ["p"])
    table.write_arrow(rows_of(0, 10, 1))
    table.write_arrow(rows_of(10, 10, 2))
    create_global_index(None, table, "a", "btree")
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    second = [entry for entry in live(table) if entry.file.first_row_id == 10]
    other = next(part for part in table.manifests.read_index(snapshot) if part.partition != second[0].partition)
    Path(table.paths.index_file(other)).unlink()
    load = table.commit_target().load_schemas
    given = (table.manifests, snapshot, table.schema, table.options, load, table.predicate("a = 1"), second)
    assert list(wanted_rows(*given) or ()) == list(range(10, 20))
    assert caplog.text == "", "a file that is missing would be told of"


def meta(start: int, end: int) -> GlobalIndexMeta:
    return GlobalIndexMeta(start, end, 1, None, None)


def test_the_rows_that_indexes_cover() -> None:
    """The last row of a range is part of it."""
    assert list(covered_rows([])) == []
    assert list(covered_rows([meta(0, 2), meta(5, 5)])) == [0, 1, 2, 5]


def test_files_with_wanted_rows_are_kept() -> None:
    """Those of the same rows together."""
    entries = [entry("a", 0), entry("b", 10), entry("c", 20), entry("column", 10, sequence=5), entry("d", 0, bucket=1)]

    def kept(*rows: int) -> set[str]:
        return {actual.file.file_name for actual in with_candidates(entries, BitMap64(rows))}

    assert kept() == set()
    assert kept(9) == {"a", "d"}
    assert kept(10) == kept(19) == {"b", "column"}
    assert kept(19, 20) == {"b", "column", "c"}
    assert kept(30) == set()


def test_the_numbers_of_wanted_rows_in_files_that_stand_alone() -> None:
    """Not of a file whose rows are all wanted, nor of files that are read together."""
    files = tuple(e.file for e in (entry("a", 0), entry("b", 10), entry("column", 10, sequence=5), entry("c", 1 << 40)))
    split = Split(1, b"", 0, files, raw=False)
    numbers = candidates_of(split, BitMap64([3, 9, 10, (1 << 40) + 2]))
    assert numbers == {"a": BitMap([3, 9]), "c": BitMap([2])}
    assert candidates_of(split, BitMap64([*range(10), 12])) == {"c": BitMap()}
    assert candidates_of(split, BitMap64(range(9)))["a"] == BitMap(range(9))


@pytest.mark.parametrize("changed", [{"extra_field_ids": (2,)}, {"source_meta": b"x"}])
def test_an_index_of_several_columns_or_of_a_source_is_not_asked(
    indexed: CatalogTable, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    snapshot = indexed.latest_snapshot()
    assert snapshot is not None
    parts = [
        replace(part, global_index=replace(part.global_index, **changed))
        for part in indexed.manifests.read_index(snapshot)
        if part.global_index is not None
    ]
    monkeypatch.setattr(Manifests, "read_index", lambda *_: parts)
    assert wanted(indexed, "a = 1") is None


@pytest.mark.parametrize("changed", [{"index_type": "lumina"}, {"global_index": None}, {"index_type": "HASH"}])
def test_index_files_of_other_kinds_are_left_aside(
    indexed: CatalogTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, changed: dict[str, Any]
) -> None:
    """Alone they say nothing, and beside others they change nothing."""
    snapshot = indexed.latest_snapshot()
    assert snapshot is not None
    parts = indexed.manifests.read_index(snapshot)
    others = [replace(part, **changed) for part in parts]
    monkeypatch.setattr(Manifests, "read_index", lambda *_: others)
    assert wanted(indexed, "a = 1") is None
    monkeypatch.setattr(Manifests, "read_index", lambda *_: [*others, *parts])
    assert wanted(indexed, "a = 1") == [*range(10, 20), *LATE]
    assert wanted(indexed, "b = 'odd'") == [*range(1, 40, 2), *LATE]
    assert caplog.text == ""
