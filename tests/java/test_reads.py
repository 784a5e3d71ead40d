"""Tables of Java with options that change how they are read: what Java writes reads the same here."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.java.process import JavaProcess
from tests.tables import get_table

COLUMNS = (("k", "INT NOT NULL"), ("p", "INT NOT NULL"), ("v", "STRING"), ("n", "INT"))
DELETING = {"deletion-vectors.enabled": "true"}
# By name: primary key, partition keys, options. `{folder}` is one that external paths may use.
TABLES = {
    "dv-parquet": (["k"], [], {"bucket": "2", **DELETING}),
    "dv-orc-64": (["k"], [], {"bucket": "1", **DELETING, "deletion-vectors.bitmap64": "true", "file.format": "orc"}),
    "dv-avro-partitioned": (["p", "k"], ["p"], {"bucket": "1", **DELETING, "file.format": "avro"}),
    "dv-write-only": (["k"], [], {"bucket": "1", **DELETING, "write-only": "true"}),
    "dv-elsewhere": (
        ["p", "k"],
        ["p"],
        {
            "bucket": "2",
            **DELETING,
            "data-file.external-paths": "file://{folder}/a,file://{folder}/b",
            "data-file.external-paths.strategy": "round-robin",
            "index-file-in-data-file-dir": "true",
        },
    ),
    "dv-beside-data": (["k"], [], {"bucket": "1", **DELETING, "index-file-in-data-file-dir": "true"}),
    "lookup": (["k"], [], {"bucket": "1", "changelog-producer": "lookup"}),
    "input": (["k"], [], {"bucket": "2", "changelog-producer": "input"}),
    "force-lookup": (["k"], [], {"bucket": "1", "force-lookup": "true"}),
    "record-level-expire": (
        ["k"],
        [],
        {"bucket": "1", "record-level.expire-time": "1 s", "record-level.time-field": "n"},
    ),
    "append-external": (
        [],
        ["p"],
        {
            "bucket": "-1",
            "data-file.external-paths": "file://{folder}/a",
            "data-file.external-paths.strategy": "round-robin",
        },
    ),
    "row-tracking": ([], [], {"bucket": "-1", "row-tracking.enabled": "true"}),
    "data-evolution": ([], [], {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}),
}


def created(java: JavaProcess, folder: Path, name: str) -> str:
    keys, partitions, options = TABLES[name]
    warehouse = str(folder / "warehouse")
    filled = {key: text.replace("{folder}", str(folder)) for key, text in options.items()}
    java.create_table(warehouse, "db.t", COLUMNS, (keys, partitions), filled)
    return warehouse


@pytest.mark.parametrize("name", TABLES)
def test_both_read_the_same(java: JavaProcess, tmp_path: Path, name: str) -> None:
    warehouse = created(java, tmp_path, name)
    drawn = random.Random(name)
    keyed = bool(TABLES[name][0])
    counts = set()
    for number in range(5):
        rows = [(k, k % 2, f"{number}-{k}", drawn.randrange(50)) for k in drawn.sample(range(24), 10)]
        kinds = [drawn.choice(["+I", "+I", "-D"]) if keyed else "+I" for _ in rows]
        java.write(warehouse, "db.t", rows, kinds)
        theirs = sorted(java.rows(warehouse, "db.t"), key=str)
        assert read(warehouse) == theirs
        for condition, where in (
            (("greaterThan", "n", 25), "n > 25"),
            (("lessOrEqual", "k", 7), "k <= 7"),
            (("equal", "v", f"{number}-3"), f"v = '{number}-3'"),
        ):
            (actual,) = java.tested(warehouse, "db.t", "k", [condition])
            assert sorted(row[0] for row in read(warehouse, where)) == sorted(actual)
        counts.add(len(theirs))
    assert counts != {0} or name == "dv-write-only"


def read(warehouse: str, where: str | None = None) -> list[tuple[Any, ...]]:
    rows = get_table(warehouse).to_arrow(where=where)
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True), key=str)
