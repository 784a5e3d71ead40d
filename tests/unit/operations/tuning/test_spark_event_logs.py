"""Filters of Spark's queries, from an event log that Spark has written and from plans of the connector for Java."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations import advise
from maintenance.operations.tuning import spark_event_logs
from maintenance.operations.tuning.spark_event_logs import condition, logged_filters
from maintenance.sql import Session
from maintenance.types.data_type import DataField
from tests.small_tables import batch, small_table

# Written by Spark 4.3 with this project's connector; events that say nothing about queries are left out.
LOG = Path(__file__).with_name("spark_events.jsonl")
COLUMNS = "id BIGINT, name STRING, d DATE, ts TIMESTAMP, amount DECIMAL(10, 2), ok BOOLEAN, x DOUBLE"
ASKED = (
    "`name` = 'a, (b'",
    "(`id` > 3 AND `d` = '2024-01-01' OR `amount` < 3.50)",
    "`name` IN ('x', 'y', 'it\\'s') AND `ok` = true AND `x` < 1.5",
    "`ts` >= '2024-01-02 03:04:05' AND startswith(`name`, 'ab') AND NOT (`id` = 5)",
)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE DATABASE db")
    session.sql(f"CREATE TABLE db.t ({COLUMNS})")
    return open_catalog({"warehouse": str(tmp_path)}).get_table("db.t")


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> tuple[DataField, ...]:
    return tuple(small_table(tmp_path_factory.mktemp("fields")).schema.fields)


def event(condition_: str, scan: str) -> str:
    """A query of Paimon's connector for Java, as its source says that it prints a scan."""
    scanned = {"nodeName": scan.partition("[")[0], "simpleString": scan, "children": []}
    passed = {"nodeName": "ColumnarToRow", "simpleString": "ColumnarToRow", "children": [scanned]}
    plan = {"nodeName": "Filter", "simpleString": f"Filter {condition_}", "children": [passed]}
    name = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
    return json.dumps({"Event": name, "executionId": 1, "sparkPlanInfo": plan}) + "\n"


def test_the_filters_of_a_log_are_those_of_its_queries(table: CatalogTable) -> None:
    found = logged_filters(table, str(LOG), 100)
    assert (found.filters, found.queries) == (ASKED, 4)
    assert all(table.predicate(text) is not None for text in found.filters)


