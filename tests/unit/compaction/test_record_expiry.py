"""Which rows and files are past their time."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.errors import OptionError, UnsupportedError
from maintenance.metastore.schema_change import SetOption
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.compaction.compact import compact
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import parse_type
from maintenance.types.values import arrow_of_values
from tests.tables import live_files

NOW = 1_800_000_000
OPTIONS = {"record-level.expire-time": "1500 ms", "record-level.time-field": "t"}


def table_with(folder: Path, data_type: str, **options: str) -> CatalogTable:
    catalog = open_catalog({"warehouse": str(folder)})
    catalog.create_database("db", ignore_if_exists=True)
    given = {"bucket": "1", "write-only": "true", **OPTIONS, **options}
    catalog.create_table("db.t", Schema([("k", "INT NOT NULL"), ("t", data_type)], ["k"], (), given))
    return catalog.get_table("db.t")


@pytest.mark.parametrize(
    ("data_type", "unit", "values"),
    [
        ("INT", 1, ()),
        ("BIGINT", 1, ((NOW - 1) * 1000, (NOW - 1) * 1000 - 1)),
        ("TIMESTAMP(0)", 10**9, ()),
        ("TIMESTAMP(3)", 10**9, ()),
        ("TIMESTAMP(9) WITH LOCAL TIME ZONE", 10**9, ((NOW - 1) * 10**9 - 1,)),
    ],
)
def test_a_row_stays_for_its_whole_seconds(tmp_path: Path, data_type: str, unit: int, values: tuple[int, ...]) -> None:
    table = table_with(tmp_path, data_type)
    expiry = RecordExpiry.of(table.schema, table.options, NOW + 0.9)
    assert expiry is not None
    given = [(NOW - 1) * unit, (NOW - 2) * unit, None, 0, *values]
    column = arrow_of_values(given, parse_type(data_type))
    assert column.type == arrow_type(parse_type(data_type))
    kept = expiry.kept(pa.table({"t": column, "n": list(range(len(given)))}))
    assert kept.column("n").to_pylist() == [0, 2, *([4] if data_type == "BIGINT" else [])]
    assert expiry.kept(kept) is kept
    assert expiry.kept(kept.slice(0, 0)).num_rows == 0


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    table = table_with(tmp_path, "INT")
    assert RecordExpiry.of(table.schema, TableModel(), NOW) is None
    with pytest.raises(OptionError, match="time-field"):
        RecordExpiry.of(table.schema, TableModel({"record-level.expire-time": "1 d"}), NOW)


@pytest.mark.parametrize("proof", ["full", "off"])
@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_a_new_row_deletes_an_older_one_that_is_too_old_by_a_vector(tmp_path: Path, proof: str, producer: str) -> None:
    options = {
        "record-level.expire-time": "40000 d",
        "deletion-vectors.enabled": "true",
        "changelog-producer": producer,
    }
    written = table_with(tmp_path, "INT", **options)
    written.write_arrow(pa.table({"k": pa.array(range(300), pa.int32()), "t": pa.array([0] * 300, pa.int32())}))
    compact(None, written, full=True)
    changes = [SetOption("record-level.expire-time", "1 d"), SetOption("paimon-maintenance.compaction.proof", proof)]
    open_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", changes)
    table = open_catalog({"warehouse": str(tmp_path)}).get_table("db.t")
    assert isinstance(table, CatalogTable)
    table.write_arrow(pa.table({"k": pa.array([5, 6], pa.int32()), "t": pa.array([2**31 - 1, 1], pa.int32())}))
    assert not compact(None, table).failed
    actual = dict(zip(*(column.to_pylist() for column in table.to_arrow().columns), strict=True))
    assert table.to_arrow().num_rows == 300
    # The older row of 5 is marked; the new row of 6 was too old before it replaced anything, so the older one stays.
    assert (actual[5], actual[6], actual[7]) == (2**31 - 1, 0, 0)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    logged = [e.file.row_count for e in table.manifests.changelog_entries(snapshot)]
    assert logged == ([1] if producer == "lookup" else []), "what was too old leaves no change"
    compact(None, table, full=True)
    assert table.to_arrow().column("k").to_pylist() == [5]


@pytest.mark.parametrize("proof", ["full", "off"])
def test_rows_go_with_a_compaction_and_reads_return_them_until_then(tmp_path: Path, proof: str) -> None:
    table = table_with(tmp_path, "INT", **{"changelog-producer": "full-compaction"})
    rows = pa.table({"k": pa.array([1, 2, 3], pa.int32()), "t": pa.array([0, 2**31 - 1, None], pa.int32())})
    table.write_arrow(rows)
    assert table.to_arrow().num_rows == 3
    compact(None, table.copy({"paimon-maintenance.compaction.proof": proof}), full=True)
    assert table.to_arrow().column("k").to_pylist() == [2, 3]
    with pytest.raises(UnsupportedError, match="without a change"):
        audit_changelog(None, table)


def test_files_that_were_compacted_before_are_rewritten_once_a_row_is_too_old(tmp_path: Path) -> None:
    table = table_with(tmp_path, "INT", **{"record-level.expire-time": "40000 d"})
    table.write_arrow(pa.table({"k": pa.array([1, 2], pa.int32()), "t": pa.array([0, 2**31 - 1], pa.int32())}))
    compact(None, table, full=True)
    assert table.to_arrow().num_rows == 2
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.alter_table("db.t", [SetOption("record-level.expire-time", "1 d")])
    shorter = catalog.get_table("db.t")
    (group,) = compact(None, shorter, full=True).groups
    assert group.changed
    assert shorter.to_arrow().column("k").to_pylist() == [2]
    assert not any(group.changed for group in compact(None, shorter, full=True).groups)


@pytest.mark.parametrize(
    ("data_type", "unit"),
    [("INT", 1), ("BIGINT", 1), ("BIGINT", 1000), ("TIMESTAMP(0)", 10**9), ("TIMESTAMP(6)", 10**9)],
)
def test_a_file_with_a_row_past_its_time_is_known_by_its_statistics(tmp_path: Path, data_type: str, unit: int) -> None:
    """A row of the very second that still counts stays; nulls never go."""
    table = table_with(tmp_path, data_type)
    expiry = RecordExpiry.of(table.schema, table.options, NOW + 0.9)
    assert expiry is not None
    collected = []
    for k, seconds in enumerate(((NOW - 1, NOW), (NOW - 2, NOW), (None, NOW), (None, None))):
        values = [None if second is None else second * unit for second in seconds]
        known = {file.file_name for file in live_files(table)}
        table.write_arrow(
            pa.table(
                {"k": pa.array([2 * k, 2 * k + 1], pa.int32()), "t": arrow_of_values(values, parse_type(data_type))}
            )
        )
        (file,) = (file for file in live_files(table) if file.file_name not in known)
        collected.append(expiry.is_in(file, table.schema, {table.schema.id: table.schema}))
    assert collected == [False, True, False, False]
