"""Data files of every format and codec, of several formats in one table, and without key columns: both sides agree."""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from maintenance.operations.compaction.compact import compact
from maintenance.types.data_type import DataType, parse_type
from maintenance.types.values import Value, values_of_arrow
from tests.data_files import holds_everywhere
from tests.examples import examples
from tests.golden.case import extract
from tests.java import test_nested_tables as nested_tables
from tests.java.oracle import Condition
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches
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
from tests.java.test_filters import assert_finds_all, assert_java_finds, in_one_manifest, questions_of
from tests.nested_values import nested_values
from tests.strategies import nested_types
from tests.tables import get_table, live_files

TIMES: Values = {"TIME(0)": (0, 86_399_000), "TIME(3)": (1, 86_399_999)}
_YEAR_1700 = -98_615 * 86_400 * 10**9


def only(keep: Callable[[int], bool]) -> Values:
    """All values, of timestamps those to keep.

    Far years in nanoseconds become stripes of their own, and in short stripes Java takes zeros of both signs for one.
    """
    return {
        text: tuple(v for v in values if not _is_moment(text) or _is_kept(text, v, keep))
        for text, values in EVERY.items()
    }


def _is_moment(text: str) -> bool:
    return text.startswith("TIMESTAMP")


def _is_kept(text: str, value: Value, keep: Callable[[int], bool]) -> bool:
    nanos = int(value or 0)
    return keep(nanos) and (not text.startswith("TIMESTAMP(9)") or -(2**63) <= nanos < 2**63)


EVERY: Values = {**VALUES, **TIMES}
IN_AVRO: Values = {text: values for text, values in EVERY.items() if not text.startswith("TIMESTAMP(9)")}
IN_ORC = only(lambda nanos: nanos >= 0 or nanos % 10**6 == 0 or nanos <= -(10**9))
# The last second before 1970 has no form in ORC with parts of milliseconds that Java reads.
# Java writes the years before 1582 to ORC by another calendar than it reads them, and the last second before 1970 as
# the first one after it.
BY_JAVA_IN_ORC = only(lambda nanos: nanos >= 0 or _YEAR_1700 < nanos <= -(10**9))
IN_BOTH: Values = {text: BY_JAVA_IN_ORC[text] for text in IN_AVRO}
LEVELS = {
    "file.format.per.level": "0:avro,5:orc",
    "file.compression.per.level": "0:deflate,5:lz4",
    "metadata.stats-mode.per.level": "0:none,5:full",
}
CASES = {
    "orc": ({"file.format": "orc"}, IN_ORC, BY_JAVA_IN_ORC),
    "orc zlib, thin": (
        {"file.format": "orc", "file.compression": "zlib", "data-file.thin-mode": "true"},
        IN_ORC,
        BY_JAVA_IN_ORC,
    ),
    "avro": ({"file.format": "avro"}, IN_AVRO, IN_AVRO),
    "thin parquet with suffix": (
        {"data-file.thin-mode": "true", "file.suffix.include.compression": "true"},
        EVERY,
        EVERY,
    ),
    "levels": (LEVELS, IN_BOTH, IN_BOTH),
}


def with_options(name: str, case: str) -> Sample:
    return replace(SAMPLES[name], options={**SAMPLES[name].options, **CASES[case][0]})


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["keyed", "append"])
def test_java_reads_what_we_write_and_compact(java: JavaProcess, tmp_path: Path, name: str, case: str) -> None:
    sample, columns = with_options(name, case), columns_of(CASES[case][1])
    sample.create(str(tmp_path), columns)
    replay = Replay(java, str(tmp_path), sample, columns)
    for batch in batches(sample, CASES[case][1])[:3]:
        replay.we_write(batch)
    replay.check()
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()


