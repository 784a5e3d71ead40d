"""DELETE, UPDATE and MERGE of this engine as the Java core reads them, and what it goes on to do with such tables."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.merge_clauses import Clause
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, keyed, state

VECTORS = {"deletion-vectors.enabled": "true"}
PARTIAL = {"merge-engine": "partial-update"}
AGGREGATION = {"merge-engine": "aggregation", "fields.v.aggregate-function": "max"}
ENGINES: Mapping[str, tuple[Mapping[str, str], bool]] = {
    "deduplicate": ({}, True),
    "deduplicate, vectors": (VECTORS, True),
    "deduplicate, vectors, ignore-delete": ({**VECTORS, "ignore-delete": "true"}, True),
    "partial-update": (PARTIAL, True),
    "partial-update, vectors": ({**PARTIAL, **VECTORS}, True),
    "partial-update, removing": ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, True),
    "aggregation": (AGGREGATION, False),
    "aggregation, vectors": ({**AGGREGATION, **VECTORS}, False),
    "aggregation, removing": ({**AGGREGATION, "aggregation.remove-record-on-delete": "true"}, False),
    "first-row": ({"merge-engine": "first-row"}, False),
}
BUCKETS: Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "fixed": ({"bucket": "2"}, ()),
    "dynamic": ({"bucket": "-1", "dynamic-bucket.target-row-num": "7"}, ()),
    "cross-partition": ({"bucket": "-1", "dynamic-bucket.target-row-num": "7"}, ("v",)),
    "postpone": ({"bucket": "-2"}, ()),
}
CELLS = [(engine, "fixed") for engine in ENGINES] + [
    (engine, buckets)
    for buckets in ("dynamic", "cross-partition", "postpone")
    for engine in ("deduplicate", "partial-update", "first-row")
]


def settled(table: CatalogTable) -> CatalogTable:
    assert not compact(None, table, full=True).failed
    return table


def check(java: JavaProcess, folder: Path, expected: Mapping[int, str | None]) -> None:
    assert state(get_table(folder)) == expected
    assert sorted(java.rows(str(folder), "db.t")) == sorted(expected.items())


@pytest.mark.parametrize(("engine", "buckets"), CELLS)
def test_java_reads_and_continues(java: JavaProcess, tmp_path: Path, engine: str, buckets: str) -> None:
    options, updates = ENGINES[engine]
    places, partitions = BUCKETS[buckets]
    table = create_table(tmp_path, options={**options, **places}, partition_keys=partitions)
    expected: dict[int, str | None] = {n: f"v{n % 3}" for n in range(20)}
    table.write_arrow(keyed(expected))
    settled(table)
    assert table.delete("id IN (3, 4, 15, 99)").deleted_rows == 3
    settled(table)
    expected = {n: v for n, v in expected.items() if n not in (3, 4, 15)}
    check(java, tmp_path, expected)
    assert table.delete("v = 'v1' AND id > 9").deleted_rows == 4
    settled(table)
    expected = {n: v for n, v in expected.items() if n <= 9 or v != "v1"}
    check(java, tmp_path, expected)
    if updates and not (partitions and "partial" in engine):
        assert table.update({"v": "'v2'"}, "id IN (0, 1)").updated_rows == 2
        source = keyed({1: "v0", 5: "v0", 15: "v9"})
        table.merge(source, "t.id = s.id", [Clause("matched", "update"), Clause("not_matched", "insert")])
        settled(table)
        expected |= {0: "v2", 1: "v0", 5: "v0", 15: "v9"}
        check(java, tmp_path, expected)
    # Java writes deleted keys again, compacts, and the others stay deleted.
    rows = [(3, "v9"), (16, "v9"), (50, "v9")]
    if buckets == "fixed":
        java.write(str(tmp_path), "db.t", rows)
    elif buckets == "dynamic":
        java.write_dynamic(str(tmp_path), "db.t", rows, ["+I"] * len(rows))
    else:
        get_table(tmp_path).write_arrow(keyed(dict(rows)))
    expected |= dict(rows)
    if buckets != "postpone":
        java.compact(str(tmp_path), "db.t")
    if buckets == "fixed":
        check(java, tmp_path, expected)
    settled(get_table(tmp_path))
    check(java, tmp_path, expected)
    assert java.orphans(str(tmp_path), "db.t") == []
