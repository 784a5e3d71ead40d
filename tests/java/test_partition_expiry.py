"""Partitions expire here as in the Java core: the same times, the same partitions, the same rows left."""

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.types.time_pattern import TimePattern, default_time
from tests.java.process import JavaProcess
from tests.java.samples import table_of
from tests.tables import create_table, live, texts_of

PATTERNS = (
    "yyyy-MM-dd",
    "yyyyMMdd",
    "yyyyMMddHH",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm[:ss[.SSS]]",
    "yyyyMMddHHmmssSSS",
    "y/M/d H:m",
    "d.M.u",
    "dd-MM-yy",
    "uuuu-MM-dd",
    "yyyy-DDD",
    "yyyyD",
    "yyyy-MM-dd kk",
    "yyyy-MM",
    "yyyy-MM-dd mm",
    "HH:mm",
    "'day' yyyy''MM''dd",
    "yyy-LL-dd HH",
)
NUMBERS = (
    "00", "01", "09", "2", "3", "10", "12", "13", "23", "24", "28", "29", "30", "31", "32", "59", "60", "99", "366",
    "1969", "1970", "2024", "2026", "10000", "+12024", "-5", "-0", "0",
)  # fmt: skip
EDGES = (
    "2026-03-10", "2026-3-1", "2026-13-45", "2026-02-31", "2024-02-31", "2026-04-31", "2026-00-00", "2026--1-05",
    "2026-03-10 1:2:3", "2026-03-10 24:00:00", "2026-03-10 25:61:61", "2026-03-10 1:2:3.5", "2026-03-10 1:2:3.",
    "2026-03-10 01:02", "2026-03-10T01:02", "9999999999-1-1", "999999999-1-1", "-5-1-1", "-0-1-1", "0-1-1", "", " ",
    "2026-03-10 ", " 2026-03-10", "20260310", "2026031024", "2026031025", "20260231", "120260310", "+120260310",
    "2026-03-10T24:00", "2026-03-10T24:01", "2026-03-10T12:30:15.123", "20260310123015999", "26-02-29", "29-02-26",
    "day 2026'03'10", "2026-366", "2024-366", "2026-000", "2024366", "2026-03-10 24", "2026-03-10 00", "2026-03",
    "2026-03-10 30", "12:30", "10.3.2026", "2026/3/10 7:5", "31.2.-2024", "x",
)  # fmt: skip


def text_like(pattern: str, random: Random) -> str:
    """A text that follows the pattern's shape, with parts of any size."""
    actual, last = "", ""
    for char in pattern.replace("'", "").replace("[", "").replace("]", ""):
        if not (char.isascii() and char.isalpha()):
            actual += char
        elif char != last:
            actual += random.choice(NUMBERS)
        last = char
    return actual


def test_texts_in_any_pattern_are_the_same_times(java: JavaProcess) -> None:
    random = Random(7)
    cases = []
    for pattern in (None, *PATTERNS) * 200:
        text = text_like(pattern or "yyyy-MM-dd HH:mm:ss.SSS", random)
        cases += [(pattern, text), (pattern, text[: random.randint(0, len(text))])]
    theirs = java.partition_times([(["p"], [text], None, pattern) for pattern, text in cases])
    for (pattern, text), expected in zip(cases, theirs, strict=True):
        ours = default_time(text) if pattern is None else TimePattern.parse(pattern).time_of(text)
        assert ours == expected, (pattern, text)


def test_the_same_times_at_the_edges(java: JavaProcess) -> None:
    cases = [(pattern, text) for pattern in (None, *PATTERNS) for text in EDGES]
    theirs = java.partition_times([(["p"], [text], None, pattern) for pattern, text in cases])
    ours = [
        default_time(text) if pattern is None else TimePattern.parse(pattern).time_of(text) for pattern, text in cases
    ]
    assert dict(zip(cases, ours, strict=True)) == dict(zip(cases, theirs, strict=True))
    assert sum(time is not None for time in ours) > 40


FIELDS = (("id", "INT NOT NULL"), ("dt", "STRING"), ("hh", "INT"), ("day", "DATE"))
RULES: dict[str, dict[str, str]] = {
    "first column": {},
    "pattern": {"partition.timestamp-pattern": "$dt $hh:00:00"},
    "formatter": {"partition.timestamp-formatter": "yyyyMMdd"},
    "both": {"partition.timestamp-pattern": "$dt-$hh", "partition.timestamp-formatter": "yyyyMMdd-H"},
    "date column": {"partition.timestamp-pattern": "$day"},
    "update-time": {"partition.expiration-strategy": "update-time"},
    "few at a time": {"partition.expiration-max-num": "3", "partition.expiration-batch-size": "2"},
}


