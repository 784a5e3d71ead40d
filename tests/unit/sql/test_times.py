"""Times in SQL without Spark: all digits of a second, cut off and never rounded, and their texts in both dialects."""

from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from maintenance.catalog import UpdateColumnType
from maintenance.errors import SqlError
from maintenance.sql import Session
from tests.tables import create_table, get_table, open_warehouse

NANOS = 1_704_067_200_123_456_789  # 2024-01-01 00:00:00.123456789
FIELDS = (
    ("id", "INT"),
    ("a", "TIMESTAMP(9)"),
    ("z", "TIMESTAMP_LTZ(9)"),
    ("u", "TIMESTAMP(6)"),
    ("v", "TIMESTAMP_LTZ(3)"),
    ("m", "TIMESTAMP(3)"),
    ("s", "TIMESTAMP(0)"),
    ("r", "ROW<x TIMESTAMP(9)>"),
)
Dialect = Literal["flink", "spark"]
DIALECTS: tuple[Dialect, ...] = ("flink", "spark")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    table = create_table(tmp_path, FIELDS, (), {})
    moments = {"id": pa.array([1, 2], pa.int32())}
    for name, kind in (("a", pa.timestamp("ns")), ("z", pa.timestamp("ns", "UTC"))):
        moments[name] = pa.array([NANOS, -1], kind)
    moments["u"] = pa.array([NANOS // 1000, -1], pa.timestamp("us"))
    moments["v"] = pa.array([NANOS // 10**6, -1], pa.timestamp("ms", "UTC"))
    moments["m"] = pa.array([1_704_067_200_100, -1], pa.timestamp("ms"))
    moments["s"] = pa.array([1_704_067_200_000, -1000], pa.timestamp("ms"))
    moments["r"] = pa.array([{"x": NANOS}, None], pa.struct([("x", pa.timestamp("ns"))]))
    table.write_arrow(pa.table(moments))
    return tmp_path


def column(lake: Path, dialect: Dialect, query: str) -> list[Any]:
    rows = Session(open_warehouse(lake), dialect=dialect).sql(query).to_arrow()
    values = rows.column(0)
    return values.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(values.type) else values.to_pylist()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a = TIMESTAMP '2024-01-01 00:00:00.123456789'", [1]),
        ("a = TIMESTAMP '2024-01-01 00:00:00.123456788'", []),
        ("a = '2024-01-01 00:00:00.123456789'", [1]),
        ("a = CAST('2024-01-01 00:00:00.123456789' AS TIMESTAMP(9))", [1]),
        ("a > TIMESTAMP '2024-01-01 00:00:00.123456788'", [1]),
        ("a <= TIMESTAMP '1969-12-31 23:59:59.999999999'", [2]),
        ("a < TIMESTAMP '1969-12-31 23:59:59.999999999'", []),
        ("a >= TIMESTAMP '1969-12-31 23:59:59.999999999' AND a < TIMESTAMP '2024-01-01 00:00:00.123456789'", [2]),
        ("a BETWEEN TIMESTAMP '2024-01-01 00:00:00.123456789' AND TIMESTAMP '2024-01-01 00:00:00.123456789'", [1]),
        ("a NOT BETWEEN TIMESTAMP '2024-01-01 00:00:00.123456789' AND TIMESTAMP '2024-01-02 00:00:00'", [2]),
        ("a IN (TIMESTAMP '2024-01-01 00:00:00.123456789', TIMESTAMP '2000-01-01 00:00:00')", [1]),
        ("a <> u", [1, 2]),
        ("a > u", [1, 2]),
        ("r.x = TIMESTAMP '2024-01-01 00:00:00.123456789'", [1]),
        ("COALESCE(a, u) = TIMESTAMP '2024-01-01 00:00:00.123456789'", [1]),
    ],
)
def test_conditions_see_all_digits(lake: Path, dialect: Dialect, condition: str, expected: list[int]) -> None:
    assert column(lake, dialect, f"SELECT id FROM db.t WHERE {condition} ORDER BY id") == expected
    # The same where DuckDB alone evaluates it.
    assert column(lake, dialect, f"SELECT id FROM db.t WHERE ({condition}) = (1 = 1) ORDER BY id") == expected


def test_a_date_beside_a_timestamp(lake: Path) -> None:
    """Spark compares them, Flink refuses to."""
    query = "SELECT id FROM db.t WHERE a >= DATE '2024-01-01'"
    assert column(lake, "spark", query) == [1]
    with pytest.raises(SqlError, match="does not take TIMESTAMP"):
        column(lake, "flink", query)


@pytest.mark.parametrize(
    ("dialect", "condition"),
    [
        ("spark", "YEAR(a) = 1969 AND HOUR(a) = 23 AND CAST(a AS DATE) = DATE '1969-12-31'"),
        # Flink cuts off towards 1970.
        ("flink", "YEAR(a) = 1970 AND HOUR(a) = 0 AND CAST(a AS DATE) = DATE '1970-01-01'"),
    ],
)
def test_parts_of_a_time_before_1970(lake: Path, dialect: Dialect, condition: str) -> None:
    assert column(lake, dialect, f"SELECT id FROM db.t WHERE id = 2 AND {condition}") == [2]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_changes_see_all_digits(lake: Path, dialect: Dialect) -> None:
    session = Session(open_warehouse(lake), dialect=dialect)
    session.sql("UPDATE db.t SET id = id + 10 WHERE a = TIMESTAMP '2024-01-01 00:00:00.123456789' AND id + 0 = 1")
    session.sql("UPDATE db.t SET a = TIMESTAMP '2025-01-01 00:00:00.987654321', id = id + 0 WHERE id = 2")
    rows = get_table(lake).to_arrow().sort_by("id")
    assert rows.column("id").to_pylist() == [2, 11]
    assert rows.column("a").cast(pa.int64()).to_pylist() == [1_735_689_600_987_654_321, NANOS]
    session.sql("DELETE FROM db.t WHERE a = TIMESTAMP '2025-01-01 00:00:00.987654321' AND id + 0 = 2")
    assert get_table(lake).to_arrow().column("id").to_pylist() == [11]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("MIN(a)", [-1]),
        ("MAX(COALESCE(a, u))", [NANOS]),
        ("COUNT(DISTINCT a)", [2]),
        ("MAX(CASE WHEN id = 1 THEN a ELSE u END)", [NANOS]),
        ("MAX(a + INTERVAL '1' DAY)", [NANOS + 86_400 * 10**9]),
        ("MAX(CAST(a AS TIMESTAMP(8)))", [NANOS - 9]),
        ("MIN(CAST(a AS TIMESTAMP(8)))", [-10]),
    ],
)
def test_values_pass_with_all_digits(lake: Path, dialect: Dialect, value: str, expected: list[int]) -> None:
    assert column(lake, dialect, f"SELECT {value} FROM db.t") == expected
    assert column(lake, dialect, f"SELECT x FROM (SELECT {value} AS x FROM db.t) AS q") == expected
    assert column(lake, dialect, f"WITH w AS (SELECT {value} AS x FROM db.t) SELECT x FROM w") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("TIMESTAMPADD(DAY, 1, a)", "2024-01-02 00:00:00.123456789"),
        ("TIMESTAMPADD(MONTH, 1, a)", "2024-02-01 00:00:00.123456789"),
        ("TIMESTAMPADD(SECOND, 1, a)", "2024-01-01 00:00:01.123456789"),
        ("EXTRACT(NANOSECOND FROM a)", "123456789"),
    ],
)
def test_functions_of_times_keep_digits_as_in_flink(lake: Path, value: str, expected: str) -> None:
    session = Session({"warehouse": str(lake)}, dialect="flink")
    found = session.sql(f"SELECT CAST({value} AS STRING) AS x FROM db.t WHERE id = 1").to_arrow()
    assert found["x"].to_pylist() == [expected]


