"""The zone of a session, and settings: honoured or refused by their name."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from maintenance.cli.main import cli
from maintenance.errors import SqlError
from maintenance.sql import Session
from tests.tables import create_table, get_table, open_warehouse

Dialect = Literal["flink", "spark"]
DIALECTS: tuple[Dialect, ...] = ("flink", "spark")
SETS = {"flink": "SET 'table.local-time-zone' = '{}'", "spark": "SET spark.sql.session.timeZone = {}"}
RESETS = {"flink": "RESET 'table.local-time-zone'", "spark": "RESET spark.sql.session.timeZone"}
FIELDS = (("id", "INT"), ("n", "TIMESTAMP(6)"), ("v", "TIMESTAMP_LTZ(3)"), ("z", "TIMESTAMP_LTZ(9)"), ("d", "DATE"))
NOON = 1_704_110_400_000  # 2024-01-01 12:00:00 UTC


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Row 1 has noon in UTC everywhere, with nanoseconds in z; row 2 the beginning of 1970."""
    rows = {
        "id": pa.array([1, 2], pa.int32()),
        "n": pa.array([NOON * 1000, 0], pa.timestamp("us")),
        "v": pa.array([NOON, 0], pa.timestamp("ms", "UTC")),
        "z": pa.array([NOON * 10**6 + 789, 0], pa.timestamp("ns", "UTC")),
        "d": pa.array([19_723, 0], pa.date32()),
    }
    create_table(tmp_path, FIELDS, (), {}).write_arrow(pa.table(rows))
    return tmp_path


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def session_in(lake: Path, dialect: Dialect, zone: str | None = "Asia/Shanghai") -> Session:
    session = Session(open_warehouse(lake), dialect=dialect)
    if zone is not None:
        session.sql(SETS[dialect].format(zone))
    return session