def test_a_log_of_tables_with_other_columns_has_none(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    assert logged_filters(table, str(LOG), 100).queries == 0
    with pytest.raises(OptionError, match=r"0 queries of db\.t"):
        advise(table, event_logs=str(LOG))


def test_scans_of_the_connector_for_java_name_their_table(tmp_path: Path) -> None:
    table = small_table(tmp_path / "w", primary_key=False)
    table.write_arrow(batch({number: f"{number * 7919 % 1000:04}" for number in range(0, 2000, 2)}))
    named = "[k#1L, v#2] PaimonScan: [{}], DataFilters: [Equal(v, 0001)] RuntimeFilters: []"
    asked = "(isnotnull(v#2) AND (v#2 = {}))"
    log = tmp_path / "log"
    log.write_text(
        event(asked.format("0001"), "BatchScan paimon.db.t" + named.format("db.t"))
        + event(asked.format("0003"), "BatchScan t" + named.format("t"))
        + event(asked.format("0005"), "BatchScan paimon.db.other" + named.format("db.other"))
        + event(asked.format("0007"), "BatchScan paimon.other.t" + named.format("t"))
    )
    found = logged_filters(table, str(log), 100)
    assert found.filters == ("`v` = '0001'", "`v` = '0003'")
    (advice,) = [each for each in advise(table, event_logs=str(log)).advice if each.about == "indexes"]
    assert advice.to_do.startswith("ALTER TABLE db.t SET ('file-index.")


def test_logs_in_a_folder_are_read_whether_compressed_rolled_or_unfinished(tmp_path: Path, table: CatalogTable) -> None:
    rolled = tmp_path / "logs" / "eventlog_v2_app"
    rolled.mkdir(parents=True)
    (rolled / "appstatus_app.inprogress").write_text("no event")
    lines = LOG.read_bytes().splitlines(keepends=True)
    (rolled / "events_1_app").write_bytes(b"".join(lines[:4]) + lines[4][:900])
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(LOG.read_bytes())
    whole = packed.getvalue().to_pybytes()
    (tmp_path / "logs" / "app.zstd").write_bytes(whole)
    (tmp_path / "logs" / "app-2.zstd.inprogress").write_bytes(whole[:-9])
    found = logged_filters(table, str(tmp_path / "logs"), 1)
    assert found.filters == (ASKED[0],)
    assert found.queries >= 2 + 4


def test_lz4_as_spark_frames_it_is_read(tmp_path: Path, table: CatalogTable) -> None:
    codec = pa.Codec("lz4_raw")
    with (tmp_path / "app.lz4").open("wb") as file:
        data = LOG.read_bytes()
        for start in range(0, len(data), 4096):
            plain = data[start : start + 4096]
            packed = codec.compress(plain, asbytes=True) if start else plain
            lengths = len(packed).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
            file.write(b"LZ4Block" + (b"\x25" if start else b"\x15") + lengths + b"\0" * 4 + packed)
    assert logged_filters(table, str(tmp_path / "app.lz4"), 100).filters == ASKED


def test_what_cannot_be_read_is_named(tmp_path: Path, table: CatalogTable) -> None:
    with pytest.raises(OptionError, match="there is no event log"):
        logged_filters(table, str(tmp_path / "nothing"), 1)
    (tmp_path / "app.snappy").write_bytes(b"x")
    with pytest.raises(UnsupportedError, match="snappy"):
        logged_filters(table, str(tmp_path / "app.snappy"), 1)


def test_many_queries_and_long_lines_take_bounded_memory(
    tmp_path: Path, table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_event_logs, "_MOST_FILTERS", 2)
    monkeypatch.setattr(spark_event_logs, "_LONGEST_LINE", 4000)
    log = tmp_path / "log"
    log.write_bytes(b"x" * 9_000 + b"\n" + LOG.read_bytes() * 2)
    assert logged_filters(table, str(log), 100).filters == ASKED[:2]


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("(upper(v#2) = X)", None),
        ("((upper(v#2) = X) AND (k#1L = 7))", "`k` = 7"),
        ("((upper(v#2) = X) OR (k#1L = 7))", None),
        ("NOT ((upper(v#2) = X) AND (k#1L = 7))", None),
        ("(v#2 LIKE a%b AND (k#1L = 7))", "`k` = 7"),
        ("((k#1L = 7) AND ((k#1L = 8) OR isnull(v#2)))", "`k` = 7 AND (`k` = 8 OR `v` IS NULL)"),
        ("(isnotnull(k#1L) AND dynamicpruningexpression(k#1L IN subquery#9))", None),
        ("(v#2 = x) AND y)", "`v` = 'x) AND y'"),
        ("k#1L INSET 1, 2, 3", "`k` IN (1, 2, 3)"),
        ("k#1L INSET 1, 2, ... 30 more fields", None),
        ("(k#1L = null)", None),
        ("(other#9 = 1)", None),
        ("(", None),
    ],
)
def test_parts_that_are_no_conditions_are_left_out_where_that_is_weaker(
    printed: str, said: str | None, fields: tuple[DataField, ...]
) -> None:
    assert condition(printed, fields) == said


@given(st.lists(st.tuples(st.integers(), st.text("a()' \\", max_size=6)), min_size=1, max_size=4))
def test_texts_with_brackets_and_quotes_are_read_as_they_were(
    fields: tuple[DataField, ...], asked: list[tuple[int, str]]
) -> None:
    parts = [part for number, text in asked for part in (f"(k#1L > {number})", f"(v#2 = {text})")]
    printed = parts[0]
    for part in parts[1:]:
        printed = f"({printed} AND {part})"
    read = condition(printed, fields)
    assert read is not None
    assert all(f"`k` > {number}" in read for number, _ in asked)