def test_grouping_joins_windows_and_unions_keep_digits(lake: Path) -> None:
    for query in (
        "SELECT a FROM db.t GROUP BY a ORDER BY a",
        "SELECT x.a FROM db.t AS x JOIN db.t AS y ON x.a = y.a ORDER BY 1",
        "SELECT a FROM db.t UNION SELECT a FROM db.t ORDER BY a",
        "SELECT FIRST_VALUE(a) OVER (PARTITION BY id ORDER BY a) FROM db.t ORDER BY id DESC",
    ):
        assert column(lake, "spark", query) == [-1, NANOS], query
    both = column(lake, "spark", "SELECT a FROM db.t WHERE id = 1 UNION ALL SELECT u FROM db.t WHERE id = 1 ORDER BY a")
    assert both == [NANOS - 789, NANOS]


CUTS = {"CAST(u AS TIMESTAMP(3))": 3, "CAST(u AS TIMESTAMP(4))": 4,
        "CAST(a AS TIMESTAMP(3))": 3, "CAST(a AS TIMESTAMP)": 6, "CAST(z AS TIMESTAMP_LTZ(3))": 3}  # fmt: skip


def test_in_flink_a_cast_to_seconds_cuts_off_towards_1970(lake: Path) -> None:
    assert column(
        lake, "flink", "SELECT CAST(u AS TIMESTAMP(0)) FROM db.t WHERE u < TIMESTAMP '1970-01-01 00:00:00'"
    ) == [0]


