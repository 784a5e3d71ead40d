"""Thirteen tables of a shop, of every kind that pypaimon writes: ``python write_thirteen.py WAREHOUSE``.

`shop.orders` has two writers that work on the same buckets, a tag and a reader; a day of `shop.days` was dropped.
Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.consumer.consumer import Consumer

DAYS = 12


@dataclass(frozen=True)
class Written:
    """A table: its keys, its options, and the rows of each of its commits."""

    name: str
    primary_keys: Sequence[str] = ()
    partition_keys: Sequence[str] = ()
    options: dict[str, str] = field(default_factory=dict)
    commits: Sequence[tuple[str, Sequence[tuple[int, int]]]] = ()


def _keys(days: Sequence[int], count: int) -> list[tuple[int, int]]:
    return [(day, key) for day in days for key in range(count)]


def _of_one_day(*counts: int, writer: str = "etl") -> list[tuple[str, list[tuple[int, int]]]]:
    return [(writer, _keys((1,), count)) for count in counts]


_PK = ("day", "id")
_ORDERS = [
    (
        "backfill" if number in (6, 9) else "shops",
        _keys(range(1 + number % 3, DAYS + 1, 1 + number % 4), 60 + 20 * number),
    )
    for number in range(14)
]
TABLES = (
    Written("orders", _PK, ("day",), {"bucket": "2"}, _ORDERS),
    Written("days", _PK, ("day",), {"bucket": "1"}, [("etl", _keys((1, 2, 3), 20))]),
    Written("customers", _PK, (), {"bucket": "1"}, _of_one_day(500, 400, 300, writer="crm")),
    Written("products", _PK, (), {"bucket": "1", "file.format": "orc"}, _of_one_day(200, 50)),
    Written("prices", _PK, (), {"bucket": "1", "merge-engine": "first-row"}, _of_one_day(200, 220)),
    Written("stock", _PK, (), {"bucket": "-1"}, _of_one_day(300, 300, 300)),
    Written("payments", _PK, ("day",), {"bucket": "1", "file.format": "avro"}, [("etl", _keys((1, 2), 50))] * 2),
    Written("refunds", _PK, (), {"bucket": "1", "merge-engine": "partial-update"}, _of_one_day(80, 80)),
    Written("totals", _PK, (), {"bucket": "4", "merge-engine": "aggregation", "fields.text.aggregate-function": "max"},
            _of_one_day(100, 100)),
    Written("clicks_of_all_shops_and_of_the_app", (), (), {}, _of_one_day(*[400] * 8, writer="web")),
    Written("sessions", (), ("day",), {}, [("web", _keys((1, 2, 3), 30))] * 3),
    Written("suppliers", _PK, (), {"bucket": "1"}),
    Written("broken", _PK, (), {"bucket": "1"}, _of_one_day(10)),
)  # fmt: skip


def _rows(keys: Sequence[tuple[int, int]], text: str) -> pa.Table:
    days, ids = zip(*keys, strict=True)
    values = [pa.array(days, pa.int32()), pa.array(ids, pa.int64()), pa.array([f"{text} {key}" * 4 for key in ids])]
    return pa.table(values, schema=_SCHEMA)


_SCHEMA = pa.schema(
    [
        pa.field("day", pa.int32(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("text", pa.string()),
    ]
)


def write(catalog: Any, written: Written) -> None:
    """Create a table, and commit its rows; each writer keeps its commit user."""
    name = f"shop.{written.name}"
    options = {"write-only": "true", **written.options}
    schema = Schema.from_pyarrow_schema(
        _SCHEMA, partition_keys=list(written.partition_keys), primary_keys=list(written.primary_keys), options=options
    )
    catalog.create_table(name, schema, False)
    table = catalog.get_table(name)
    writers: dict[str, Any] = {}
    for number, (user, keys) in enumerate(written.commits, 1):
        if user not in writers:
            builder = table.new_stream_write_builder()
            builder.commit_user = user
            writers[user] = builder.new_write(), builder.new_commit()
        writing, commit = writers[user]
        writing.write_arrow(_rows(keys, f"{user} {number}"))
        commit.commit(writing.prepare_commit(number), number)


def main(warehouse: str) -> None:
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database("shop", True)
    for written in TABLES:
        write(catalog, written)
    orders = catalog.get_table("shop.orders")
    orders.create_tag("month-end", 5)
    orders.consumer_manager().reset_consumer("dashboard", Consumer(9))
    catalog.drop_partitions("shop.days", [{"day": 2}])


if __name__ == "__main__":
    main(sys.argv[1])
