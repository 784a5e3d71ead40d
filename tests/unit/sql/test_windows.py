"""Flink's TUMBLE, HOP and CUMULATE over the rows of a table."""

import datetime as dt
from pathlib import Path

import pytest

from maintenance.errors import SqlError
from maintenance.sql import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE bid (ts TIMESTAMP(3), price INT)")
    session.sql(
        "INSERT INTO bid VALUES (TIMESTAMP '2020-04-15 08:05:00', 4), (TIMESTAMP '2020-04-15 08:07:00', 2),"
        " (TIMESTAMP '2020-04-15 08:11:00', 5), (TIMESTAMP '1969-12-31 23:59:00', 1)"
    )
    return session


def rows(session: Session, text: str) -> list[tuple[object, ...]]:
    actual = session.sql(text).to_arrow().to_pylist()
    return [tuple(v.strftime("%H:%M") if isinstance(v, dt.datetime) else v for v in row.values()) for row in actual]


@pytest.mark.parametrize(
    "function",
    [
        "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
        "TABLE(TUMBLE(DATA => TABLE bid, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '10' MINUTES))",
        "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '600' SECOND)",
        "TABLE(TUMBLE((SELECT * FROM bid), DESCRIPTOR(ts), INTERVAL '10' MINUTE)) AS w",
        "TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES, INTERVAL '10' MINUTES))",
    ],
)
def test_each_row_is_in_one_window(session: Session, function: str) -> None:
    query = f"SELECT window_start, window_end, SUM(price) AS s FROM {function} GROUP BY window_start, window_end"
    expected = [("23:50", "00:00", 1), ("08:00", "08:10", 6), ("08:10", "08:20", 5)]
    assert rows(session, f"{query} ORDER BY window_start") == expected


def test_their_columns_come_after_those_of_the_table(session: Session) -> None:
    actual = session.sql("SELECT * FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' DAY))").to_arrow()
    assert actual.column_names == ["ts", "price", "window_start", "window_end", "window_time"]
    row = next(row for row in actual.to_pylist() if row["price"] == 5)
    assert row["window_time"] == dt.datetime(2020, 4, 15, 23, 59, 59, 999000)


def test_an_offset_moves_them(session: Session) -> None:
    function = "TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' MINUTES, INTERVAL '6' MINUTES)"
    assert rows(session, f"SELECT price, window_start FROM TABLE({function}) ORDER BY price") == [
        (1, "23:56"), (2, "08:06"), (4, "07:56"), (5, "08:06"),
    ]  # fmt: skip


def test_hop_puts_a_row_into_each_window_that_overlaps(session: Session) -> None:
    function = "HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)"
    query = f"SELECT price, window_start, window_end FROM TABLE({function}) WHERE price > 2 ORDER BY 1, 2"
    assert rows(session, query) == [
        (4, "08:00", "08:10"), (4, "08:05", "08:15"), (5, "08:05", "08:15"), (5, "08:10", "08:20"),
    ]  # fmt: skip


def test_cumulate_grows_windows_up_to_the_whole(session: Session) -> None:
    function = "CUMULATE(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES)"
    query = f"SELECT window_start, window_end, SUM(price) AS s FROM TABLE({function}) WHERE price <> 1"
    assert rows(session, f"{query} GROUP BY window_start, window_end ORDER BY window_end") == [
        ("08:00", "08:06", 4), ("08:00", "08:08", 6), ("08:00", "08:10", 6), ("08:10", "08:12", 5),
        ("08:10", "08:14", 5), ("08:10", "08:16", 5), ("08:10", "08:18", 5), ("08:10", "08:20", 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("TUMBLE(TABLE bid)", "lacks TIMECOL"),
        ("TUMBLE(TABLE bid, ts, INTERVAL '1' HOUR)", "DESCRIPTOR"),
        ("TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '1' MONTH)", "an interval such as"),
        ("HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '3' MINUTES, INTERVAL '10' MINUTES)", "multiple of the step"),
        ("TUMBLE(TABLE bit, DESCRIPTOR(ts), INTERVAL '1' HOUR)", "table 'default.bit' does not exist"),
    ],
)
def test_what_is_wrong_is_said(session: Session, function: str, problem: str) -> None:
    with pytest.raises(SqlError, match=problem):
        session.sql(f"SELECT * FROM TABLE({function})")


@pytest.fixture
def clicks(session: Session) -> Session:
    session.sql("CREATE TABLE clicks (id INT, who STRING, ts TIMESTAMP(3))")
    session.sql(
        "INSERT INTO clicks VALUES (1, 'a', TIMESTAMP '2024-02-29 10:00:00'),"
        " (2, 'b', TIMESTAMP '2024-02-29 10:04:00'), (3, 'a', TIMESTAMP '2024-02-29 10:05:00'), "
        " (4, 'a', TIMESTAMP '2024-02-29 10:05:00'),"
        " (5, 'a', TIMESTAMP '2024-02-29 10:10:01'), (6, CAST(NULL AS STRING), TIMESTAMP '2024-02-29 10:12:00'),"
        " (7, 'b', CAST(NULL AS TIMESTAMP(3)))"
    )
    return session


@pytest.mark.parametrize(
    "function",
    [
        "TABLE(SESSION(TABLE clicks PARTITION BY who, DESCRIPTOR(ts), INTERVAL '5' MINUTES))",
        "SESSION(TABLE clicks PARTITION BY (who), DESCRIPTOR(ts), INTERVAL '5' MINUTES)",
        "TABLE(SESSION(DATA => TABLE clicks PARTITION BY who,TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' MINUTE))",
    ],
)
def test_sessions_of_each_key(clicks: Session, function: str) -> None:
    query = f"SELECT id, window_start, window_end FROM {function} ORDER BY id"
    assert rows(clicks, query) == [
        (1, "10:00", "10:10"), (2, "10:04", "10:09"), (3, "10:00", "10:10"), (4, "10:00", "10:10"),
        (5, "10:10", "10:15"), (6, "10:12", "10:17"),
    ]  # fmt: skip


def test_sessions_of_all_rows(clicks: Session) -> None:
    query = "SELECT * FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '5' MINUTES)) ORDER BY id"
    actual = clicks.sql(query).to_arrow()
    assert actual.column_names == ["id", "who", "ts", "window_start", "window_end", "window_time"]
    assert actual.column("window_time")[0].as_py() == dt.datetime(2024, 2, 29, 10, 9, 59, 999000)
    starts = {row["window_start"] for row in actual.to_pylist()}
    assert starts == {dt.datetime(2024, 2, 29, 10), dt.datetime(2024, 2, 29, 10, 10, 1)}
    with pytest.raises(SqlError, match="the function SESSION lacks GAP"):
        clicks.sql("SELECT * FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts)))")
    with pytest.raises(SqlError, match="the gap between sessions"):
        clicks.sql("SELECT * FROM TABLE(SESSION(TABLE clicks, DESCRIPTOR(ts), INTERVAL '0' SECOND))")
