"""Tables with a primary key whose files are sorted by other columns: `pk-clustering-override`, by both engines."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.compaction.clustered_rewrite import rewrite_clustered
from maintenance.compaction.rewriting import CompactionTask
from maintenance.errors import OptionError, SchemaError, UnsupportedError
from maintenance.format.rows.key import key_reader
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, live_files, open_warehouse

FIELDS = [("id", "INT NOT NULL"), ("city", "STRING"), ("n", "INT")]
CLUSTERED = {"pk-clustering-override": "true", "clustering.columns": "city", "bucket": "1", "write-only": "false"}
VECTORS = {"deletion-vectors.enabled": "true", "paimon-maintenance.compaction.beside-other-compactors": "true"}
DEDUPLICATE = {**CLUSTERED, **VECTORS}
CITIES = ["Oslo", None, "Bergen", "Tromsø", "Ålesund", ""]
Row = tuple[int, str | None, int]


def row(key: int, version: int = 0) -> Row:
    return key, CITIES[(key * 7 + version) % len(CITIES)], 1000 * version + key


def write(table: CatalogTable, rows: list[Row], kinds: list[str] | None = None) -> None:
    ids, cities, numbers = zip(*rows, strict=True)
    table.write_arrow(
        pa.table({"id": pa.array(ids, pa.int32()), "city": cities, "n": pa.array(numbers, pa.int32())}), kinds
    )


def check(java: JavaProcess, folder: Path, expected: dict[int, Row]) -> None:
    """Both engines see the rows, each once, and each file above level 0 is sorted as its entry says."""
    table = get_table(folder)
    rows = sorted(expected.values())
    assert sorted(tuple(actual.values()) for actual in table.to_arrow().to_pylist()) == rows
    assert sorted(java.rows(str(folder), "db.t")) == rows
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    key_of = key_reader([table.schema.field("city").type])
    for file in live_files(table):
        assert file.level == 1
        assert key_of(file.min_key) <= key_of(file.max_key)


@pytest.mark.parametrize("vectors", ["32", "64"])
def test_both_write_and_compact(java: JavaProcess, tmp_path: Path, vectors: str) -> None:
    options = {**DEDUPLICATE, "deletion-vectors.bitmap64": str(vectors == "64").lower()}
    table = create_table(tmp_path, FIELDS, ("id",), options)
    expected = {key: row(key) for key in range(40)}
    write(table, list(expected.values()))
    check(java, tmp_path, expected)
    # Java marks what its rows replace in files of ours.
    theirs = {key: row(key, 1) for key in range(30, 60)}
    java.write(str(tmp_path), "db.t", list(theirs.values()))
    expected |= theirs
    check(java, tmp_path, expected)
    # We mark what ours replace in files of Java's.
    ours = {key: row(key, 2) for key in range(50, 70, 2)}
    write(table, list(ours.values()))
    expected |= ours
    check(java, tmp_path, expected)
    for key in (3, 33, 52):
        del expected[key]
    write(table, [row(3), row(33)], ["-D", "-D"])
    java.write(str(tmp_path), "db.t", [row(52)], ["-D"])
    check(java, tmp_path, expected)
    # A key comes back after its deletion.
    for key, writer in ((33, "ours"), (52, "theirs")):
        expected[key] = row(key, 3)
        if writer == "ours":
            write(table, [expected[key]])
        else:
            java.write(str(tmp_path), "db.t", [expected[key]])
    check(java, tmp_path, expected)
    java.compact(str(tmp_path), "db.t")
    check(java, tmp_path, expected)
    write(table, [row(5, 4)])
    expected[5] = row(5, 4)
    report = compact(None, get_table(tmp_path), full=True)
    assert not report.failed
    check(java, tmp_path, expected)
    (file,) = live_files(get_table(tmp_path))
    assert file.row_count == len(expected)
    assert java.vectors(str(tmp_path), "db.t") == {}
    assert not compact(None, get_table(tmp_path), full=True).snapshot_ids
    java.write(str(tmp_path), "db.t", [row(6, 5)])
    expected[6] = row(6, 5)
    check(java, tmp_path, expected)
    assert java.orphans(str(tmp_path), "db.t") == []


def test_first_rows_stay_whoever_writes_after_them(java: JavaProcess, tmp_path: Path) -> None:
    """Java 1.4 wants deletion vectors here, too, though nothing is ever deleted."""
    table = create_table(tmp_path, FIELDS, ("id",), {**DEDUPLICATE, "merge-engine": "first-row"})
    expected = {key: row(key) for key in range(20)}
    write(table, list(expected.values()))
    java.write(str(tmp_path), "db.t", [row(key, 1) for key in range(15, 30)])
    expected |= {key: row(key, 1) for key in range(20, 30)}
    write(table, [row(key, 2) for key in range(25, 35)])
    expected |= {key: row(key, 2) for key in range(30, 35)}
    check(java, tmp_path, expected)
    compact(None, get_table(tmp_path), full=True)
    check(java, tmp_path, expected)
    assert len(live_files(get_table(tmp_path))) == 1


def test_first_rows_need_no_vectors(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("id",), {**CLUSTERED, "merge-engine": "first-row"})
    for version in range(3):
        write(table, [row(key, version) for key in range(5 * version, 5 * version + 10)])
    compact(None, get_table(tmp_path), full=True)
    expected = [row(key, max(0, key // 5 - 1)) for key in range(20)]
    assert sorted(tuple(actual.values()) for actual in get_table(tmp_path).to_arrow().to_pylist()) == expected


def test_both_see_rows_that_are_deleted_and_updated(java: JavaProcess, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("id",), DEDUPLICATE)
    expected = {key: row(key) for key in range(20)}
    write(table, list(expected.values()))
    table.delete("id < 3")
    table.update({"city": "'Moss'"}, "n = 7")
    expected = {key: value for key, value in expected.items() if key >= 3} | {7: (7, "Moss", 7)}
    check(java, tmp_path, expected)


def test_the_clustering_columns_stay_as_they_are(tmp_path: Path) -> None:
    write(create_table(tmp_path, FIELDS, ("id",), DEDUPLICATE), [row(1)])
    with pytest.raises(SchemaError, match=r"'clustering.columns' cannot change from 'city' to 'n,city'"):
        open_warehouse(tmp_path).alter_table("db.t", [SetOption("clustering.columns", "n,city")])


def test_parts_that_do_not_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each full part is a sorted run of its own, and so is what is left; later compactions merge them."""

    def small(task: CompactionTask) -> object:
        return rewrite_clustered(replace(task, memory=400_000))

    monkeypatch.setattr("maintenance.compaction.rewrite.rewrite_clustered", small)
    options = {**DEDUPLICATE, "write-only": "true", "target-file-size": "50 kb"}
    table = create_table(tmp_path, FIELDS, ("id",), options)
    random = np.random.default_rng(1)
    expected: dict[int, Row] = {}
    for version in range(4):
        rows = {int(key): row(int(key), version) for key in random.choice(40_000, 20_000, replace=False)}
        write(table, list(rows.values()))
        expected |= rows
        if version == 1:
            compact(None, get_table(tmp_path))
    for full in (False, True, True):
        assert not compact(None, get_table(tmp_path), full=full).failed
        actual = sorted(tuple(each.values()) for each in get_table(tmp_path).to_arrow().to_pylist())
        assert actual == sorted(expected.values())
    key_of = key_reader([table.schema.field("city").type])
    bounds = sorted((key_of(file.min_key), key_of(file.max_key)) for file in live_files(get_table(tmp_path)))
    assert len(bounds) > 1
    assert all(high <= low for (_, high), (low, _) in zip(bounds, bounds[1:], strict=False))
    assert not compact(None, get_table(tmp_path), full=True).snapshot_ids


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"clustering.columns": ""}, OptionError, "without 'clustering.columns'"),
        ({"deletion-vectors.enabled": "false"}, OptionError, "without deletion vectors"),
        ({"merge-engine": "aggregation"}, OptionError, "merge engine aggregation"),
        ({"changelog-producer": "lookup"}, OptionError, "'changelog-producer' = 'lookup'"),
        ({"sequence.field": "n"}, OptionError, "with 'sequence.field'"),
        ({"clustering.columns": "x"}, OptionError, "'x'"),
        ({"bucket": "-2"}, UnsupportedError, "'bucket' = '-2'"),
    ],
)
def test_options_that_it_cannot_be_combined_with_are_refused(
    tmp_path: Path, options: dict[str, str], error: type[Exception], match: str
) -> None:
    given = {key: text for key, text in (DEDUPLICATE | options).items() if text}
    with pytest.raises(error, match=match):
        create_table(tmp_path, FIELDS, ("id",), given)