def test_orc_files_with_times_of_far_years(java: JavaProcess, tmp_path: Path) -> None:
    nanos = (1_709_164_800_123_456_789, -62_135_596_799_999_999_000, 253_402_300_799_123_456_000)
    values: Values = {"TIMESTAMP(9)": nanos, "TIMESTAMP(9) WITH LOCAL TIME ZONE": nanos[1:]}
    sample = with_options("keyed", "orc")
    sample.create(str(tmp_path), columns_of(values))
    replay = Replay(java, str(tmp_path), sample, columns_of(values))
    for batch in batches(sample, values)[:2]:
        replay.we_write(batch)
    replay.check()
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()


@pytest.mark.parametrize("case", CASES)
def test_both_write_and_compact_every_format_by_turns(java: JavaProcess, tmp_path: Path, case: str) -> None:
    sample, values = with_options("keyed", case), CASES[case][2]
    replay = Replay(java, str(tmp_path), sample, columns_of(values))
    keys = (sample.primary_keys, sample.partition_keys)
    java.create_table(replay.warehouse, "db.t", columns_of(values), keys, sample.options)
    first, second, third, fourth, _ = batches(sample, values)
    replay.java_writes(first)
    replay.we_write(second)
    replay.check()
    java.compact(replay.warehouse, "db.t")
    replay.check()
    replay.java_writes(third)
    replay.we_write(fourth)
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()


def test_files_have_the_format_of_their_level(java: JavaProcess, tmp_path: Path) -> None:
    sample, columns = with_options("keyed", "levels"), columns_of(IN_BOTH)
    sample.create(str(tmp_path), columns)
    table = table_of(str(tmp_path))
    table.write_arrow(arrow_of(rows_of(range(9), 0, IN_BOTH), columns))
    assert {file.file_name.rsplit(".", 1)[1] for file in live_files(table)} == {"avro"}
    assert {file.value_stats_cols for file in live_files(table)} == {()}
    table.write_arrow(arrow_of(rows_of(range(3, 12), 1, IN_BOTH), columns))
    compact(None, table_of(str(tmp_path)), full=True)
    assert {(file.level, file.file_name.rsplit(".", 1)[1]) for file in live_files(table)} == {(5, "orc")}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["orc", "avro"])
def test_filters_find_the_same_rows(java: JavaProcess, tmp_path: Path, case: str) -> None:
    """In files of neighbouring values, of either side, and in one file of all of them, which has an index inside."""
    options, ours, theirs = CASES[case]
    sample = Sample((), (), {"bucket": "-1", "write-only": "true", **options})
    for side, values in (("ours", ours), ("theirs", theirs)):
        warehouse, columns = str(tmp_path / side), columns_of(values)
        sample.create(warehouse, columns)
        for start in range(8):
            rows = rows_of(range(start, start + 2), 0, values)
            if side == "ours":
                table_of(warehouse).write_arrow(arrow_of(rows, columns))
            else:
                java.write(warehouse, "db.t", rows)
        in_one_manifest(warehouse)
        asked = [question for i, text in enumerate(values) for question in questions_of(f"f{i}", values[text])]
        conditions: list[Condition] = [condition for condition, _ in asked]
        if side == "ours":
            assert_java_finds(java, warehouse, conditions)
        assert_finds_all(warehouse, [predicate for _, predicate in asked])
        if side == "ours":
            assert compact(None, table_of(warehouse), full=True).snapshot_ids
            assert_java_finds(java, warehouse, conditions)


def orc_holds(data_type: DataType) -> bool:
    """Single timestamps, and CHAR with its blanks, are tested above; Java's ORC takes no backquote in names."""
    names = (field.name for field in data_type.fields)
    return not data_type.is_timestamp and data_type.root != "CHAR" and not any("`" in name for name in names)


def avro_holds(data_type: DataType) -> bool:
    names = (field.name for field in data_type.fields)
    fraction = 3 if data_type.root == "TIME" else 6 if data_type.is_timestamp else 38
    counts_texts = data_type.root != "MULTISET" or (data_type.element is not None and data_type.element.is_string)
    named = all(name.isascii() and name.isidentifier() for name in names)
    return counts_texts and named and (data_type.precision or 0) <= fraction


