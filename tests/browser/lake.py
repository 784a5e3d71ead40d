"""A lake that only pypaimon writes, in an environment and a process of its own, and a tables.yaml of one pattern."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maintenance.catalog import CatalogTable, open_catalog
from tests.pypaimon.process import PYTHON, ROOT

CLICKS, RETURNS, STOCK, DAYS, LATER = (f"lake.{name}" for name in ("clicks", "returns", "stock", "days", "later"))
TAG = "month-end"
DROPPED, KEPT = "2026-01-01", "2026-01-02"

_TABLES = """
warehouse: {warehouse}
radar: {{judge_again: 1 min}}
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 2
patterns:
  - pattern: lake.*
"""
_RETENTION = """tables:
  - identifier: {table}
    retention: {{keep_at_least: 1, keep_at_most: 2, time_retained: 1 s}}
"""


@dataclass(frozen=True)
class Lake:
    """The lake below `folder`, and the process that writes it."""

    folder: Path
    process: "subprocess.Popen[str]"

    @property
    def yaml(self) -> Path:
        return self.folder / "tables.yaml"

    @property
    def warehouse(self) -> str:
        return str(self.folder / "lake")

    def do(self, command: str, *arguments: Any) -> str:
        """Let pypaimon carry out a command of `write_lake`. Returns its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([command, *arguments]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer, f"pypaimon ended with code {self.process.poll()}"
        return answer

    def write(self, table: str, job: str, first: int, days: tuple[str, ...] = (KEPT,)) -> str:
        """Commit three rows for each day. Returns the commit user."""
        return self.do("write", table, job, [(day, first + row, job) for day in days for row in range(3)])

    def fill(self) -> None:
        """The tables as they are when the walk begins: two commits each, and of one a day that was dropped."""
        for name in (CLICKS, RETURNS, STOCK):
            self.do("create", name, [])
            for number in range(2):
                self.write(name, "etl", number)
        self.do("create", DAYS, ["day"])
        self.write(DAYS, "etl", 0, (DROPPED, KEPT))
        self.do("tag", DAYS, TAG)
        self.do("drop", DAYS, DROPPED)
        self.yaml.write_text(_TABLES.format(warehouse=self.warehouse))

    def shorten_retention(self, table: str) -> None:
        """Give one table a retention of its own in tables.yaml."""
        self.yaml.write_text(_TABLES.format(warehouse=self.warehouse) + _RETENTION.format(table=table))

    def table(self, name: str) -> CatalogTable:
        table = open_catalog({"warehouse": self.warehouse}).get_table(name)
        assert isinstance(table, CatalogTable)
        return table

    def kind(self, name: str) -> str:
        """Of the newest snapshot."""
        latest = self.table(name).latest_snapshot()
        return "" if latest is None else str(latest.commit_kind)


@contextmanager
def foreign_lake(folder: Path, python: Path = PYTHON) -> Iterator[Lake]:
    """A filled lake; its writer ends with the context. `python`: of pypaimon's environment."""
    command = [python, ROOT / "tests" / "pypaimon" / "write_lake.py", folder / "lake"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        lake = Lake(folder, process)
        lake.fill()
        yield lake
    finally:
        process.communicate()
