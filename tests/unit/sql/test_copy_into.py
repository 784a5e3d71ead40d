"""COPY INTO: files into tables and rows into files, as Paimon's extension of Spark does it."""

import datetime as dt
import gzip
import json
import os
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.errors import AlreadyExistsError, DataError, NotFoundError, OptionError, SqlError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.sql import Session
from tests.answers import rows


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path / "lake")})
    session.sql("CREATE TABLE pets (id INT, name STRING, born DATE)")
    (tmp_path / "in").mkdir()
    return session


def put(tmp_path: Path, name: str, text: str) -> str:
    (tmp_path / "in" / name).write_text(text)
    return str(tmp_path / "in")


PETS = "SELECT * FROM pets ORDER BY id"


def test_fields_of_csv_go_to_columns_by_position(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "a.csv", '1,"Ada, the cat",2020-02-29\n2,,\n\n3,"",2021-01-01\n')
    actual = session.sql(f"COPY INTO pets FROM '{folder}/' FILE_FORMAT = (TYPE = CSV)").to_arrow()
    assert actual.column_names == ["file_name", "status", "rows_loaded", "rows_parsed", "errors_seen", "first_error"]
    assert actual.to_pylist()[0] == {
        "file_name": "a.csv", "status": "LOADED", "rows_loaded": 3, "rows_parsed": 3, "errors_seen": 0,
        "first_error": None,
    }  # fmt: skip
    assert rows(session, PETS) == [
        (1, "Ada, the cat", dt.date(2020, 2, 29)), (2, None, None), (3, None, dt.date(2021, 1, 1)),
    ]  # fmt: skip


def test_loaded_texts_get_the_lengths_of_their_columns(session: Session, tmp_path: Path) -> None:
    session.sql("CREATE TABLE codes (code CHAR(3), name VARCHAR(4))")
    folder = put(tmp_path, "a.csv", "a,Ada    \nbc   ,\n,ä\n")
    load = f"COPY INTO codes FROM '{folder}' FILE_FORMAT = (TYPE = CSV)"
    session.sql(load)
    stored = session.table(("codes",)).to_arrow().to_pylist()
    assert [tuple(row.values()) for row in stored] == [("a  ", "Ada "), ("bc ", None), (None, "ä")]
    put(tmp_path, "b.csv", "d,Diana\n")
    with pytest.raises(DataError, match=r"a value of length 5 in column 'name', which is VARCHAR\(4\)"):
        session.sql(load)


def test_options_of_csv_say_how_fields_are_read(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "a.csv", "id|name|born\n1|\\N|2020-01-01\n2|NULL|-\n3|'it''s | '|\n")
    session.sql(
        f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (type = csv, FIELD_DELIMITER = '|', SKIP_HEADER = 1,"
        r" QUOTE = '\'', ESCAPE = '\'', NULL_IF = ('NULL', '\\N', '-'), EMPTY_FIELD_AS_NULL = TRUE)"
    )
    day = dt.date(2020, 1, 1)
    assert rows(session, PETS) == [(1, None, day), (2, None, None), (3, "it's | ", None)]


def test_a_file_is_loaded_once(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "a.csv", "1,Ada,\n")
    load = f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = CSV)"
    session.sql(load)
    put(tmp_path, "b.csv", "2,Bob,\n")
    put(tmp_path, "_SUCCESS", "")
    assert [row[:3] for row in rows(session, load)] == [("b.csv", "LOADED", 1), ("a.csv", "SKIPPED", 0)]
    again = session.sql(load)
    assert again.nothing_to_do
    assert [row[1] for row in rows(session, f"{load} FORCE = FALSE")] == ["SKIPPED", "SKIPPED"]
    os.utime(Path(folder) / "a.csv", (1, 1))
    assert [row[1] for row in rows(session, load)] == ["LOADED", "SKIPPED"]
    assert [row[1] for row in rows(session, f"{load} PATTERN = '^b.*\\.csv$' FORCE = TRUE")] == ["LOADED"]
    assert [row[0] for row in rows(session, PETS)] == [1, 1, 2, 2]
    folder_of_history = tmp_path / "lake" / "default.db" / "pets" / "copy-into" / "history"
    records = [json.loads(path.read_text()) for path in folder_of_history.iterdir()]
    [kept] = [record for record in records if record["lastModified"] == 1000]
    assert kept["filePath"] == f"file:{folder}/a.csv"
    assert kept["rowsLoaded"] == 1


