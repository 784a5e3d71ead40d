"""Commits of several jobs to the tables of a lake: ``python write_lake.py WAREHOUSE``.

Each line of its input is a command in JSON, answered with a line: ``["create", table, partition keys]``,
``["write", table, job, rows]`` with rows of (day, id, page), ``["tag", table, name]``, ``["drop", table, day]``. A job
keeps its commit user as long as this process lives; the answer to a write is that user.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import json
import sys
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

ROWS = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("page", pa.string()),
    ]
)
OPTIONS = {"bucket": "1", "write-only": "true", "num-sorted-run.compaction-trigger": "3"}


class Jobs:
    """The jobs that write to a warehouse."""

    def __init__(self, warehouse: str) -> None:
        self.catalog = CatalogFactory.create({"warehouse": warehouse})
        self.running: dict[tuple[str, str], Any] = {}

    def create(self, table: str, partition_keys: list[str]) -> str:
        self.catalog.create_database(table.partition(".")[0], True)
        schema = Schema.from_pyarrow_schema(
            ROWS, partition_keys=partition_keys, primary_keys=["day", "id"], options=OPTIONS
        )
        self.catalog.create_table(table, schema, False)
        return table

    def write(self, table: str, job: str, rows: list[tuple[str, int, str]]) -> str:
        if (table, job) not in self.running:
            builder = self.catalog.get_table(table).new_stream_write_builder()
            self.running[table, job] = [builder, builder.new_write(), builder.new_commit(), 0]
        builder, write, commit, number = self.running[table, job]
        days, ids, pages = zip(*rows, strict=True)
        write.write_arrow(pa.table([days, ids, pages], schema=ROWS))
        commit.commit(write.prepare_commit(number + 1), number + 1)
        self.running[table, job][3] = number + 1
        return str(builder.commit_user)

    def tag(self, table: str, name: str) -> str:
        self.catalog.get_table(table).create_tag(name)
        return name

    def drop(self, table: str, day: str) -> str:
        self.catalog.drop_partitions(table, [{"day": day}])
        return day


def main(warehouse: str) -> None:
    jobs = Jobs(warehouse)
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        print(getattr(jobs, command)(*arguments), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
