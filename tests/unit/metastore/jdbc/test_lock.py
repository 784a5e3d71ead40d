"""Who holds a lock publishes; who has lost it does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from maintenance.catalog import Catalog, Schema, SetOption, open_catalog
from maintenance.commit.lock import LockTimeoutError
from maintenance.errors import CommitError, OptionError, UnsupportedError
from maintenance.metastore.jdbc.catalog import JdbcCatalog
from maintenance.metastore.jdbc.connections import connections_of
from maintenance.metastore.jdbc.lock import HeldRow, JdbcLock, LockSettings
from maintenance.metastore.jdbc.server import Server
from tests.tables import KEYED, files_on_disk, keyed, table_of

LOCKS = "paimon_distributed_locks"


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    if request.param == "postgresql":
        options = request.getfixturevalue("postgresql").new_database()
    waits = {
        "warehouse": f"{tmp_path}/warehouse",
        "lock.enabled": "true",
        "lock-acquire-timeout": "1 s",
        "lock-check-max-sleep": "100 ms",
    }
    actual = open_catalog({**options, **waits})
    actual.create_database("db")
    actual.create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1", "commit.max-retries": "0"}))
    return actual


def lock_of(catalog: Catalog) -> JdbcLock:
    lock = table_of(catalog).lock
    assert isinstance(lock, JdbcLock)
    return lock


def rows(catalog: Catalog) -> list[tuple[object, ...]]:
    assert isinstance(catalog, JdbcCatalog)
    return connections_of(catalog.rows.server).query(f"SELECT lock_id, expire_time_seconds FROM {LOCKS}")


def hold(catalog: Catalog, age: int, seconds: int, name: str = "jdbc.db.t") -> None:
    """Another's lock. `age`: seconds since it was taken; `seconds`: how long it counts."""
    assert isinstance(catalog, JdbcCatalog)
    on_sqlite = catalog.rows.server.protocol == "sqlite"
    since = "datetime('now', ?)" if on_sqlite else "localtimestamp + CAST(? AS INTERVAL)"
    sql = f"INSERT INTO {LOCKS} VALUES (?, {since}, ?)"
    connections_of(catalog.rows.server).change(sql, name, f"-{age} seconds", seconds)


def test_a_lock_that_another_holds(catalog: Catalog) -> None:
    hold(catalog, 0, 600)
    table = table_of(catalog)
    with pytest.raises(LockTimeoutError, match=r"'jdbc\.db\.t' was not free within 1 seconds"):
        table.write_arrow(keyed({1: "a"}))
    with pytest.raises(LockTimeoutError):
        catalog.alter_table("db.t", [SetOption("a", "b")])
    assert (table.latest_snapshot(), table_of(catalog).schema.id) == (None, 0)
    assert [path for path in files_on_disk(table) if "schema" not in str(path)] == []
    assert rows(catalog) == [("jdbc.db.t", 600)]


def test_a_lock_whose_time_is_over_is_taken(catalog: Catalog) -> None:
    hold(catalog, 10, 5)
    hold(catalog, 10, 5, "jdbc.db.other")
    table_of(catalog).write_arrow(keyed({1: "a"}))
    assert rows(catalog) == [("jdbc.db.other", 5)]


@dataclass(frozen=True)
class TakenAway:
    """A lock whose holder is so slow that another takes it meanwhile."""

    lock: JdbcLock
    catalog: Catalog

    @contextmanager
    def held(self) -> Iterator[HeldRow]:
        with self.lock.held() as row:
            connections_of(self.lock.server).change(f"DELETE FROM {LOCKS}")
            hold(self.catalog, 5, 600)  # another second than ours, even if one ends in between
            yield row


def test_who_lost_the_lock_does_not_publish(catalog: Catalog) -> None:
    table = table_of(catalog)
    slow = replace(table, lock=TakenAway(lock_of(catalog), catalog))
    with pytest.raises(CommitError, match="was lost"):
        slow.write_arrow(keyed({1: "a"}))
    assert table.latest_snapshot() is None
    assert rows(catalog) == [("jdbc.db.t", 600)], "the lock of the other is not released"


def test_a_lock_that_was_held_too_long_is_lost(catalog: Catalog) -> None:
    with lock_of(catalog).held() as row:
        row.check()
        with pytest.raises(CommitError, match="held for longer than it counts"):
            replace(row, started=row.started - 2).check()


def test_a_failure_releases_the_lock(catalog: Catalog) -> None:
    with pytest.raises(ZeroDivisionError), lock_of(catalog).held():
        raise ZeroDivisionError
    assert rows(catalog) == []


def test_databases_that_have_no_locks_are_refused() -> None:
    server = Server.of({"uri": "jdbc:mariadb://localhost/db"})
    with pytest.raises(UnsupportedError, match=r"'lock\.enabled' with a database of kind 'mariadb'"):
        LockSettings.of({}, server)
    settings = LockSettings.of({}, Server.of({"uri": "jdbc:mysql://localhost/db"}))
    assert settings == LockSettings(timedelta(minutes=8), timedelta(seconds=8))


def test_locks_are_on_where_the_store_needs_them(tmp_path: Path) -> None:
    base = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    local = open_catalog({**base, "warehouse": str(tmp_path)})
    store = open_catalog({**base, "warehouse": "memory://warehouse"})
    assert isinstance(local, JdbcCatalog)
    assert isinstance(store, JdbcCatalog)
    assert (local.locks is None, store.locks is None) == (True, False)


def test_the_longest_name_of_a_lock(tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path)}
    actual = open_catalog({**options, "lock.enabled": "true", "lock-key-max-length": "40"})
    assert isinstance(actual, JdbcCatalog)
    [(sql,)] = connections_of(actual.rows.server).query("SELECT sql FROM sqlite_master WHERE name = ?", LOCKS)
    assert "lock_id VARCHAR(40) NOT NULL" in sql
    with pytest.raises(OptionError, match="lock-key-max-length"):
        open_catalog({**options, "lock.enabled": "true", "lock-key-max-length": "0"})