HOLDS = {"orc": holds_everywhere(orc_holds), "avro": holds_everywhere(avro_holds)}


@pytest.mark.slow
@pytest.mark.parametrize("file_format", HOLDS)
@settings(max_examples=examples(10), phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.data())
def test_nested_columns_in_both_directions(java: JavaProcess, file_format: str, data: st.DataObject) -> None:
    types = nested_types().filter(HOLDS[file_format])
    columns = [("id", parse_type("INT NOT NULL")), *((f"f{i}", data.draw(types)) for i in range(3))]
    rows = [(n, *(data.draw(nested_values(t)) for _, t in columns[1:])) for n in range(4)]
    options = {"bucket": "1", "file.format": file_format}
    with tempfile.TemporaryDirectory() as warehouse:
        java.create_table(warehouse, "db.t", [(n, str(t)) for n, t in columns], (["id"], []), options)
        java.write(warehouse, "db.t", rows[:2])
        table_of(warehouse).write_arrow(nested_tables.arrow_of(rows[2:], columns))
        wanted = nested_tables.expected(rows, columns)
        assert nested_tables.expected(java.rows(warehouse, "db.t"), columns) == wanted
        assert nested_tables.found(table_of(warehouse).to_arrow(), columns) == wanted
        assert compact(None, table_of(warehouse), full=True).snapshot_ids
        assert nested_tables.expected(java.rows(warehouse, "db.t"), columns) == wanted


@pytest.fixture(scope="module")
def java_in() -> Iterator[Callable[[str], JavaProcess]]:
    """Starts the Java core on a machine in another time zone."""
    started: dict[str, JavaProcess] = {}

    def start(zone: str) -> JavaProcess:
        if zone not in started:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.timezone={zone}")
                started[zone] = JavaProcess()
                started[zone].rows  # noqa: B018
        return started[zone]

    yield start
    for process in started.values():
        process.close()


@pytest.mark.slow
@pytest.mark.parametrize("legacy", ["true", "false"])
@pytest.mark.usefixtures("java")
def test_orc_timestamps_of_a_writer_in_another_time_zone(
    java_in: Callable[[str], JavaProcess], tmp_path: Path, legacy: str
) -> None:
    """The clock of the writer is undone, also in summers of its history and for years beyond nanoseconds."""
    values = {text: tuple(v for v in BY_JAVA_IN_ORC[text] if v is not None) for text in EVERY if "TIMESTAMP" in text}
    columns = columns_of(values)
    options = {"bucket": "-1", "file.format": "orc", "orc.timestamp-ltz.legacy.type": legacy}
    warehouse = str(tmp_path)
    java = java_in("Asia/Shanghai")
    java.create_table(warehouse, "db.t", columns, ((), ()), options)
    rows = rows_of(range(12), 0, values)
    java.write(warehouse, "db.t", rows)
    assert sorted(rows_in(table_of(warehouse).to_arrow()), key=itemgetter(1)) == rows


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_orc_timestamps_around_1970_of_a_writer_in_another_time_zone(
    java: JavaProcess, java_in: Callable[[str], JavaProcess], tmp_path: Path, zone: str
) -> None:
    """Writers cut their seconds off towards 1970 by their own clock."""
    columns = [("id", "INT"), ("t3", "TIMESTAMP(3)"), ("t6", "TIMESTAMP(6)"), ("t9", "TIMESTAMP(9)")]
    columns += [("r", "ROW<t TIMESTAMP(3)>")]
    millis = [1000 * second + part for second in range(-100_000, 100_001, 4_000) for part in (0, 1, 999)]
    rows = [(n, m * 10**6, m * 10**6 + 1000, m * 10**6 + 1001, (m * 10**6,)) for n, m in enumerate(millis)]
    writer = java_in(zone)
    writer.create_table(str(tmp_path), "db.t", columns, ((), ()), {"bucket": "-1", "file.format": "orc"})
    writer.write(str(tmp_path), "db.t", rows)
    assert sorted(java.rows(str(tmp_path), "db.t")) == rows
    ours = table_of(str(tmp_path)).to_arrow().sort_by("id")
    for number, name in enumerate(("t3", "t6", "t9"), start=1):
        assert values_of_arrow(ours.column(name)) == [row[number] for row in rows]
    assert values_of_arrow(pc.struct_field(ours.column("r"), "t")) == [row[1] for row in rows]