@pytest.mark.parametrize("cast", CUTS)
def test_casts_cut_off_towards_the_past(lake: Path, cast: str) -> None:
    rows = Session(open_warehouse(lake), dialect="flink").sql(f"SELECT {cast} AS x FROM db.t ORDER BY id").to_arrow()
    step = 10 ** (9 - CUTS[cast])
    moments = rows.column("x").cast(pa.timestamp("ns", rows.column("x").type.tz)).cast(pa.int64())
    assert moments.to_pylist() == [NANOS // step * step, -step]


def test_what_is_written_is_cut_off_as_a_change_of_the_type_does(tmp_path: Path) -> None:
    fine = "TIMESTAMP '1969-12-31 23:59:59.999999'"
    session = Session(open_warehouse(tmp_path), dialect="flink")
    for text in (
        "CREATE TABLE db.t (id INT, a TIMESTAMP(0), b TIMESTAMP(3), z TIMESTAMP_LTZ(3), f TIMESTAMP(6))",
        f"INSERT INTO db.t VALUES (1, {fine}, {fine}, CAST({fine} AS TIMESTAMP_LTZ(6)), {fine})",
        "INSERT INTO db.t (id) VALUES (2)",
        f"UPDATE db.t SET a = {fine}, b = {fine}, z = CAST({fine} AS TIMESTAMP_LTZ(6)), f = {fine}, id = id + 0",
    ):
        session.sql(text)
    table = get_table(tmp_path)
    cut = datetime(1969, 12, 31, 23, 59, 59)
    for row in table.to_arrow().to_pylist():
        assert (row["a"], row["b"]) == (datetime(1970, 1, 1), cut.replace(microsecond=999000))
        assert row["z"].replace(tzinfo=None) == cut.replace(microsecond=999000)
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnType("f", "TIMESTAMP(3)")])
    assert set(get_table(tmp_path).to_arrow().column("f").to_pylist()) == {cut.replace(microsecond=999000)}


# Expressions, and their texts in Flink and in Spark, of the two rows.
TEXTS: dict[str, tuple[list[str], list[str]]] = {
    "v": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "m": (["2024-01-01 00:00:00.100", "1969-12-31 23:59:59.999"], ["2024-01-01 00:00:00.1", "1969-12-31 23:59:59.999"]),
    "s": (["2024-01-01 00:00:00", "1969-12-31 23:59:59"],) * 2,
    "a": (["2024-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999"],) * 2,
    "z": (["2024-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999"],) * 2,
    "COALESCE(v, v)": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "CASE WHEN id > 0 THEN v END": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "MAX(v) OVER (PARTITION BY id)": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "v + INTERVAL '1' DAY": (["2024-01-02 00:00:00.123", "1970-01-01 23:59:59.999"],) * 2,
    "LAG(CAST(v AS TIMESTAMP(3)), 0) OVER (ORDER BY id)": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "(SELECT MAX(v) FROM db.t AS o WHERE o.id = t.id)": (["2024-01-01 00:00:00.123", "1969-12-31 23:59:59.999"],) * 2,
    "CAST(u AS TIMESTAMP_LTZ(6))": (["2024-01-01 00:00:00.123456", "1969-12-31 23:59:59.999999"],) * 2,
    "TIMESTAMP '2024-02-29 00:00:00'": (["2024-02-29 00:00:00"] * 2,) * 2,
}  # fmt: skip


