"""What a table would be better off with, and statements that do it."""

from pathlib import Path

import pytest

from maintenance.errors import OptionError
from maintenance.operations import advise
from maintenance.operations.tuning import advise as module_of_advise
from maintenance.sql import Session
from tests.small_tables import batch, small_table, table_in


def found(folder: Path, queries: str | None = None) -> dict[str, str]:
    """What is to be done, by what it is about."""
    return {each.about: each.to_do for each in advise(table_in(folder), queries=queries).advice}


def do(folder: Path, statements: str) -> None:
    for statement in statements.split("; "):
        Session({"warehouse": str(folder)}).sql(statement)


def test_small_buckets_are_put_together(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "4"})
    table.write_arrow(batch(dict.fromkeys(range(100), "x")))
    do(tmp_path, found(tmp_path)["buckets"])
    assert "buckets" not in found(tmp_path)
    assert table_in(tmp_path).to_arrow().num_rows == 100


def test_a_large_bucket_is_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_of_advise, "LARGE_BUCKET", 1000)
    monkeypatch.setattr(module_of_advise, "GOOD_BUCKET", 500)
    table = small_table(tmp_path, {"bucket": "1"})
    table.write_arrow(batch({number: str(number) * 9 for number in range(200)}))
    assert "'bucket' = '" in found(tmp_path)["buckets"]


def test_many_tiny_partitions_are_told(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False, partition_keys=["k"])
    table.write_arrow(batch(dict.fromkeys(range(30), "x")))
    (advice,) = [each for each in advise(table).advice if each.about == "partitions"]
    assert advice.found.startswith("30 partitions by k")


def test_options_that_do_nothing_are_reset(tmp_path: Path) -> None:
    small_table(tmp_path, {"bucket": "1", "compaction.min.file-num": "3"})
    do(tmp_path, found(tmp_path)["options"])
    assert found(tmp_path) == {}


def test_options_that_clash_are_set_right(tmp_path: Path) -> None:
    small_table(tmp_path, {"write-only": "false", "bucket": "1", "num-sorted-run.stop-trigger": "3"})
    do(tmp_path, found(tmp_path)["options"])
    assert found(tmp_path) == {}


def test_a_table_that_nobody_compacts_is_told(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1"})
    for number in range(20):
        table.write_arrow(batch({number: "x"}))
    do(tmp_path, found(tmp_path)["options"])
    assert "options" not in found(tmp_path)


def test_indexes_are_of_what_was_asked_for(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    table.write_arrow(batch({number: f"{number * 7919 % 1000:04}" for number in range(0, 2000, 2)}))
    log = tmp_path / "log.sql"
    log.write_text("SELECT * FROM db.t WHERE v = '0001'\nSELECT 1 FROM other WHERE x = 1")
    assert "file-index" in found(tmp_path, str(log))["indexes"]
    log.write_text("SELECT COUNT(*) FROM db.t")
    with pytest.raises(OptionError, match="none is of this table"):
        advise(table, queries=str(log))