@pytest.mark.parametrize("name", ["v1_pk", "v1_app", "v1_explicit", "none_pk", "v2_pk"])
def test_tables_of_old_versions_are_written_on(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """Their files stay ORC and their bucket one, whatever is the default today."""
    warehouse = str(extract("schema_old_versions", tmp_path))
    table = get_table(warehouse, f"db.{name}")
    before = table.to_arrow()
    new = {part.name: pa.array([10_000 if part.type == pa.int32() else "new"], part.type) for part in before.schema}
    table.write_arrow(pa.table(new))
    compact(None, table, full=True)
    table = get_table(warehouse, f"db.{name}")
    assert {file.file_name.rsplit(".", 1)[1] for file in live_files(table)} == {table.options["file.format"]}
    actual = comparable(rows_in(table.to_arrow()))
    assert len(actual) == before.num_rows + 1
    assert comparable(java.rows(warehouse, f"db.{name}")) == actual


@pytest.mark.parametrize("options", [{}, {"orc.stripe.size": "100000"}, {"orc.bloom.filter.columns": "id,s"}])
def test_java_finds_rows_by_the_index_inside_a_large_orc_file(
    java: JavaProcess, tmp_path: Path, options: dict[str, str]
) -> None:
    columns = (("id", "BIGINT NOT NULL"), ("s", "STRING"), ("d", "DOUBLE"))
    sample = Sample((), (), {"bucket": "-1", "write-only": "true", "file.format": "orc", **options})
    sample.create(str(tmp_path), columns)
    numbers = pa.array(range(45_000), pa.int64())
    texts = pa.array([f"text {i // 7:06d}" for i in range(45_000)])
    table_of(str(tmp_path)).write_arrow(pa.table({"id": numbers, "s": texts, "d": numbers.cast(pa.float64())}))
    conditions: list[Condition] = [
        ("equal", "id", 31_234),
        ("greaterOrEqual", "id", 44_990),
        ("equal", "s", "text 004000"),
        ("lessThan", "s", "text 000002"),
        ("equal", "d", 12_345.0),
        ("in_", "id", [1, 20_000, 44_999]),
    ]
    assert [len(actual) for actual in java.pushed(str(tmp_path), "db.t", "id", conditions)] == [1, 10, 7, 14, 1, 3]


@pytest.mark.parametrize("buckets", ["1", "-1"])
@pytest.mark.parametrize("manifests", [{"manifest.format": "orc"}, {"manifest.format": "parquet"}])
def test_manifests_in_other_formats(java: JavaProcess, tmp_path: Path, manifests: dict[str, str], buckets: str) -> None:
    """Lists and manifests of both sides; with dynamic buckets, which Java's test API cannot write, index manifests."""
    sample = replace(SAMPLES["keyed and partitioned"], options={"bucket": buckets, "write-only": "true", **manifests})
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    first, second, third, fourth, _ = batches(sample)
    replay.we_write(first)
    replay.check()
    theirs = replay.java_writes if buckets == "1" else replay.we_write
    theirs(second)
    replay.check()
    assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
    replay.check()
    replay.we_write(third)
    java.compact(replay.warehouse, "db.t")
    theirs(fourth)
    replay.check()
    magic = {"orc": b"ORC", "parquet": b"PAR1"}[manifests["manifest.format"]]
    files = list((Path(table_of(replay.warehouse).location) / "manifest").iterdir())
    assert any(file.name.startswith("index-") for file in files) == (buckets == "-1")
    assert all(file.read_bytes().startswith(magic) for file in files)
