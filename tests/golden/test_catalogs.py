"""Every call of a recorded catalog of Apache Paimon has the same outcome here, and stores the same rows."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.catalog_replay import Replay, by_hand, steps_of

Row = tuple[str, ...]
LOCKS = "paimon_distributed_locks"


def test_the_filesystem_catalog_answers_as_recorded(tmp_path: Path) -> None:
    _, steps = steps_of("filesystem_refusals", tmp_path / "warehouse")
    Replay({"warehouse": str(tmp_path / "warehouse")}).replay(steps)


@pytest.mark.parametrize("case", ["jdbc_sqlite", "jdbc_options", "object_tables"])
def test_the_jdbc_catalog_answers_and_stores_as_recorded(tmp_path: Path, case: str) -> None:
    options, steps = steps_of(case, tmp_path / "warehouse")
    file = tmp_path / "catalog.db"
    expected: Counter[Row] = Counter()

    def compare(number: int, step: Any) -> None:
        for table, change in step.get("stored", {}).items():
            if table != "initial":
                expected.update(_row(table, row) for row in change.get("added", ()))
                expected.subtract(_row(table, row) for row in change.get("removed", ()))
                if by_hand(step):
                    _change(file, table, change)
        assert _stored(file) == +expected, f"after step {number}: {step['op']} {step['args']}"

    Replay({**options, "uri": f"jdbc:sqlite:{file}"}).replay(steps, compare)


def _stored(file: Path) -> Counter[Row]:
    with closing(sqlite3.connect(file)) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names if name != LOCKS}
    return Counter(_row(name, row) for name, actual in rows.items() for row in actual)


def _row(table: str, values: list[str]) -> Row:
    """A row as text. Java's order inside the dialects and options of a view is that of its hash map."""
    if table != "paimon_views":
        return (table, *values)
    form = json.loads(values[3])
    lines = sorted(line.rstrip(",") for line in values[3].splitlines())
    return (table, *values[:3], "\n".join(lines), str(list(form)))


def _change(file: Path, table: str, change: Any) -> None:
    """Make a change that somebody else made."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        for row in change.get("removed", ()):
            connection.execute(f"DELETE FROM {table} WHERE {' AND '.join(f'{c} = ?' for c in columns)}", row)
        for row in change.get("added", ()):
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
