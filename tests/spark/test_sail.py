"""What Sail does otherwise than Spark: it works, or is refused by one sentence; the values are its own."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance import connector
from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import OptionError, PredicateError, SqlError, UnsupportedError
from maintenance.format.variant.extension import as_stored
from maintenance.operations import merge_into
from maintenance.operations.ingestion.ingest_stream import ingest_stream
from maintenance.operations.ingestion.stream_sink import Sink
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.update import update
from maintenance.spark import sail_process
from maintenance.spark.engine import Engine
from maintenance.spark.opened import open_session
from maintenance.spark.read import as_spark_takes
from maintenance.spark.tasks import run_tasks
from maintenance.spark.variants import collected
from maintenance.sql import Session
from tests.golden.case import extract, golden_reads
from tests.tables import create_table, keyed, state

pytestmark = pytest.mark.usefixtures("no_session")
SAIL = Engine.parse("sail", "test")


@pytest.fixture
def session() -> Any:
    return open_session(SAIL)


def write_for_long(folder: str) -> None:
    name = threading.get_ident()
    for number in range(600):
        (Path(folder) / f"{name}-{number}").touch()
        time.sleep(0.1)


@pytest.mark.slow
def test_no_task_writes_once_its_caller_was_interrupted(session: Any, tmp_path: Path) -> None:
    def interrupt_when_both_are_at_work() -> None:
        while len({path.name.partition("-")[0] for path in tmp_path.iterdir()}) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt_when_both_are_at_work)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(session, write_for_long, [str(tmp_path)] * 2)
    thread.join()
    written = len(list(tmp_path.iterdir()))
    time.sleep(0.3)
    assert len(list(tmp_path.iterdir())) == written
    # The server has ended with it; the next one starts when it is needed.
    assert run_tasks(open_session(SAIL), str, [7]) == ["7"]


def test_the_data_source_reads_what_the_table_reads(session: Any, tmp_path: Path) -> None:
    connector.register(session)
    table = create_table(tmp_path, [("id", "INT NOT NULL"), ("v", "ARRAY<STRING>"), ("m", "MAP<STRING, ROW<x INT>>")])
    table.write_arrow(
        pa.Table.from_pylist(
            [{"id": n, "v": ["a", None], "m": [("k", {"x": n})]} for n in range(9)], table.to_arrow().schema
        )
    )
    frame = session.read.format("paimon").load(table.location)
    assert frame.where("id > 6").orderBy("id").toArrow().to_pylist() == table.to_arrow(where="id > 6").to_pylist()


def test_a_time_in_the_data_source_is_refused_by_name(session: Any, tmp_path: Path) -> None:
    connector.register(session)
    table = create_table(tmp_path, [("id", "INT NOT NULL"), ("at", "ARRAY<TIME(3)>")], ())
    with pytest.raises(Exception, match=r"column at: ARRAY<TIME\(3\)> in the format 'paimon' on Sail"):
        session.read.format("paimon").load(table.location).collect()
    assert table.to_spark(session).toArrow().num_rows == 0


def test_streams_are_refused_in_one_sentence(session: Any, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    with pytest.raises(UnsupportedError, match=r"^a stream on Sail, .* Use the engine 'spark', or"):
        ingest_stream(session, session.range(1), lambda: table, Sink(f"{tmp_path}/checkpoint"))
    connector.register(session)
    rows = session.readStream.format("paimon").load(table.location)
    sink = rows.writeStream.format("paimon").option("checkpointLocation", f"{tmp_path}/ck").trigger(availableNow=True)
    copy = create_table(tmp_path, name="db.copy")
    with pytest.raises(Exception, match="a stream on Sail"):
        sink.start(copy.location)
    assert copy.snapshots.latest_id() is None
    sql = Session({"warehouse": str(tmp_path)}, session)
    sql.sql("CREATE TABLE copy (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql.sql("SET 'execution.runtime-mode' = 'streaming'")
    sql.sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}/checkpoint'")
    with pytest.raises(SqlError, match=r"Structured Streaming, .* Run it with the engine 'spark'"):
        sql.sql(f"INSERT INTO copy SELECT * FROM {table.identifier}")


def filled(folder: Path) -> CatalogTable:
    table = create_table(folder)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    return table


def test_operations_evaluate_in_this_process_what_they_write_or_refuse_it(session: Any, tmp_path: Path) -> None:
    table = filled(tmp_path)
    update(session, table, {"v": "'c'"}, "id = 2")
    assert state(table) == {1: "a", 2: "c"}
    with pytest.raises(PredicateError, match=r"On Sail this process evaluates what is written: use SQL, or the engine"):
        update(session, table, {"v": "concat(v, 'x')"})
    source = session.createDataFrame(keyed({2: "d", 3: "e"}))
    clauses = [Clause("matched", "update", {"v": "s.v"}), Clause("not_matched", "insert", {"id": "s.id", "v": "s.v"})]
    merge_into(session, table, source, "t.id = s.id", clauses)
    assert state(table) == {1: "a", 2: "d", 3: "e"}
    with pytest.raises(PredicateError, match=r"On Sail this process evaluates"):
        merge_into(session, table, source, "t.id = s.id + 1", clauses)


def test_what_is_left_out_of_a_star_is_left_out_by_the_engine(session: Any, tmp_path: Path) -> None:
    filled(tmp_path)
    sql = Session({"warehouse": str(tmp_path)}, session)
    assert sql.sql("SELECT * EXCEPT (id) FROM db.t").to_arrow().to_pylist() == [{"v": "a"}, {"v": "b"}]
    with pytest.raises(SqlError, match=r"Sail does not read '\* EXCEPT' beside other columns"):
        sql.sql("SELECT * EXCEPT (id), 1 AS one FROM db.t")


def test_a_pyspark_that_sail_does_not_know_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "4.4.1")
    with pytest.raises(
        OptionError, match=r"^Sail does not work with PySpark 4\.4\.1 .* Install PySpark 4\.0, 4\.1, 4\.2, 4\.3"
    ):
        sail_process.check_versions()
    monkeypatch.setattr(sail_process, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match="Install the extra 'sail'"):
        sail_process.check_versions()


def test_a_function_of_pandas_is_refused_in_one_sentence(session: Any) -> None:
    def same(frames: Iterator[Any]) -> Iterator[Any]:
        yield from frames

    with pytest.raises(Exception, match=r"a function of pandas on Sail beside PySpark 4\.3"):
        session.range(3).mapInPandas(same, "id long").collect()


@pytest.mark.parametrize("case", sorted({read.case for read in golden_reads()}))
def test_tables_that_paimon_wrote_are_read_as_in_this_process(session: Any, tmp_path: Path, case: str) -> None:
    """Each of a case that can be read on Spark at all."""
    catalog = open_catalog({"warehouse": str(extract(case, tmp_path))})
    names = {read.how["table"] for read in golden_reads() if read.case == case and "$" not in read.how["table"]}
    for name in sorted(names):
        table = catalog.get_table(name)
        try:
            frame = table.to_spark(session)
        except UnsupportedError:
            continue
        assert rows_of(as_stored(collected(frame))) == rows_of(as_spark_takes(as_stored(table.to_arrow()))), name


def rows_of(rows: pa.Table) -> list[str]:
    """What is in them. Python has no dates before the year 1, and a map has no order."""
    for number, part in enumerate(rows.schema):
        if pa.types.is_temporal(part.type):
            whole = pa.int64() if part.type.bit_width == 64 else pa.int32()
            rows = rows.set_column(number, part.name, rows.column(number).combine_chunks().view(whole))
    return sorted(repr([_without_order(value) for value in row.values()]) for row in rows.to_pylist())


def _without_order(value: object) -> object:
    return sorted(value, key=repr) if isinstance(value, list) and value and isinstance(value[0], tuple) else value


ROW = (
    "SELECT CAST(0.1 AS FLOAT) AS f, CAST(7 AS DECIMAL(10, 2)) AS n, 7 AS i, '5' AS s, "
    "TIMESTAMP '2024-03-02 07:30:00' AS t"
)
# What Sail and Spark make of an expression, in Shanghai: the type in Arrow and the value; None: an error.
DIFFERENCES: dict[str, tuple[tuple[str, str] | None, tuple[str, str] | None]] = {
    "n / i": (("decimal128(14, 6)", "1.000000"), ("decimal128(21, 13)", "1.0000000000000")),
    "3.0 / 7": (("decimal128(6, 5)", "0.42857"), ("decimal128(7, 6)", "0.428571")),
    "n % 3": (("decimal128(10, 2)", "1.00"), ("decimal128(3, 2)", "1.00")),
    "CASE WHEN i > 1 THEN n ELSE i END": (("decimal128(10, 2)", "7.00"), ("decimal128(12, 2)", "7.00")),
    "f + i": (("float", "7.099999904632568"), ("double", "7.100000001490116")),
    "f + n": (("float", "7.099999904632568"), ("double", "7.100000001490116")),
    "CAST(t AS TIMESTAMP_NTZ)": (("timestamp[us]", "2024-03-01 23:30:00"), ("timestamp[us]", "2024-03-02 07:30:00")),
    "2147483647 + 1": (("int32", "-2147483648"), None),
    "s + 1": (None, ("int64", "6")),
    "bround(2.5)": (("double", "3.0"), ("decimal128(2, 0)", "2")),
    "array_contains(array(1, NULL), 2)": (("bool", "False"), ("bool", "None")),
    "CAST(CAST('Infinity' AS DOUBLE) AS STRING)": (("string", "inf"), ("string", "Infinity")),
    "CAST(1E20 AS STRING)": (("string", "1e20"), ("string", "1.0E20")),
    "datediff(DATE '2024-02-01', DATE '2024-01-01')": (("int64", "31"), ("int32", "31")),
}


@pytest.mark.parametrize("engine", ["sail", pytest.param("spark", marks=pytest.mark.slow)])
def test_values_are_those_of_the_engine(engine: str, tmp_path: Path) -> None:
    sql = Session({"warehouse": str(tmp_path)}, engine=engine)
    sql.sql("SET spark.sql.session.timeZone = Asia/Shanghai")
    found: dict[str, tuple[str, str] | None] = {}
    for expression in DIFFERENCES:
        try:
            column = sql.sql(f"SELECT {expression} AS x FROM ({ROW})").to_arrow().column("x")
            found[expression] = (str(column.type), str(column[0].as_py()))
        except SqlError:
            found[expression] = None
    assert found == {expression: pair[engine == "spark"] for expression, pair in DIFFERENCES.items()}
