"""What Dagster writes into its databases while they are kept open."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, NullPool, create_engine, text

from paimon_maintenance.assets.runs import records
from paimon_maintenance.assets.runs.records import records_kept_open

MAY_LOSE_THE_NEWEST = 1


def database(folder: Path, mode: str, name: str = "events") -> Engine:
    file = folder / f"{name}.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE events (number INTEGER)")
    return create_engine(f"sqlite:///{file}", poolclass=NullPool)


def write(engine: Engine, number: int) -> int:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO events VALUES (:number)"), {"number": number})
        return int(connection.execute(text("PRAGMA synchronous")).scalar_one())


def log_of(engine: Engine) -> Path:
    return Path(f"{engine.url.database}-wal")


def test_the_log_of_a_database_stays_until_the_run_is_over(tmp_path: Path) -> None:
    engine = database(tmp_path, "WAL")
    with records_kept_open():
        assert [write(engine, number) for number in range(3)] == [MAY_LOSE_THE_NEWEST] * 3
        assert log_of(engine).exists(), "no connection was the last one"
        with closing(sqlite3.connect(str(engine.url.database))) as other:
            assert other.execute("SELECT number FROM events").fetchall() == [(0,), (1,), (2,)]
    assert not log_of(engine).exists()
    write(engine, 3)
    assert not log_of(engine).exists(), "nothing is kept any more"


def test_a_database_without_a_log_waits_for_the_disk_as_before(tmp_path: Path) -> None:
    engine = database(tmp_path, "DELETE")
    before = write(engine, 0)
    with records_kept_open():
        assert write(engine, 1) == before


def test_few_are_open_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_MOST", 2)
    engines = [database(tmp_path, "WAL", f"run{number}") for number in range(4)]
    with records_kept_open():
        for engine in (*engines[:2], engines[0], *engines[2:]):
            write(engine, 0)
        assert [log_of(engine).exists() for engine in engines] == [False, False, True, True]
        write(engines[0], 1)
        assert [log_of(engine).exists() for engine in engines] == [True, False, False, True]
