"""Connections to the database of a catalog are closed by the process that opened them, and by nobody else."""

import gc
import os
import sqlite3
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from maintenance.catalog import open_catalog
from maintenance.metastore.jdbc import connections as module
from maintenance.metastore.jdbc.connections import Connections, connections_of
from maintenance.metastore.jdbc.server import Server


class Opened:
    """A connection that only knows whether it is open."""

    def __init__(self) -> None:
        self.is_open, self.cursor = True, MagicMock()
        self.cursor.return_value.fetchall.return_value = []

    def close(self) -> None:
        self.is_open = False


@dataclass
class Fake:
    """A server by its connections."""

    opened: list[Opened] = field(default_factory=list)
    protocol: str = "postgresql"
    in_memory: bool = False
    is_file: bool = False
    pool_size: int = 2

    def connect(self) -> Opened:
        self.opened.append(Opened())
        return self.opened[-1]


def used(server: Any) -> Connections:
    connections = Connections(server)
    connections.query("SELECT 1")
    connections.query("SELECT 1")
    return connections


def test_they_are_kept_and_closed_with_their_owner() -> None:
    server = Fake()
    connections = used(server)
    assert [one.is_open for one in server.opened] == [True], "one serves both statements"
    connections.close()
    assert [one.is_open for one in server.opened] == [False]
    server = Fake()
    connections = used(server)
    del connections
    gc.collect()
    assert [one.is_open for one in server.opened] == [False]


def test_a_process_that_was_forked_leaves_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Fake()
    connections = used(server)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    del connections
    gc.collect()
    assert [one.is_open for one in server.opened] == [True]


def test_a_process_that_was_forked_opens_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server.of({"uri": "jdbc:postgresql://h/db-of-the-fork"})
    ours, child = connections_of(server), os.getpid() + 1
    assert connections_of(server) is ours
    monkeypatch.setattr(os, "getpid", lambda: child)
    assert connections_of(server) is not ours


@pytest.mark.parametrize("name", ["postgresql", "mariadb"])
def test_none_is_left_open(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Neither of catalogs that nobody has closed, more of them than a process remembers, nor at its end."""
    options = {**request.getfixturevalue(name).new_database(), "warehouse": str(tmp_path)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            open_catalog(options).list_databases()
            module._connections.cache_clear()
            gc.collect()
    assert not caught
    text = f"from maintenance.catalog import open_catalog\nopen_catalog({options!r}).list_databases()"
    done = subprocess.run([sys.executable, "-X", "dev", "-c", text], capture_output=True, text=True, check=True)
    assert "ResourceWarning" not in done.stderr


def test_a_file_of_sqlite_is_opened_once_unless_another_takes_its_place(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    connections = Connections(Server("sqlite", str(path)))
    connections.change("CREATE TABLE t (a INT)")
    with patch.object(Server, "connect", autospec=True, side_effect=Server.connect) as connect:
        for number in range(20):
            connections.change("INSERT INTO t VALUES (?)", number)
        assert connect.call_count == 1, "the first statement made the file"
        other = tmp_path / "other.db"
        with sqlite3.connect(other) as made:
            made.execute("CREATE TABLE t (a INT)")
        made.close()
        other.replace(path)
        assert connections.query("SELECT a FROM t") == []
        assert connect.call_count == 2
    connections.close()
