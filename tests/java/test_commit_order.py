"""Paimon reads the order of our commits: numbers that were raised, and rows that waited among those that did not."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.java.process import JavaProcess
from tests.models.commit_order import ENGINES, FIELDS, Record, Row, by_key, fold
from tests.races import Prepared, overtaken
from tests.tables import create_table, get_table

FIRST: list[Record] = [("+I", 1, 1, 1), ("+I", 2, 1, 1), ("+I", 3, 1, 1)]
SECOND: list[Record] = [("+I", 1, 2, None)]
THIRD: list[Record] = [("+I", 5, 9, 9), ("+I", 6, 9, 9), ("+I", 1, 2, 3), ("+I", 3, 2, None)]
FOURTH: list[Record] = [("+I", 1, 4, None), ("+I", 2, None, 4)]
STORED: tuple[dict[str, str], ...] = (
    {},
    {"file.format": "orc"},
    {"file.format": "avro"},
    {"data-file.thin-mode": "true"},
)


def read_by(java: JavaProcess, table: CatalogTable) -> dict[int, Row]:
    rows = java.rows(str(Path(table.location).parents[1]), "db.t")
    return {key: (a, b) for key, a, b in rows}


def check(java: JavaProcess, table: CatalogTable, expected: dict[int, Row]) -> None:
    assert by_key(table.to_arrow()) == expected
    assert read_by(java, table) == expected


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_committed_later_is_newer(
    java: JavaProcess, tmp_path: Path, engine: str, stored: dict[str, str]
) -> None:
    table = create_table(tmp_path, FIELDS, options={**ENGINES[engine], **stored})
    Prepared.of(table, FIRST).commit()
    slow = Prepared.of(table, SECOND)
    Prepared.of(table, THIRD).commit()
    slow.commit()
    last = Prepared.of(overtaken(table, Prepared.of(table, FIRST).commit), FOURTH)
    last.commit()
    expected = fold(engine, [FIRST, THIRD, SECOND, FIRST, FOURTH])
    if engine != "first-row":  # level 0 is not visible there
        check(java, table, expected)
    java.compact(str(tmp_path), "db.t")
    check(java, get_table(tmp_path), expected)


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "first-row"])
def test_rows_that_waited_keep_their_place(java: JavaProcess, tmp_path: Path, engine: str, expired: bool) -> None:
    options = {"bucket": "-2", "postpone.default-bucket-num": "2", **ENGINES[engine]}
    table = create_table(tmp_path, FIELDS, options=options)
    waits = table.copy({"postpone.batch-write-fixed-bucket": "false"})
    Prepared.of(table, FIRST).commit()
    java.write(str(tmp_path), "db.t", [record[1:] for record in SECOND], ["+I"])
    java.write_straight(str(tmp_path), "db.t", [record[1:] for record in THIRD], ["+I"] * len(THIRD), 2)
    Prepared.of(waits, FOURTH).commit()
    again: list[Record] = [("+I", 2, None, 8), ("+I", 7, 7, 7)]
    Prepared.of(table, again).commit()
    check(java, table, fold(engine, [FIRST, THIRD, again]))
    if expired:
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert not compact(None, table).failed
    expected = fold(engine, [FIRST, SECOND, THIRD, FOURTH, again])
    check(java, table, expected)
    java.compact(str(tmp_path), "db.t")
    check(java, get_table(tmp_path), expected)