@pytest.mark.parametrize("value", TEXTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_time_as_a_text_shows_no_zone(lake: Path, dialect: Dialect, value: str) -> None:
    expected = TEXTS[value][dialect == "spark"]
    rows = "db.t AS t ORDER BY id"
    # Flink joins texts alone.
    joined = value if dialect == "spark" else f"CAST({value} AS STRING)"
    for made in (
        f"CAST({value} AS STRING)",
        f"CONCAT({joined}, '')",
        f"{joined} || ''",
        f"CONCAT_WS('', {joined}, '')",
    ):
        assert column(lake, dialect, f"SELECT {made} AS x FROM {rows}") == expected, made
        assert column(lake, dialect, f"SELECT x FROM (SELECT {made} AS x FROM {rows}) AS q") == expected, made
    nested = f"SELECT CAST(x AS STRING) AS y FROM (SELECT id, {value} AS x FROM db.t AS t) AS q ORDER BY id"
    assert column(lake, dialect, nested) == expected
    assert column(lake, dialect, f"SELECT UPPER(CONCAT({joined}, 'x')) FROM db.t AS t ORDER BY id") == [
        f"{text}X" for text in expected
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("value", ["CURRENT_TIMESTAMP", "TIMESTAMPADD(DAY, 1, v)", "MAX(v)", "GREATEST(v, v)"])
def test_a_text_of_what_a_function_gives_shows_no_zone(lake: Path, dialect: Dialect, value: str) -> None:
    shown = "CONCAT(x, '')" if dialect == "spark" else "CAST(x AS STRING)"
    (text,) = column(lake, dialect, f"SELECT MAX({shown}) FROM (SELECT {value} AS x FROM db.t GROUP BY v) AS q")
    assert "+" not in text


def test_a_time_in_a_column_of_texts_shows_no_zone(lake: Path) -> None:
    session = Session(open_warehouse(lake))
    session.sql("CREATE TABLE db.texts (id INT, x STRING)")
    for name in ("a", "z", "v"):
        session.sql(f"INSERT OVERWRITE db.texts SELECT id, {name} FROM db.t")
        assert column(lake, "spark", "SELECT x FROM db.texts ORDER BY id") == TEXTS[name][1]
    with pytest.raises(SqlError, match="column 'x' is STRING"):
        Session(open_warehouse(lake), dialect="flink").sql("INSERT INTO db.texts SELECT id, a FROM db.t")


def test_hours_from_1_to_24_in_sparks_dialect(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("SET TIME ZONE 'UTC'")
    texts = ", ".join(f"('2024-07-01 {hour}:10')" for hour in ("24", "00", "01", "23", "25", "1"))
    read = "hour(try_to_timestamp(x, 'yyyy-MM-dd kk:mm'))"
    rows = session.sql(f"SELECT {read} AS h FROM VALUES {texts} AS t(x)").to_arrow()
    assert rows.column("h").to_pylist() == [0, None, 1, 23, None, None]
    times = ", ".join(f"(TIMESTAMP_NTZ '2024-07-01 {hour}:05:00')" for hour in ("00", "01", "23"))
    rows = session.sql(f"SELECT date_format(t, 'kk:mm k') AS s FROM VALUES {times} AS v(t)").to_arrow()
    assert rows.column("s").to_pylist() == ["24:05 24", "01:05 1", "23:05 23"]
