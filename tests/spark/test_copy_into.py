"""COPY INTO beside Spark's own readers and writers of files."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.sql import Session

ROWS = r"""SELECT * FROM VALUES
 (1, 'a,b', 1.5D, 2.25BD, DATE '2024-02-29', TIMESTAMP_NTZ '2024-02-29 10:00:00.123456', true),
 (2, 'say "x"', DOUBLE('NaN'), -0.01BD, NULL, TIMESTAMP_NTZ '1969-12-31 23:59:59', NULL),
 (3, '', 1e20D, NULL, DATE '0001-01-01', NULL, false), (4, 'back\\slash', -0.0D, 3.00BD, NULL, NULL, NULL),
 (5, 'two
lines', DOUBLE('-Infinity'), 1.10BD, NULL, NULL, NULL), (6, NULL, 1.0E-5D, NULL, NULL, NULL, NULL),
 (7, 'a edge', 123456789.125D, NULL, NULL, NULL, NULL), (8, 'a\\"b,', 100D, NULL, NULL, NULL, NULL)
 AS t(id, s, f, p, d, ts, b)"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path / "lake")})
    session.sql("CREATE TABLE w (id INT, s STRING, f DOUBLE, p DECIMAL(9, 2), d DATE, ts TIMESTAMP_NTZ, b BOOLEAN)")
    session.sql(f"INSERT INTO w {ROWS}")
    return session


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_same_texts_are_written(tmp_path: Path, spark: SparkSession, session: Session, form: str) -> None:
    frame = spark.sql(ROWS).orderBy("id").coalesce(1)
    getattr(frame.write, form)(str(tmp_path / "theirs"))
    session.sql(f"COPY INTO '{tmp_path / 'ours'}' FROM (SELECT * FROM w ORDER BY id) FILE_FORMAT = (TYPE = {form})")
    theirs, ours = (
        "".join(path.read_text() for path in sorted((tmp_path / name).glob("part-*"))) for name in ("theirs", "ours")
    )
    if form == "json":  # numbers may be written in other ways
        assert [list(json.loads(line).items()) for line in ours.splitlines()] == [
            list(json.loads(line).items()) for line in theirs.splitlines()
        ]
    else:
        assert ours == theirs


TEXTS = r"""1,plain,x
2,"with, comma",x
3,"quote \" inside",x
4,"",x
5,,x
6, spaces ,x
7,un"quoted,x
8,back\slash,x

10,"a\\b",x
11,few
12,too,many,fields
"""


def test_the_same_texts_are_read(tmp_path: Path, spark: SparkSession, session: Session) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text(TEXTS)
    read = spark.read.schema("id STRING, s STRING, x STRING").options(mode="DROPMALFORMED")
    theirs = sorted((row["id"], row["s"]) for row in read.csv(str(tmp_path / "in")).collect() if row["x"] == "x")
    session.sql("CREATE TABLE r (id STRING, s STRING, x STRING)")
    load = f"COPY INTO r FROM '{tmp_path / 'in'}' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE"
    session.sql(load)
    ours = sorted((row["id"], row["s"]) for row in session.sql("SELECT * FROM r").to_arrow().to_pylist())
    assert ours == theirs