BAD = "1,Ada,2020-01-01\nx,Bob,2020-01-01\n3,Cy\n4,Dee,2020-01-01,more\n5,Eve,someday\n"


def test_a_wrong_record_aborts_the_statement_and_nothing_is_loaded(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "bad.csv", BAD)
    put(tmp_path, "good.csv", "9,Ina,\n")
    with pytest.raises(DataError, match="4 of 5 records are no rows of the table: malformed record: 3,Cy"):
        session.sql(f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = CSV)")
    assert rows(session, PETS) == []
    with pytest.raises(DataError, match="column 'id' has values that are not INT"):
        session.sql(f"COPY INTO pets FROM '{put(tmp_path, 'bad.csv', '1.5,a,')}' FILE_FORMAT = (TYPE = CSV)")


def test_errors_are_passed_over(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "bad.csv", BAD)
    put(tmp_path, "good.csv", "9,Ina,\n")
    put(tmp_path, "worst.csv", "x,y,z\n")
    load = f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = CSV) ON_ERROR ="
    assert rows(session, f"{load} SKIP_FILE") == [
        ("bad.csv", "LOAD_FAILED", 0, 5, 4, "malformed record: 3,Cy"),
        ("good.csv", "LOADED", 1, 1, 0, None),
        ("worst.csv", "LOAD_FAILED", 0, 1, 1, "column 'id' has values that are not INT"),
    ]
    assert [row[:5] for row in rows(session, f"{load} CONTINUE")] == [
        ("bad.csv", "PARTIALLY_LOADED", 1, 5, 4),
        ("worst.csv", "LOAD_FAILED", 0, 1, 1),
        ("good.csv", "SKIPPED", 0, 0, 0),
    ]
    assert [row[0] for row in rows(session, PETS)] == [1, 9]


def test_doubled_quotes_need_the_escape_that_says_so(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "a.csv", '1,"the ""best""",\n')
    with pytest.raises(DataError, match="malformed record"):
        session.sql(f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = CSV)")
    session.sql(f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = CSV, ESCAPE = '\"')")
    assert rows(session, PETS) == [(1, 'the "best"', None)]


def test_fields_of_json_go_to_columns_by_name(session: Session, tmp_path: Path) -> None:
    folder = put(tmp_path, "a.json", '{"name": "Ada", "id": 1, "more": [1]}\n\n{"id": "2", "name": {"a": 1.10}}\n')
    session.sql(f"COPY INTO pets FROM '{folder}' FILE_FORMAT = (TYPE = JSON, NULL_IF = ('x'))")
    assert rows(session, PETS) == [(1, "Ada", None), (2, '{"a":1.10}', None)]
    put(tmp_path, "b.json", '[{"id": 3,\n "name": ""},\n {"id": 4}]')
    whole = "FILE_FORMAT = (TYPE = JSON, MULTI_LINE = TRUE, EMPTY_FIELD_AS_NULL = TRUE)"
    session.sql(f"COPY INTO pets FROM '{folder}' {whole} PATTERN = 'b'")
    assert rows(session, f"{PETS} LIMIT 2 OFFSET 2") == [(3, None, None), (4, None, None)]
    put(tmp_path, "c.json", '{"id": 5}\n{"id": \n7\n{"id": 6}\n')
    load = f"COPY INTO pets FROM '{folder}/c.json' FILE_FORMAT = (TYPE = JSON)"
    with pytest.raises(DataError, match="2 of 4 records"):
        session.sql(load)
    assert rows(session, f"{load} ON_ERROR = CONTINUE")[0][1:5] == ("PARTIALLY_LOADED", 2, 4, 2)


