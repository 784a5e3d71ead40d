"""What a table would be better off with, and statements that do it."""

from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.errors import OptionError
from maintenance.operations import advise
from maintenance.operations.tuning import advise as module_of_advise
from maintenance.operations.tuning.file_trials import FileTrial, file_trials
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


def test_a_compression_that_makes_files_smaller_is_found_on_a_sample(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"file.compression": "none"}, primary_key=False)
    table.write_arrow(batch({number: f"{number % 7} is said again and again" for number in range(20_000)}))
    (own, *others) = file_trials(table)
    assert own.text == "parquet, none"
    assert {each.format for each in others} == {"parquet", "orc"}
    assert min(each.bytes for each in others) < own.bytes
    trials = [replace(own, seconds=1.0), *(replace(each, seconds=1.0) for each in others)]
    (advice,) = module_of_advise._files(table, trials)
    do(tmp_path, advice.to_do)
    compressed = file_trials(table_in(tmp_path))[0]
    assert compressed.bytes == min(each.bytes for each in trials)
    slow = [replace(own, seconds=1.0), *(replace(each, seconds=9.0) for each in others)]
    assert list(module_of_advise._files(table, slow)) == []


def test_files_are_read_where_that_is_asked_for_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small_table(tmp_path, primary_key=False)
    table.write_arrow(batch({1: "x"}))
    smaller = [FileTrial("parquet", "zstd", 1, 100, 1.0), FileTrial("parquet", "zstd", 9, 50, 1.0)]
    monkeypatch.setattr(module_of_advise, "file_trials", lambda _: smaller)
    assert "files" not in {each.about for each in advise(table).advice}
    (found,) = [each for each in advise(table, files=True).advice if each.about == "files"]
    assert "'file.compression.zstd-level' = '9'" in found.to_do