def rows_around(now: datetime) -> pa.Table:
    """Rows of partitions around two days ago, some without a time."""
    days = [now - timedelta(days=back) for back in (0, 1, 2, 3, 40)]
    texts: list[str | None] = [f"{day:{form}}" for day in days for form in ("%Y-%m-%d", "%Y%m%d")]
    texts += [None, "soon", f"{days[2]:%Y-%m-%d %H:%M:%S}", "a,b"]
    rows = [(text, hour) for text in texts for hour in (None, 0, now.hour, 23)]
    return pa.table(
        {
            "id": pa.array(range(len(rows)), pa.int32()),
            "dt": pa.array([text for text, _ in rows], pa.string()),
            "hh": pa.array([hour for _, hour in rows], pa.int32()),
            "day": pa.array([now.date() - timedelta(days=9)] * len(rows), pa.date32()),
        }
    )


@pytest.mark.parametrize("name", RULES)
def test_the_same_partitions_go(java: JavaProcess, tmp_path: Path, name: str) -> None:
    now = datetime.now()
    life = "2 d" if name != "update-time" else "1 ms"
    options = {"partition.expiration-time": life, "bucket": "-1", "write-only": "true", **RULES[name]}
    # Paimon 1.4 takes the values of what it drops apart at commas, and cannot drop by the numbers of days of a DATE.
    keys = ("dt", "hh", "day") if name == "date column" else ("dt", "hh")
    ours, theirs = tmp_path / "ours", tmp_path / "java"
    rows = rows_around(now)
    for warehouse in (ours, theirs):
        table = create_table(warehouse, FIELDS, (), options, partition_keys=keys)
        without_commas = rows.filter(pa.array([text != "a,b" for text in rows["dt"].to_pylist()]))
        table.write_arrow(without_commas)
        table.write_arrow(without_commas.slice(0, 20))
    report = expire_partitions(table_of(str(ours)))
    gone = java.expire_partitions(str(theirs), "db.t", {"partition.expiration-check-interval": "0 s"})
    assert [tuple(spec.items()) for spec in report.expired] == gone
    assert bool(gone) == (name != "date column")
    snapshots = [table_of(str(warehouse)).snapshots for warehouse in (ours, theirs)]
    kinds = [[(s.get(i).commit_kind, s.get(i).delta_record_count) for i in s.list_ids()] for s in snapshots]
    assert kinds[0] == kinds[1]
    left = sorted(row[0] for row in java.rows(str(theirs), "db.t"))
    assert sorted(row[0] for row in java.rows(str(ours), "db.t")) == left
    assert sorted(table_of(str(ours)).to_arrow()["id"].to_pylist()) == left
    if gone:
        assert kinds[0][-1][0] == CommitKind.OVERWRITE


@pytest.mark.parametrize("bucket", ["2", "-1"])
def test_both_expire_and_go_on_in_turns(java: JavaProcess, tmp_path: Path, bucket: str) -> None:
    """Keyed tables: what is dropped takes its index of dynamic buckets along, and comes back as new."""
    options = {"partition.expiration-time": "1 d", "bucket": bucket, "write-only": "true"}
    fields = (("dt", "STRING NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
    table = create_table(tmp_path, fields, ("dt", "id"), options, partition_keys=("dt",))
    today = f"{datetime.now():%Y-%m-%d}"

    def put(version: int) -> None:
        days = ["2020-01-01", "2020-01-02", today]
        ids = pa.array([i for _ in days for i in range(5)], pa.int32())
        values = pa.array([version] * len(ids), pa.int32())
        table.write_arrow(pa.table({"dt": [day for day in days for _ in range(5)], "id": ids, "v": values}))

    warehouse = str(tmp_path)
    put(0)
    gone = java.expire_partitions(warehouse, "db.t", {"partition.expiration-check-interval": "0 s"})
    assert [dict(spec)["dt"] for spec in gone] == ["2020-01-01", "2020-01-02"]
    assert {entry.partition for entry in live(table)} == {
        group[0] for group in table.hash_files() or {}
    } or bucket != "-1"
    put(1)
    assert texts_of(expire_partitions(table).expired) == ({"dt": "2020-01-01"}, {"dt": "2020-01-02"})
    compact(None, table, full=True)
    put(2)
    assert sorted(java.rows(warehouse, "db.t")) == sorted(tuple(row.values()) for row in table.to_arrow().to_pylist())
    assert len(java.rows(warehouse, "db.t")) == 15
    java.expire_partitions(warehouse, "db.t", {"partition.expiration-check-interval": "0 s"})
    java.compact(warehouse, "db.t")
    assert sorted(java.rows(warehouse, "db.t")) == [(today, i, 2) for i in range(5)]
    assert table.to_arrow().num_rows == 5