def test_columns_of_parquet_go_to_columns_by_name(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "in" / "a.parquet"
    pq.write_table(pa.table({"NAME": ["Ada", None], "id": pa.array([1, 2**40]), "other": [1, 2]}), path)
    load = f"COPY INTO pets FROM '{path.parent}' FILE_FORMAT = (TYPE = PARQUET)"
    with pytest.raises(DataError, match="column 'id' has values that are not INT"):
        session.sql(load)
    assert rows(session, f"{load} ON_ERROR = CONTINUE")[0][1:5] == ("PARTIALLY_LOADED", 1, 2, 1)
    assert rows(session, PETS) == [(1, "Ada", None)]
    pq.write_table(pa.table({"id": ["7", " 8 "], "born": ["2020-01-01", "2020-1-2"]}), path)
    session.sql(load)
    assert rows(session, PETS)[1:] == [(7, None, dt.date(2020, 1, 1)), (8, None, dt.date(2020, 1, 2))]


def test_named_columns_are_filled_and_others_get_their_defaults(session: Session, tmp_path: Path) -> None:
    session.sql("CREATE TABLE d (id INT NOT NULL, kind STRING DEFAULT 'dog', name STRING)")
    folder = put(tmp_path, "a.csv", "Rex,1\n")
    session.sql(f"COPY INTO d (NAME, id) FROM '{folder}' FILE_FORMAT = (TYPE = CSV)")
    assert rows(session, "SELECT * FROM d") == [(1, "dog", "Rex")]
    for columns, problem in {
        "(name)": "column 'id' needs a value",
        "(id, nam)": "Did you mean 'name'",
        "(id, ID)": "'ID' is given twice",
    }.items():
        with pytest.raises(SqlError, match=problem):
            session.sql(f"COPY INTO d {columns} FROM '{folder}' FILE_FORMAT = (TYPE = CSV)")


def test_values_of_every_type(session: Session, tmp_path: Path) -> None:
    session.sql(
        "CREATE TABLE v (b BOOLEAN, l BIGINT, f DOUBLE, p DECIMAL(5, 2), t TIMESTAMP_NTZ, z TIMESTAMP, c BINARY,"
        " s STRING)"
    )
    text = "true, 7 ,1.5e3,12.345,2024-02-29T10:00:00.5,2024-02-29T10:00:00.000+02:00,ab,x\n"
    folder = put(tmp_path, "a.csv", text + ",,,12345.6,,,,\n")
    load = f"COPY INTO v FROM '{folder}' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE"
    assert rows(session, load)[0][2:5] == (1, 2, 1)
    [row] = rows(session, "SELECT * FROM v")
    zone = dt.UTC
    assert row[:4] == (True, 7, 1500.0, Decimal("12.35"))
    assert row[4] == dt.datetime(2024, 2, 29, 10, 0, 0, 500000)
    assert row[5] == dt.datetime(2024, 2, 29, 8, tzinfo=zone)
    assert row[6:] == (b"ab", "x")
    session.sql("CREATE TABLE a (x ARRAY<INT>)")
    with pytest.raises(UnsupportedError, match="column 'x' of type"):
        session.sql(f"COPY INTO a FROM '{folder}' FILE_FORMAT = (TYPE = JSON)")


def test_what_was_written_can_be_loaded(session: Session, tmp_path: Path) -> None:
    session.sql(
        "CREATE TABLE w (id INT, s STRING, f DOUBLE, p DECIMAL(9, 3), d DATE, t TIMESTAMP_NTZ, z TIMESTAMP, b BOOLEAN)"
    )
    session.sql(
        r"""INSERT INTO w VALUES (1, 'a "quote", \\ and' , 1.5D, 2.25, DATE '2024-02-29',
        TIMESTAMP_NTZ '2024-02-29 10:00:00.123', TIMESTAMP '2024-02-29 10:00:00Z', true),
        (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', DOUBLE('Infinity'), 0, NULL, NULL, NULL, false)"""
    )
    kept = written = rows(session, "SELECT * FROM w ORDER BY id")
    for form, end in (("JSON, COMPRESSION = GZIP", ".json.gz"), ("PARQUET", ".snappy.parquet"), ("CSV", ".csv")):
        out = tmp_path / "out" / form[:3]
        actual = rows(session, f"COPY INTO '{out}' FROM default.w FILE_FORMAT = (TYPE = {form})")
        assert actual == [(str(out), 1, 3)]
        [file] = out.glob("part-*")
        assert file.name.endswith(end)
        session.sql("TRUNCATE TABLE w")
        if form == "CSV":
            written = [(*row[:1], row[1] or None, *row[2:]) for row in kept]
        session.sql(f"COPY INTO w FROM '{out}' FILE_FORMAT = (TYPE = {form})")
        assert rows(session, "SELECT * FROM w ORDER BY id") == written


def test_texts_that_are_written(session: Session, tmp_path: Path) -> None:
    query = "(SELECT 1 AS id, 'a,b' AS s, CAST(NULL AS INT) AS n, TIMESTAMP_NTZ '2024-02-29 10:00:00' AS t)"
    session.sql(f"COPY INTO '{tmp_path}/c' FROM {query} FILE_FORMAT = (TYPE = CSV, HEADER = TRUE)")
    [file] = (tmp_path / "c").glob("part-*")
    assert file.read_text() == 'id,s,n,t\n1,"a,b",,2024-02-29T10:00:00.000\n'
    assert (tmp_path / "c" / "_SUCCESS").exists()
    query = "(SELECT named_struct('a', 1, 'b', NULL) AS r, array(1, 2) AS l, CAST(NULL AS INT) AS n, X'6162' AS x)"
    session.sql(f"COPY INTO '{tmp_path}/j' FROM {query} FILE_FORMAT = (TYPE = JSON, COMPRESSION = GZIP)")
    [file] = (tmp_path / "j").glob("part-*")
    assert gzip.decompress(file.read_bytes()) == b'{"r":{"a":1},"l":[1,2],"x":"YWI="}\n'


def test_a_folder_is_overwritten_only_if_told(session: Session, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write = f"COPY INTO '{out}' FROM (VALUES (1), (2)) FILE_FORMAT = (TYPE = CSV)"
    session.sql(write)
    with pytest.raises(AlreadyExistsError, match="the folder exists"):
        session.sql(f"{write} OVERWRITE = FALSE")
    session.sql(f"{write} OVERWRITE = TRUE")
    assert len(list(out.glob("part-*"))) == 1
    for place in (tmp_path, tmp_path / "lake", tmp_path / "lake" / "default.db"):
        with pytest.raises(OptionError, match="has tables of the warehouse"):
            session.sql(f"COPY INTO '{place}' FROM pets FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE")
    assert rows(session, PETS) == []


@pytest.mark.parametrize(
    ("rest", "error", "problem"),
    [
        ("pets FROM 'x'", SqlError, "FILE_FORMAT is expected"),
        ("pets FROM '/nowhere' FILE_FORMAT = (TYPE = CSV)", NotFoundError, "no such folder"),
        ("pets FROM 'x' FILE_FORMAT = (QUOTE = '\"')", OptionError, "no TYPE"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = ORC)", UnsupportedError, "type ORC"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV, TYPE = CSV)", SqlError, "TYPE is given twice"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = JSON, QUOTE = '\"')", OptionError, "no option QUOTE"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 2)", OptionError, "0 or 1"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV, COMPRESSION = LZO)", UnsupportedError, "LZO"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV) PATTERN = '('", OptionError, "no regular expression"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV) ON_ERROR = IGNORE", SqlError, "ABORT_STATEMENT or CONTINUE"),
        ("pets FROM 'x' FILE_FORMAT = (TYPE = CSV) FORCE = TRUE FORCE = TRUE", SqlError, "each once"),
        ("'x' FROM pets FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1)", OptionError, "no option SKIP_HEADER"),
        ("'x' FROM pets FILE_FORMAT = (TYPE = JSON, DATE_FORMAT = 'y')", UnsupportedError, "DATE_FORMAT"),
        ("'x' FROM (DELETE FROM pets) FILE_FORMAT = (TYPE = CSV)", SqlError, "only a query"),
        ("'x' FROM () FILE_FORMAT = (TYPE = CSV)", SqlError, "an expression is expected"),
    ],
)
def test_wrong_statements_are_refused_with_the_reason(
    session: Session, rest: str, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        session.sql(f"COPY INTO {rest}")


def test_it_is_of_sparks_dialect(session: Session) -> None:
    session.dialect = "flink"
    with pytest.raises(UnsupportedError, match="Spark's dialect"):
        session.sql("COPY INTO pets FROM 'x' FILE_FORMAT = (TYPE = CSV)")


def test_what_is_overwritten_stays_until_its_replacement_is_there(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.sql("INSERT INTO pets VALUES (1, 'Ada', DATE '2020-02-29')")
    out = tmp_path / "out"
    (out / "inner").mkdir(parents=True)
    for name in ("old.csv", "inner/older.csv"):
        (out / name).write_text("7\n")
    statement = f"COPY INTO '{out}' FROM pets FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE"

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FileIO, "write_bytes", fails)
        with pytest.raises(SqlError, match="full"):
            session.sql(statement)
    assert sorted(path.name for path in out.rglob("*.csv")) == ["old.csv", "older.csv"]
    session.sql(statement)
    assert sorted(path.suffix for path in out.iterdir()) == ["", ".csv"]
    assert next(out.glob("part-*.csv")).read_text() == "1,Ada,2020-02-29\n"
