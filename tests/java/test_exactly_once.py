"""A numbered commit is written once, also where the Java core commits in between, expires, goes back and cleans up."""

from pathlib import Path

import pytest

from tests.java.process import JavaProcess
from tests.java.samples import arrow_of, rows_in, table_of

COLUMNS = (("id", "BIGINT NOT NULL"), ("v", "STRING"))


def write(warehouse: str, number: int) -> tuple[int, ...]:
    rows = arrow_of([(number, "feed")], COLUMNS)
    return table_of(warehouse).write_arrow(rows, commit_user="feed", commit_identifier=number)


@pytest.mark.parametrize("keys", [["id"], []])
def test_repeated_after_java_expired_its_snapshot(java: JavaProcess, tmp_path: Path, keys: list[str]) -> None:
    warehouse = str(tmp_path)
    options = {"bucket": "1" if keys else "-1", "write-only": "true"}
    java.create_table(warehouse, "db.t", COLUMNS, (keys, []), options)
    assert write(warehouse, 7) == (1,)
    for number in range(3):
        java.write(warehouse, "db.t", [(100 + number, "java")], ["+I"])
    assert java.expire(warehouse, "db.t", 1) == 3
    assert write(warehouse, 7) == ()
    assert write(warehouse, 8) == (5,)
    java.write(warehouse, "db.t", [(200, "java")], ["+I"])
    java.expire(warehouse, "db.t", 1)
    assert write(warehouse, 8) == ()
    ours = sorted(rows_in(table_of(warehouse).to_arrow()))
    assert ours == [(7, "feed"), (8, "feed"), *((100 + number, "java") for number in range(3)), (200, "java")]
    assert sorted(java.rows(warehouse, "db.t")) == ours
    # Java's cleaner passes over the records.
    assert java.orphans(warehouse, "db.t") == []
    assert list(Path(table_of(warehouse).paths.commit_record_folder()).iterdir())
