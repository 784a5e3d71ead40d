"""Global indexes of type btree: those of either side are read by the other, for every type that has keys."""

from pathlib import Path

import pytest

from maintenance.format.global_index.keys import has_keys
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.types.data_type import parse_type
from tests.java.process import JavaProcess
from tests.java.samples import TYPES, VALUES, Sample, arrow_of, rows_of, table_of
from tests.java.test_filters import Question, assert_finds_all, questions_of
from tests.tables import splits_of

EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "bucket": "-1"}
SAMPLE = Sample((), (), {**EVOLVING, "write-only": "true", "target-file-row-num": "7"})
INDEXED = {f"f{i}": text for i, text in enumerate(TYPES) if has_keys(parse_type(text))}


def questions(column: str) -> list[Question]:
    return questions_of(column, VALUES[INDEXED[column]])


def written(warehouse: str) -> None:
    SAMPLE.create(warehouse)
    for start in (0, 15):
        table_of(warehouse).write_arrow(arrow_of(rows_of(range(start, start + 15), 0)))


@pytest.mark.slow
def test_java_reads_indexes_of_ours(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    written(warehouse)
    # Java 1.4 takes an empty text, where it is the smallest key of an index, for none.
    columns = [column for column, text in INDEXED.items() if "" not in VALUES[text]]
    for column in columns:
        assert create_global_index(None, table_of(warehouse), column, "btree").rows == 30
    for column in columns:
        conditions = [condition for condition, _ in questions(column)]
        wanted = java.tested(warehouse, "db.t", "id", conditions)
        for condition, actual, tested in zip(
            conditions, java.pushed(warehouse, "db.t", "id", conditions), wanted, strict=True
        ):
            assert sorted(actual) == sorted(tested), condition


@pytest.mark.slow
def test_indexes_of_java_are_read(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    written(warehouse)
    java.index(warehouse, "db.t", list(INDEXED))
    for column, text in INDEXED.items():
        asked = questions(column)
        answers = assert_finds_all(warehouse, [predicate for _, predicate in asked])
        (plan, _) = table_of(warehouse).plan(predicate=asked[0][1])
        assert any(split.candidates for split in splits_of(plan)), column
        if text in ("FLOAT", "DOUBLE"):
            continue  # Java tells -0.0 from 0.0, Spark's SQL does not
        wanted = java.tested(warehouse, "db.t", "id", [condition for condition, _ in asked])
        for (_, predicate), actual, tested in zip(asked, answers, wanted, strict=True):
            assert actual == sorted(tested), predicate


@pytest.mark.slow
@pytest.mark.parametrize("index_type", ["btree", "bitmap"])
def test_what_we_find_is_the_same_without_indexes(tmp_path: Path, index_type: str) -> None:
    warehouse = str(tmp_path)
    written(warehouse)
    for column in INDEXED:
        create_global_index(None, table_of(warehouse), column, index_type)
    for column in INDEXED:
        predicates = [predicate for _, predicate in questions(column)]
        assert_finds_all(warehouse, predicates)
