"""PARTITION (…) in statements: NULL is null, a printed name is taken back, and a quote is part of a value."""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest

from maintenance.catalog import Schema
from maintenance.errors import DataError, NotFoundError, PaimonError, SqlError
from maintenance.sql import Session
from maintenance.sql.plans import keep_plan

NULL_NAME = "__DEFAULT_PARTITION__"
DIALECTS = ("spark", "flink")


@pytest.fixture(params=DIALECTS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    return Session({"warehouse": str(tmp_path)}, dialect=request.param)


@pytest.fixture
def new_york() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    yield
    del os.environ["TZ"]
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def rows(session: Session, table: str = "t") -> list[tuple[object, ...]]:
    found = session.sql(f"SELECT * FROM {table} ORDER BY id").to_arrow()
    return list(zip(*found.to_pydict().values(), strict=True))


def ids(session: Session, table: str = "t") -> list[int]:
    found: list[int] = session.sql(f"SELECT id FROM {table} ORDER BY id").to_arrow()["id"].to_pylist()
    return found


def shown(session: Session, table: str = "t") -> list[str]:
    names: list[str] = session.sql(f"SHOW PARTITIONS {table}").to_arrow().column(0).to_pylist()
    return names


@pytest.mark.parametrize("kind", ["STRING", "INT", "DATE", "DECIMAL(5, 2)", "TIMESTAMP(3)", "BOOLEAN"])
def test_null_names_the_null_partition_of_any_type(session: Session, kind: str) -> None:
    session.sql(f"CREATE TABLE t (id INT, p {kind}, q STRING) PARTITIONED BY (p, q)")
    session.sql("INSERT INTO t PARTITION (p = NULL, q = 'a') SELECT 1")
    session.sql("INSERT INTO t PARTITION (p = null, q = NULL) SELECT 2")
    assert rows(session) == [(1, None, "a"), (2, None, None)]
    session.sql("INSERT OVERWRITE t PARTITION (p = NULL, q = 'a') SELECT 3")
    assert ids(session) == [2, 3]
    session.sql("TRUNCATE TABLE t PARTITION (q = NULL)")
    assert ids(session) == [3]
    session.sql("ALTER TABLE t DROP PARTITION (p = NULL)")
    assert ids(session) == []
    with pytest.raises(NotFoundError, match=f"partition p={NULL_NAME}/q=a does not exist"):
        session.sql("ALTER TABLE t DROP PARTITION (p = NULL, q = 'a')")


def test_spark_prints_the_values_of_partitions(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("SET spark.sql.session.timeZone = Asia/Shanghai")
    session.sql("CREATE TABLE t (id INT, d DATE, n TIMESTAMP_NTZ, z TIMESTAMP, p STRING) PARTITIONED BY (d, n, z, p)")
    session.sql(
        "INSERT INTO t VALUES (1, DATE '2024-01-02', TIMESTAMP_NTZ '2024-01-02 03:04:05.120',"
        " TIMESTAMP '2024-01-02 10:00:00', '{a/b}')"
    )
    session.sql("INSERT INTO t VALUES (2, NULL, NULL, NULL, NULL)")
    name = "d=2024-01-02/n=2024-01-02 03:04:05.12/z=2024-01-02 10:00:00/p=%7Ba%2Fb}"
    assert shown(session) == [name, "d=null/n=null/z=null/p=null"]
    told = session.sql(
        "SHOW TABLE EXTENDED LIKE 't' PARTITION (d = '2024-01-02', n = TIMESTAMP '2024-01-02 03:04:05.120',"
        " z = TIMESTAMP '2024-01-02 10:00:00', p = '{a/b}')"
    )
    facts = dict(line.split(": ", 1) for line in told.to_arrow()["information"][0].as_py().splitlines())
    assert facts["Partition Values"] == f"[{name.replace('/', ', ')}]"
    assert facts["Partition Statistics"].startswith("1 rows, ")


def test_null_beside_its_name(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql(f"INSERT INTO t VALUES (1, NULL), (2, ''), (3, ' '), (4, '{NULL_NAME}'), (5, 'NULL')")
    of_flink = ["p=' '", "p=''", f"p='{NULL_NAME}'", "p=NULL", f"p={NULL_NAME}"]
    # Spark prints the values, not Paimon's folders.
    of_spark = ["p=", "p= ", "p=NULL", f"p={NULL_NAME}", "p=null"]
    assert shown(session) == (of_spark if session.dialect == "spark" else of_flink)
    for statement in (
        "ALTER TABLE t DROP PARTITION (p = '{}')",
        "TRUNCATE TABLE t PARTITION (p = '{}')",
        "INSERT OVERWRITE t PARTITION (p = '{}') SELECT 9",
    ):
        with pytest.raises(
            DataError, match="may mean several partitions: p IS NULL or p = '' or p = ' ' or p = '''__DEF"
        ):
            session.sql(statement.format(NULL_NAME))
    assert ids(session) == [1, 2, 3, 4, 5]
    session.sql("ALTER TABLE t DROP PARTITION (p = '')")
    session.sql("TRUNCATE TABLE t PARTITION (p = ' ')")
    session.sql("INSERT OVERWRITE t PARTITION (p = NULL) SELECT 6")
    assert rows(session) == [(4, NULL_NAME), (5, "NULL"), (6, None)]
    session.sql("TRUNCATE TABLE t PARTITION (p = NULL)")
    assert shown(session) == ["p=NULL", f"p={NULL_NAME}"]
    session.sql(f"ALTER TABLE t DROP PARTITION (p = '{NULL_NAME}'), PARTITION (p = 'NULL')")
    assert ids(session) == []


def test_a_literal_that_is_inserted_is_itself(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t PARTITION (p = NULL) SELECT 1")
    session.sql(f"INSERT INTO t PARTITION (p = '{NULL_NAME}') SELECT 2")
    session.sql("INSERT INTO t PARTITION (p = '') SELECT 3")
    assert rows(session) == [(1, None), (2, NULL_NAME), (3, "")]
    session.sql("CREATE TABLE n (id INT, p INT) PARTITIONED BY (p)")
    session.sql(f"INSERT INTO n PARTITION (p = '{NULL_NAME}') SELECT 1")
    assert rows(session, "n") == [(1, None)]


@pytest.mark.parametrize(
    ("written", "text"),
    [("05", "5"), ("'05'", "05"), ("-03", "-3"), ("-0", "0"), ("01.50", "1.50"), ("1e3", "1000.0"), ("1_0", "1_0")],
)
def test_a_number_without_quotes_names_the_text_of_the_number(session: Session, written: str, text: str) -> None:
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, '05')")
    session.sql(f"INSERT INTO t PARTITION (p = {written}) SELECT 2")
    assert rows(session) == [(1, "05"), (2, text)]
    session.sql(f"INSERT OVERWRITE t PARTITION (p = {written}) SELECT 3")
    assert (3, text) in rows(session)
    assert len(shown(session)) == (1 if text == "05" else 2)
    session.sql(f"ALTER TABLE t DROP PARTITION (p = {written})")
    assert rows(session) == ([] if text == "05" else [(1, "05")])


def test_a_letter_behind_a_number_is_not_of_its_text(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("CREATE TABLE t (id INT, p STRING, q INT) PARTITIONED BY (p, q)")
    session.sql("INSERT INTO t PARTITION (p = 1.5BD, q = 007L) SELECT 1")
    assert rows(session) == [(1, "1.5", 7)]


def test_a_kept_plan_tells_null_from_an_empty_text(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, NULL), (2, ''), (3, 'x')")
    session.apply(keep_plan(session, session.plan("TRUNCATE TABLE t PARTITION (p = NULL)")))
    assert ids(session) == [2, 3]
    plan = keep_plan(session, session.plan("ALTER TABLE t DROP PARTITION (p = '')"))
    session.sql("INSERT INTO t VALUES (4, NULL)")
    session.apply(plan)
    assert ids(session) == [3, 4]


def test_an_emptied_partition_that_is_not_there(session: Session) -> None:
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    assert session.sql("TRUNCATE TABLE t PARTITION (p = 'y')").nothing_to_do
    assert not session.sql("TRUNCATE TABLE t PARTITION (p = 'x')").nothing_to_do


@pytest.mark.parametrize("legacy", ["true", "false"])
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t DROP PARTITION (t = '{}')",
        "TRUNCATE TABLE t PARTITION (t = '{}')",
        "INSERT OVERWRITE t PARTITION (t = '{}') SELECT 99",
        "CALL sys.drop_partition('default.t', 't={}')",
    ],
)
@pytest.mark.usefixtures("new_york")
def test_a_printed_time_is_taken_back(tmp_path: Path, statement: str, legacy: str) -> None:
    hours = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(24)]
    session = Session({"warehouse": str(tmp_path)})
    options = {"partition.legacy-name": legacy}
    columns = [("id", "INT"), ("t", "TIMESTAMP(6) WITH LOCAL TIME ZONE")]
    session.current().create_table("default.t", Schema(fields=columns, partition_keys=["t"], options=options))
    table = session.current().get_table("default.t")
    table.write_arrow(
        pa.table({"id": pa.array(range(24), pa.int32()), "t": pa.array(hours, pa.timestamp("us", "UTC"))})
    )
    by_system = session.sql("SELECT `partition` FROM t$partitions").to_arrow().column(0).to_pylist()
    for name in (shown(session)[10], sorted(by_system)[5]):
        text = unquote(name.partition("=")[2])
        local = datetime.fromisoformat(text)
        moment = local.replace(tzinfo=UTC) if "T" in text else local.astimezone(UTC)
        before = set(ids(session))
        session.sql(statement.format(text))
        assert before - set(ids(session)) == {hours.index(moment)}


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("legacy", ["true", "false"])
def test_a_timestamp_is_one_of_the_sessions_clock(tmp_path: Path, legacy: str) -> None:
    session = Session({"warehouse": str(tmp_path)})
    options = f"TBLPROPERTIES ('partition.legacy-name' = '{legacy}')"
    session.sql(f"CREATE TABLE t (id INT, t TIMESTAMP) PARTITIONED BY (t) {options}")
    for hour in range(12):
        session.sql(f"INSERT INTO t PARTITION (t = '2024-01-01 {hour:02d}:00:00Z') SELECT {hour}")
    session.sql("ALTER TABLE t DROP PARTITION (t = TIMESTAMP '2024-01-01 04:00:00')")
    assert set(range(12)) - set(ids(session)) == {9}
    session.sql("SET spark.sql.session.timeZone = Asia/Shanghai")
    session.sql("TRUNCATE TABLE t PARTITION (t = TIMESTAMP '2024-01-01 10:00:00')")
    session.sql("INSERT INTO t PARTITION (t = TIMESTAMP '2024-01-01 18:00:00') SELECT 100")
    assert session.sql("SELECT id FROM t WHERE t = '2024-01-01 10:00:00Z'").to_arrow().num_rows == 2
    session.sql("SET spark.sql.session.timeZone = +05:30")
    session.sql("INSERT OVERWRITE t PARTITION (t = TIMESTAMP '2024-01-01 08:30:00') SELECT 30")
    assert ids(session) == [0, 1, 4, 5, 6, 7, 8, 10, 11, 30, 100]
    assert session.sql("SELECT sys.max_pt('t') AS m").to_arrow()["m"].to_pylist() == ["2024-01-01 16:30:00"]
    assert session.sql("SELECT id FROM t WHERE t = sys.max_pt('t')").to_arrow()["id"].to_pylist() == [11]


def test_max_pt_compares_partitions_by_value_not_by_text(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    for number, (kind, small, large, text) in enumerate(
        (
            ("INT", "9", "10", "10"),
            ("INT", "-20", "-3", "-3"),
            ("DOUBLE", "9.5", "10.25", "10.25"),
            ("DECIMAL(5, 2)", "9.50", "10.25", "10.25"),
            ("DATE", "DATE '1999-09-09'", "DATE '2024-01-01'", "2024-01-01"),
            ("STRING", "'9'", "'91'", "91"),
            ("STRING", "'zz'", "'é'", "é"),
            ("BOOLEAN", "false", "true", "true"),
            (
                "TIMESTAMP_NTZ",
                "TIMESTAMP_NTZ '1999-01-01 00:00:00'",
                "TIMESTAMP_NTZ '2024-01-01 10:00:00'",
                "2024-01-01",
            ),
        )
    ):
        name = f"t{number}"
        session.sql(f"CREATE TABLE {name} (id INT, p {kind}, q INT) PARTITIONED BY (p, q)")
        session.sql(f"INSERT INTO {name} VALUES (1, {small}, 9), (2, {large}, 1), (3, NULL, 3)")
        assert session.sql(f"SELECT sys.max_pt('{name}') AS m").to_arrow()["m"].to_pylist()[0].startswith(text)
        newest = session.sql(f"SELECT id FROM {name} WHERE p = sys.max_pt('{name}')").to_arrow()
        assert newest["id"].to_pylist() == [2]
    session.sql("CREATE TABLE empty (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO empty VALUES (1, NULL)")
    with pytest.raises(SqlError, match="has no partition"):
        session.sql("SELECT sys.max_pt('empty')")


QUOTED: Sequence[str] = ("O'Neil", "'quoted'", 'a "b" c', "a,b;c=d", "back\\slash", "x' OR '1'='1")


@pytest.mark.parametrize("value", QUOTED)
def test_a_quote_is_part_of_a_value(tmp_path: Path, value: str) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    options = "'file-index.bloom-filter.columns' = 'id', 'bucket' = '-1'"
    session.sql(f"CREATE TABLE t (id INT, `na``me'` STRING) PARTITIONED BY (`na``me'`) WITH ({options})")
    literal = value.replace("'", "''")
    for number in range(2):
        session.sql(f"INSERT INTO t VALUES ({number}, '{literal}'), ({number + 10}, 'other')")
    session.sql("ALTER TABLE t SET ('file-index.bloom-filter.columns' = 'na`me''')")
    spec = f"na`me'=''{literal.replace(chr(39), chr(39) * 2)}''".replace("na`me'", "na`me''")
    plan = session.plan(f"CALL sys.rewrite_file_index(`table` => 'default.t', partitions => '{spec}')")
    assert [group.name for group in plan.groups] == [f"na`me'={value} bucket 0"]
    session.apply(keep_plan(session, plan))
    assert not session.plan(f"CALL sys.rewrite_file_index(`table` => 'default.t', partitions => '{spec}')").groups
    session.sql(f"CALL sys.compact(`table` => 'default.t', partitions => '{spec}')")
    session.sql(f"INSERT OVERWRITE t PARTITION (`na``me'` = '{literal}') SELECT 5")
    assert ids(session) == [5, 10, 11]
    session.sql(f"CALL sys.drop_partition(`table` => 'default.t', partitions => '{spec}')")
    assert ids(session) == [10, 11]


def test_a_condition_with_a_quote(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) WITH ('bucket' = '-1')")
    for number in range(2):
        session.sql(f"INSERT INTO t VALUES ({number}, 'O''Neil'), ({number}, 'x')")
    before = session.current().get_table("default.t").snapshots.latest_id()
    session.sql("CALL sys.compact(`table` => 'default.t', `where` => 'p = ''O\\''Neil''')")
    assert session.current().get_table("default.t").snapshots.latest_id() == (before or 0) + 1


@pytest.mark.parametrize(
    ("partitions", "found"),
    [
        ("p=a,q=1;p=b,q=2", [3]),
        ("p=a;p=b", [3]),
        ("p='',q=1", [1, 2, 3]),
        ('p="a",q=1', [2, 3]),
        ("p IS NULL", [1, 2, 3]),
        ("p=a;p is null,q = 1", [2, 3]),
        ("p=a,", None),
        ("p", None),
    ],
)
def test_partitions_of_a_procedure(tmp_path: Path, partitions: str, found: list[int] | None) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE t (id INT, p STRING, q INT) PARTITIONED BY (p, q)")
    session.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, '', 1), (5, NULL, 1)")
    literal = partitions.replace("'", "\\'")
    statement = f"CALL sys.drop_partition('default.t', '{literal}')"
    if found is None:
        with pytest.raises(PaimonError, match="partitions are written as"):
            session.sql(statement)
        return
    session.sql(statement)
    assert [number for number in ids(session) if number < 4] == found
    assert (4 in ids(session), 5 in ids(session)) == (partitions != "p='',q=1", "null" not in partitions.lower())


def test_details_of_one_of_several(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)")
    session.sql("INSERT INTO t VALUES (1, NULL), (2, ''), (3, '')")
    for literal, count in (("NULL", 1), ("''", 2)):
        told = session.sql(f"DESCRIBE EXTENDED t PARTITION (p = {literal})").to_arrow().to_pylist()
        facts = {row["col_name"]: row["data_type"] for row in told}
        assert facts["Partition Statistics"].endswith(f"{count} rows")
        assert session.sql(f"SHOW PARTITIONS t PARTITION (p = {literal})").to_arrow().num_rows == 1
