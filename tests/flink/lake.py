"""A table of every kind that a Flink job writes, what it writes into them, and what they must hold then.

The job reads two tables that this engine writes: `feed`, whose changelog has every row kind, and `ticks`, to which rows
are only added.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.catalog import CatalogTable
from tests.tables import create_table, get_table

# p: the partition, where there is one; n: numbers the records, so that each is another one.
COLUMNS = (("p", "INT NOT NULL"), ("k", "INT NOT NULL"), ("n", "BIGINT"), ("a", "INT"), ("b", "STRING"))
TYPES = (pa.int32(), pa.int32(), pa.int64(), pa.int32(), pa.string())
NAMES = tuple(name for name, _ in COLUMNS)
FEED, TICKS = "feed", "ticks"
KEYS = 40
Row = tuple[Any, ...]
Record = tuple[str, Row]


@dataclass(frozen=True, slots=True)
class Sink:
    """A table that the job writes. `expected`: its rows, from all records that its source had."""

    source: str
    expected: Callable[[Sequence[Record]], Sequence[Row]]
    options: Mapping[str, str]
    partitioned: bool = False
    keyed: bool = True


def newest(records: Sequence[Record]) -> list[Row]:
    """Deduplicate: the last record of each key, unless that is a deletion."""
    actual = {row[1]: (kind, row) for kind, row in records}
    return [row for kind, row in actual.values() if kind in ("+I", "+U")]


def first(records: Sequence[Record]) -> list[Row]:
    """First-row."""
    collected: dict[int, Row] = {}
    for _, row in records:
        collected.setdefault(row[1], row)
    return list(collected.values())


def partial(records: Sequence[Record]) -> list[Row]:
    """Partial-update: of each column the last value that is not null."""
    collected: dict[int, Row] = {}
    for _, row in records:
        known = collected.get(row[1], row)
        collected[row[1]] = tuple(old if new is None else new for old, new in zip(known, row, strict=True))
    return list(collected.values())


def aggregated(records: Sequence[Record]) -> list[Row]:
    """Aggregation: the sum of n, the largest a, the last b that is not null."""
    collected: dict[int, Row] = {}
    for _, (p, k, n, a, b) in records:
        _, _, total, largest, last = collected.get(k, (p, k, 0, None, None))
        largest = a if largest is None or (a is not None and a > largest) else largest
        collected[k] = (p, k, total + n, largest, last if b is None else b)
    return list(collected.values())


def every(records: Sequence[Record]) -> list[Row]:
    """Append: all rows, each as often as it was written."""
    return [row for _, row in records]


_AGGREGATES = {"n": "sum", "a": "max", "b": "last_non_null_value"}
SINKS: Mapping[str, Sink] = {
    "deduplicate": Sink(FEED, newest, {"bucket": "2"}, partitioned=True),
    "dynamic_bucket": Sink(FEED, newest, {"bucket": "-1", "dynamic-bucket.target-row-num": "15"}),
    "postpone": Sink(FEED, newest, {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}),
    "vectors": Sink(FEED, newest, {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "producer_input": Sink(FEED, newest, {"changelog-producer": "input"}),
    "producer_lookup": Sink(FEED, newest, {"changelog-producer": "lookup"}),
    "producer_full": Sink(FEED, newest, {"changelog-producer": "full-compaction"}),
    "first_row": Sink(TICKS, first, {"merge-engine": "first-row"}),
    "partial_update": Sink(TICKS, partial, {"merge-engine": "partial-update"}),
    "aggregation": Sink(
        TICKS,
        aggregated,
        {"merge-engine": "aggregation", **{f"fields.{c}.aggregate-function": f for c, f in _AGGREGATES.items()}},
    ),
    "append": Sink(TICKS, every, {"bucket": "-1"}, partitioned=True, keyed=False),
    "append_vectors": Sink(TICKS, every, {"bucket": "-1", "deletion-vectors.enabled": "true"}, keyed=False),
}
# Changelogs that a Flink job follows, each into a table of its own: this engine makes them.
FOLLOWED = ("producer_lookup", "producer_full")
CONSUMER = "follower"


def sink_job() -> list[str]:
    """The INSERTs of the job that writes all sinks."""
    return [f"INSERT INTO db.{name} SELECT * FROM db.{sink.source}" for name, sink in SINKS.items()]


def follow_job() -> list[str]:
    """The INSERTs of the job that follows the changelogs."""
    options = f"'consumer-id' = '{CONSUMER}', 'scan.snapshot-id' = '1', 'continuous.discovery-interval' = '500 ms'"
    columns = ", ".join(NAMES)
    return [
        f"INSERT INTO db.seen_{name} SELECT rowkind, {columns} FROM db.`{name}$audit_log` /*+ OPTIONS({options}) */"
        for name in FOLLOWED
    ]


@dataclass
class Lake:
    """The tables in a warehouse, and what was written into the sources: record by record, in order."""

    folder: Path
    dice: random.Random
    feed: list[Record] = field(default_factory=list)
    ticks: list[Record] = field(default_factory=list)

    def create(self) -> None:
        """Create all tables."""
        polled = {"continuous.discovery-interval": "500 ms"}
        keyed: Mapping[str, Any] = {"fields": COLUMNS, "primary_keys": ("k",)}
        create_table(self.folder, **keyed, options={**polled, "changelog-producer": "input"}, name="db.feed")
        create_table(self.folder, COLUMNS, (), {**polled, "bucket": "-1"}, name="db.ticks")
        for name, sink in SINKS.items():
            keys = () if not sink.keyed else ("p", "k") if sink.partitioned else ("k",)
            options = {
                "num-sorted-run.compaction-trigger": "3",
                "compaction.min.file-num": "3",
                "consumer.expiration-time": "1 h",
                "commit.max-retries": "100",
                **({"bucket": "1"} if sink.keyed else {}),
                **sink.options,
            }
            partitions = ("p",) if sink.partitioned else ()
            create_table(self.folder, COLUMNS, keys, options, partition_keys=partitions, name=f"db.{name}")
        for name in FOLLOWED:
            columns = (("kind", "STRING"), *COLUMNS)
            create_table(self.folder, columns, (), {"bucket": "-1"}, name=f"db.seen_{name}")

    def table(self, name: str) -> CatalogTable:
        return get_table(self.folder, f"db.{name}")

    def write(self) -> None:
        """One more commit into each source."""
        changed, added = len(self.feed), len(self.ticks)
        for _ in range(self.dice.randint(5, 15)):
            self.feed += self._change()
            self.ticks.append(("+I", self._row(self.dice.randrange(KEYS))))
        changes = self.feed[changed:]
        self.table(FEED).write_arrow(arrow_of([row for _, row in changes]), [kind for kind, _ in changes])
        self.table(TICKS).write_arrow(arrow_of([row for _, row in self.ticks[added:]]))

    def write_sinks(self) -> None:
        """One more commit into each sink, by this engine."""
        for source, records in ((FEED, self.feed), (TICKS, self.ticks)):
            more: list[Record] = [("+I", self._row(KEYS + self.dice.randrange(KEYS))) for _ in range(10)]
            records += more
            for name, sink in SINKS.items():
                if sink.source == source:
                    self.table(name).write_arrow(arrow_of([row for _, row in more]))

    def _change(self) -> list[Record]:
        """A key is inserted, changed or deleted, with what was there before, as a changelog has it."""
        key = self.dice.randrange(KEYS)
        old = {row[1]: row for row in newest(self.feed)}.get(key)
        if old is None:
            more: list[Record] = [("+I", self._row(key))]
        elif self.dice.random() < 0.3:
            more = [("-D", old)]
        else:
            more = [("-U", old), ("+U", self._row(key))]
        return more

    def _row(self, key: int) -> Row:
        number = self.dice.getrandbits(40)
        a = None if self.dice.random() < 0.3 else self.dice.randrange(1000)
        b = None if self.dice.random() < 0.3 else f"text {number}"
        return (key % 2, key, number, a, b)

    def expected(self, name: str) -> list[Row]:
        """The rows that a sink must hold."""
        sink = SINKS[name]
        return in_order(sink.expected(self.feed if sink.source == FEED else self.ticks))

    def rows(self, name: str) -> list[Row]:
        """The rows of a table, as this engine reads them."""
        return in_order(tuple(row[c] for c in NAMES) for row in self.table(name).to_arrow().to_pylist())

    def net_of_seen(self, name: str) -> Counter[Row]:
        """What the followed changelog of a sink adds up to: every row with how often it came less how often it went."""
        actual: Counter[Row] = Counter()
        for row in self.table(f"seen_{name}").to_arrow().to_pylist():
            actual[tuple(row[c] for c in NAMES)] += 1 if row["kind"] in ("+I", "+U") else -1
        return Counter({row: count for row, count in actual.items() if count})


def arrow_of(rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table([pa.array(column, data_type) for column, data_type in zip(columns, TYPES, strict=True)], NAMES)


def in_order(rows: Any) -> list[Row]:
    return sorted(rows, key=repr)