def value(session: Session, expression: str, where: str = "id = 1") -> Any:
    column = session.sql(f"SELECT {expression} AS x FROM db.t WHERE {where}").to_arrow().column("x")
    return (column.cast(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column).to_pylist()[0]


# Expressions, and what they are in Shanghai, where it is eight in the evening.
SHOWN: dict[str, Any] = {
    "SUBSTRING(CAST(v AS STRING), 1, 19)": "2024-01-01 20:00:00",
    "SUBSTRING(CAST(z AS STRING), 1, 19)": "2024-01-01 20:00:00",
    "CAST(v AS TIMESTAMP_NTZ)": datetime(2024, 1, 1, 20),
    "CAST(v + INTERVAL '5' HOUR AS DATE)": date(2024, 1, 2),
    "HOUR(v)": 20,
    "HOUR(z)": 20,
    "DAYOFWEEK(v + INTERVAL '5' HOUR)": 3,
    "DATE_FORMAT(v, 'HH:mm')": "20:00",
    "FROM_UNIXTIME(0)": "1970-01-01 08:00:00",
    "UNIX_TIMESTAMP('1970-01-01 08:00:00')": 0,
    "CAST(n AS TIMESTAMP_LTZ)": datetime(2024, 1, 1, 4),
    "CAST(d AS TIMESTAMP_LTZ)": datetime(2023, 12, 31, 16),
    "CAST('2024-01-01 20:00:00' AS TIMESTAMP_LTZ)": datetime(2024, 1, 1, 12),
    "DATE_TRUNC('DAY', v)": datetime(2023, 12, 31, 16),
}


@pytest.mark.parametrize("expression", SHOWN)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_expressions_take_the_zone(lake: Path, dialect: Dialect, expression: str) -> None:
    session = session_in(lake, dialect)
    expected = SHOWN[expression]
    if dialect == "flink":
        expression = expression.replace("DATE_TRUNC('DAY', v)", "FLOOR(v TO DAY)")
    assert value(session, expression) == expected
    session.sql(RESETS[dialect])
    assert value(session, expression) != expected, "the zone of the process again, which is UTC in tests"


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "+08:00", "GMT+8", "UTC+08:00"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_zones_have_names_or_distances(lake: Path, dialect: Dialect, zone: str) -> None:
    session = session_in(lake, dialect, f"'{zone}'" if dialect == "spark" else zone)
    assert value(session, "HOUR(v)") == 20
    assert value(session, "CAST(n AS TIMESTAMP_LTZ)") == datetime(2024, 1, 1, 4)
    assert value(session, "id", "v = CAST('2024-01-01 20:00:00' AS TIMESTAMP_LTZ)") == 1


def test_spark_says_time_zone(lake: Path, new_york: None) -> None:
    session = session_in(lake, "spark", "Europe/Oslo")
    session.sql("SET TIME ZONE 'Asia/Shanghai'")
    assert value(session, "HOUR(v)") == 20
    session.sql("set time zone '+05:30'")
    assert value(session, "SUBSTRING(CAST(v AS STRING), 12, 5)") == "17:30"
    session.sql("SET TIME ZONE LOCAL")
    assert value(session, "HOUR(v)") == 7
    assert session.sql("SET spark.sql.session.timeZone").to_arrow()["value"].to_pylist() == ["America/New_York"]


# Conditions in Shanghai, and the rows.
CONDITIONS = {
    "v = TIMESTAMP_LTZ '2024-01-01 20:00:00'": [1],
    "v > '2024-01-01 19:59:59'": [1],
    "v > '2024-01-01 20:00:00'": [],
    "v IN (TIMESTAMP_LTZ '2024-01-01 20:00:00', TIMESTAMP_LTZ '1970-01-01 08:00:00')": [1, 2],
    "v BETWEEN TIMESTAMP_LTZ '2024-01-01 20:00:00' AND TIMESTAMP_LTZ '2024-01-01 20:00:00'": [1],
    "NOT (v < TIMESTAMP_LTZ '2024-01-01 20:00:00')": [1],
    "v >= CAST(DATE '2024-01-02' AS TIMESTAMP_LTZ(6))": [],
    "v >= CAST(DATE '2024-01-01' AS TIMESTAMP_LTZ(6)) AND id > 0": [1],
    "z = TIMESTAMP_LTZ '2024-01-01 20:00:00.000000789'": [1],
    "v = TIMESTAMP_LTZ '2024-01-01 12:00:00Z'": [1],
    "n = TIMESTAMP_NTZ '2024-01-01 12:00:00'": [1],
    "n = TIMESTAMP_LTZ '2024-01-01 12:00:00'": [1],
    "v = n": [],
    "CAST(v + INTERVAL '5' HOUR AS DATE) = DATE '2024-01-02'": [1],
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_conditions_take_the_zone(lake: Path, dialect: Dialect, condition: str) -> None:
    session = session_in(lake, dialect)
    rows = session.sql(f"SELECT id FROM db.t WHERE {condition} ORDER BY id").to_arrow()
    assert rows.column("id").to_pylist() == CONDITIONS[condition]
    session.sql(f"UPDATE db.t SET d = DATE '2000-01-01' WHERE {condition}")
    changed = get_table(lake).to_arrow(where="d = DATE '2000-01-01'").sort_by("id")
    assert changed.column("id").to_pylist() == CONDITIONS[condition]
    session.sql(f"DELETE FROM db.t WHERE {condition}")
    left = {1, 2} - set(CONDITIONS[condition])
    assert set(get_table(lake).to_arrow().column("id").to_pylist()) == left


@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_that_are_written_take_the_zone(lake: Path, dialect: Dialect) -> None:
    session = session_in(lake, dialect)
    moment = "TIMESTAMP_LTZ '2024-06-01 08:00:00'"
    session.sql(f"UPDATE db.t SET v = {moment}, n = TIMESTAMP_NTZ '2024-06-01 08:00:00' WHERE id = 1")
    session.sql(f"INSERT INTO db.t (id, v) SELECT 3, {moment}")
    session.sql(
        f"MERGE INTO db.t AS t USING (SELECT 2 AS i) AS s ON t.id = s.i WHEN MATCHED THEN UPDATE SET v = {moment}"
    )
    rows = get_table(lake).to_arrow().sort_by("id")
    assert rows.column("v").cast(pa.timestamp("ms")).to_pylist() == [datetime(2024, 6, 1)] * 3
    assert rows.column("n").to_pylist()[0] == datetime(2024, 6, 1, 8)


def test_windows_begin_at_midnight_of_the_zone(lake: Path) -> None:
    query = "SELECT window_start FROM TABLE(TUMBLE(TABLE db.t, DESCRIPTOR(v), INTERVAL '1' DAY)) WHERE id = 1"
    rows = session_in(lake, "flink").sql(query).to_arrow()
    assert rows.column(0).to_pylist() == [datetime(2024, 1, 1)]
    late = session_in(lake, "flink", "Pacific/Kiritimati").sql(query).to_arrow()
    assert late.column(0).to_pylist() == [datetime(2024, 1, 2)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_time_travel_takes_the_zone(lake: Path, dialect: Dialect) -> None:
    at = {"flink": "FOR SYSTEM_TIME AS OF TIMESTAMP '{}'", "spark": "TIMESTAMP AS OF '{}'"}[dialect]
    snapshot = get_table(lake).latest_snapshot()
    assert snapshot is not None
    session = session_in(lake, dialect)
    for zone in ("Asia/Shanghai", "America/New_York"):
        session.sql(SETS[dialect].format(zone))
        local = pa.scalar(snapshot.time_millis, pa.timestamp("ms", "UTC")).cast(pa.timestamp("ms", zone)).as_py()
        text = local.replace(tzinfo=None).isoformat(" ", "milliseconds")
        assert session.sql(f"SELECT COUNT(*) FROM db.t {at.format(text)}").to_arrow().column(0).to_pylist() == [2]
        earlier = local.replace(tzinfo=None, year=2000).isoformat(" ", "milliseconds")
        with pytest.raises(SqlError):
            session.sql(f"SELECT COUNT(*) FROM db.t {at.format(earlier)}")


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP_NTZ"])
def test_a_cast_is_that_of_a_change_of_the_type(tmp_path: Path, kind: str) -> None:
    session = Session(open_warehouse(tmp_path))
    session.sql("CREATE TABLE db.t (id INT, z TIMESTAMP)")
    session.sql("INSERT INTO db.t VALUES (1, TIMESTAMP '2024-01-01 00:00:00Z')")
    cast = session.sql(f"SELECT CAST(z AS {kind}) AS x FROM db.t").to_arrow().column("x").to_pylist()
    session.sql(f"ALTER TABLE db.t ALTER COLUMN z TYPE {kind}")
    assert session.sql("SELECT z FROM db.t").to_arrow().column("z").to_pylist() == cast
    assert cast[0] in (date(2023, 12, 31), datetime(2023, 12, 31, 19))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_repeated_query_sees_another_zone(lake: Path, dialect: Dialect) -> None:
    session = session_in(lake, dialect)
    query = "SELECT HOUR(v) AS x FROM db.t WHERE id = 1"
    seen = [session.sql(query).to_arrow().column("x").to_pylist()[0]]
    session.sql(SETS[dialect].format("America/New_York"))
    seen.append(session.sql(query).to_arrow().column("x").to_pylist()[0])
    session.sql(RESETS[dialect])
    seen.append(session.sql(query).to_arrow().column("x").to_pylist()[0])
    assert seen == [20, 7, 12]


def test_plans_keep_the_zone(lake: Path) -> None:
    session = session_in(lake, "spark")
    plan = session.plan("DELETE FROM db.t WHERE CONCAT(HOUR(v), '') = '20'")
    Session(open_warehouse(lake)).apply(plan)
    assert get_table(lake).to_arrow().column("id").to_pylist() == [2]


def test_paimonctl_shows_instants_in_the_zone(lake: Path) -> None:
    def shown(*statements: str) -> str:
        result = CliRunner().invoke(
            cli, ["--warehouse", str(lake), "--format", "csv", "sql", "; ".join(statements)], catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        return result.output

    query = "SELECT v FROM db.t WHERE id = 1"
    assert "2024-01-01 12:00:00+00:00" in shown(query)
    assert "2024-01-01 20:00:00+08:00" in shown(SETS["spark"].format("Asia/Shanghai"), query)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_prompt_stays_in_the_zone_that_was_set(
    lake: Path, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end() -> str:
        raise EOFError

    query = "SELECT v FROM db.t\n WHERE v = TIMESTAMP_LTZ '{}';"
    typed = [query.format("2024-01-01 12:00:00"), SETS[dialect].format("Asia/Shanghai") + ";"]
    typed += [query.format("2024-01-01 20:00:00"), RESETS[dialect] + ";", query.format("2024-01-01 12:00:00")]
    lines = iter("\n".join(typed).splitlines())
    monkeypatch.setattr("maintenance.cli.prompt.line_reader", lambda _: lambda _prompt: next(lines, None) or end())
    command = ["--warehouse", str(lake), "--dialect", dialect, "--format", "csv", "sql"]
    with monkeypatch.context() as on_a_terminal:
        on_a_terminal.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
        result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    shown = re.findall(r"2024-01-01 [\d:+]+", result.output.replace("000", ""))
    assert shown == ["2024-01-01 12:00:00+00:00", "2024-01-01 20:00:00+08:00", "2024-01-01 12:00:00+00:00"]


REFUSED = {
    "spark": [
        ("SET spark.sql.session.timeZone = Nowhere/City", "'Nowhere/City' is not a time zone"),
        ("SET TIME ZONE 'Nowhere/City'", "'Nowhere/City' is not a time zone"),
        ("SET TIME ZONE Oslo", "'Oslo' found where LOCAL or the name of a zone in quotes is expected"),
        ("SET TIME ZONE INTERVAL '08:30' HOUR TO MINUTE", r"Write the distance from UTC: SET TIME ZONE '\+08:30'"),
        ("SET TIMEZONE 'Asia/Shanghai'", "'TIMEZONE 'Asia/Shanghai'' is not the name of a setting"),
        ("SET spark.sql.ansi.enabled = false", "'spark.sql.ansi.enabled' = 'false' is not honoured"),
        ("SET spark.sql.legacy.timeParserPolicy = LEGACY", "'spark.sql.legacy.timeParserPolicy' is not a setting"),
        ("SET spark.sql.sesion.timeZone = UTC", "'spark.sql.sesion.timeZone' is not a setting"),
        ("SET spark.sql.timestampType = TIMESTAMP_NTZ", "'spark.sql.timestampType' = 'TIMESTAMP_NTZ' is not honoured"),
        ("SET spark.paimon.scan.snapsht-id = 1", "'spark.paimon.scan.snapsht-id' names no option"),
    ],
    "flink": [
        ("SET 'table.local-time-zone' = 'Nowhere/City'", "'Nowhere/City' is not a time zone"),
        ("SET 'table.exec.legacy-cast-behaviour' = 'enabled'", "'table.exec.legacy-cast-behaviour' = 'enabled' is not"),
        ("SET TIME ZONE 'UTC'", "Flink has no SET TIME ZONE .* Write SET 'table.local-time-zone' ="),
        ("SET 'execution.runtime-mod' = 'batch'", "'execution.runtime-mod' is not a setting"),
        ("SET 'table.local-timezone' = 'UTC'", "'table.local-timezone' is not a setting"),
    ],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_not_honoured_is_refused_by_name(tmp_path: Path, dialect: Dialect) -> None:
    session = Session(open_warehouse(tmp_path), dialect=dialect)
    for text, said in REFUSED[dialect]:
        with pytest.raises(SqlError, match=said):
            session.sql(text)
    assert settings_of(session) == []


def settings_of(session: Session) -> list[str]:
    """What is set, beside the engine, which is always something."""
    return [key for key in session.sql("SET").to_arrow()["key"].to_pylist() if key != "engine"]


@pytest.mark.parametrize(
    "text",
    ["SET spark.sql.ansi.enabled = true", "SET spark.sql.shuffle.partitions = 4", "SET 'parallelism.default' = '2'",
     "SET 'sql-client.execution.result-mode' = 'tableau'", "SET spark.paimon.scan.snapshot-id = 1"],
)  # fmt: skip
def test_what_is_honoured_or_means_nothing_here_can_be_set(tmp_path: Path, text: str) -> None:
    session = Session(open_warehouse(tmp_path))
    session.sql(text)
    assert len(settings_of(session)) == 1
    session.sql("RESET")
    assert settings_of(session) == []


@pytest.mark.parametrize("kind", ["CSV", "JSON"])
def test_copy_into_reads_texts_of_the_zone(lake: Path, kind: str) -> None:
    create_table(lake, FIELDS, (), {}, name="db.c")
    texts = [
        "2024-01-01 20:00:00",
        "2024-01-01T13:00:00+01:00",
        "2024-01-01 12:00:00 UTC",
        "2024-01-01 07:00:00 America/New_York",
    ]
    csv = "".join(f"{number},{text},{text},{text},{text}\n" for number, text in enumerate(texts))
    objects = [{"id": number, **dict.fromkeys("vznd", text)} for number, text in enumerate(texts)]
    (lake / "in").mkdir()
    (lake / "in" / "a").write_text(csv if kind == "CSV" else "\n".join(map(json.dumps, objects)))
    session = session_in(lake, "spark")
    session.sql(f"COPY INTO db.c FROM '{lake}/in' FILE_FORMAT = (TYPE = {kind})")
    rows = get_table(lake, "db.c").to_arrow().sort_by("id")
    assert rows.column("v").cast(pa.int64()).to_pylist() == [NOON] * 4
    assert rows.column("z").cast(pa.int64()).to_pylist() == [NOON * 10**6] * 4
    assert [moment.hour for moment in rows.column("n").to_pylist()] == [20, 13, 12, 7]
    assert set(rows.column("d").to_pylist()) == {date(2024, 1, 1)}


def test_copy_into_knows_no_other_zones(lake: Path) -> None:
    create_table(lake, FIELDS, (), {}, name="db.c")
    (lake / "a.csv").write_text(
        "1,,2024-01-01 20:00:00 Nowhere/City,,\n2,,2024-01-01 20:00:00 +19:00,,\n3,,2024-01-01 20:00:00,,\n"
    )
    found = session_in(lake, "spark").sql(
        f"COPY INTO db.c FROM '{lake}/a.csv' FILE_FORMAT = (TYPE = CSV, EMPTY_FIELD_AS_NULL = TRUE) ON_ERROR = CONTINUE"
    )
    assert found.to_arrow().select(["rows_loaded", "errors_seen"]).to_pylist() == [{"rows_loaded": 1, "errors_seen": 2}]


def test_copy_into_casts_columns_of_parquet_in_the_zone(lake: Path) -> None:
    create_table(lake, (("v", "TIMESTAMP_LTZ(3)"), ("d", "DATE"), ("s", "STRING")), (), {}, name="db.c")
    wall, late = (
        pa.array([NOON * 1000], pa.timestamp("us")),
        pa.array([NOON * 1000 + 5 * 3_600_000_000], pa.timestamp("us", "UTC")),
    )
    pq.write_table(pa.table({"v": wall, "d": late, "s": late}), lake / "a.parquet")
    session_in(lake, "spark").sql(f"COPY INTO db.c FROM '{lake}/a.parquet' FILE_FORMAT = (TYPE = PARQUET)")
    (row,) = get_table(lake, "db.c").to_arrow().to_pylist()
    assert row["v"] == datetime(2024, 1, 1, 4, tzinfo=UTC)
    assert (row["d"], row["s"][:19]) == (date(2024, 1, 2), "2024-01-02 01:00:00")


@pytest.mark.parametrize("kind", ["CSV", "JSON"])
def test_copy_into_files_shows_instants_in_the_zone(lake: Path, kind: str) -> None:
    for zone, noon, begin in (
        ("Asia/Kolkata", "2024-01-01T17:30:00.000+05:30", "1970-01-01T05:30:00.000+05:30"),
        ("America/New_York", "2024-01-01T07:00:00.000-05:00", "1969-12-31T19:00:00.000-05:00"),
        ("UTC", "2024-01-01T12:00:00.000Z", "1970-01-01T00:00:00.000Z"),
    ):
        folder = lake / f"out {zone[:3]}"
        query = "(SELECT v, z FROM db.t ORDER BY id)"
        session_in(lake, "spark", zone).sql(f"COPY INTO '{folder}' FROM {query} FILE_FORMAT = (TYPE = {kind})")
        (file,) = folder.glob("part-*")
        expected = [
            f"{text},{text}" if kind == "CSV" else json.dumps({"v": text, "z": text}, separators=(",", ":"))
            for text in (noon, begin)
        ]
        assert file.read_text().splitlines() == expected
