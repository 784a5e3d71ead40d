"""Statistics and file indexes of either side never hide a row from the other.

Each file holds two neighbouring values of a type, so that bounds are narrow: NaN beside -0.0, a text that cannot be cut
short beside one that can, the ends of decimals and times.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from maintenance.format.file_index.kinds import KINDS
from maintenance.operations import compact_manifest
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.predicate.arrow import mask
from maintenance.predicate.sql import parse, to_sql
from maintenance.predicate.tree import Compare, In, IsNull, Not, Operator, Predicate, StartsWith
from maintenance.types.data_type import parse_type
from maintenance.types.values import Value
from tests.java.oracle import Condition
from tests.java.process import JavaProcess
from tests.java.samples import COLUMNS, KEYED, TYPES, VALUES, Sample, arrow_of, rows_of, table_of

Question = tuple[Condition, Predicate]

FILES = 10
OPERATORS: tuple[tuple[str, Operator], ...] = (("equal", "="), ("lessThan", "<"), ("greaterOrEqual", ">="))
SAMPLE = Sample((), (), {"bucket": "-1", "write-only": "true"})
BY_COLUMN = {f"f{i}": text for i, text in enumerate(TYPES)}
# One type for each way of hashing or ordering, and those with several forms of one value.
INDEXED = ("BOOLEAN", "TINYINT", "BIGINT", "DECIMAL(18, 4)", "DOUBLE", "STRING", "BYTES", "DATE", "TIMESTAMP(6)")
each_type = pytest.mark.parametrize("column", BY_COLUMN, ids=TYPES)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table that this engine wrote."""
    warehouse = str(tmp_path_factory.mktemp("ours"))
    SAMPLE.create(warehouse)
    for start in range(FILES):
        table_of(warehouse).write_arrow(arrow_of(rows_of(range(start, start + 2), 0)))
    in_one_manifest(warehouse)
    return warehouse


@pytest.fixture(scope="module")
def theirs(java: JavaProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same written by Java."""
    warehouse = str(tmp_path_factory.mktemp("theirs"))
    java.create_table(warehouse, "db.t", COLUMNS, ((), ()), SAMPLE.options)
    for start in range(FILES):
        java.write(warehouse, "db.t", rows_of(range(start, start + 2), 0))
    in_one_manifest(warehouse)
    return warehouse


@pytest.mark.slow
@each_type
def test_java_finds_in_our_files_what_it_looks_for(java: JavaProcess, ours: str, column: str) -> None:
    assert_java_finds(java, ours, [condition for condition, _ in questions(column)])


@each_type
def test_we_find_in_files_of_java_what_java_finds(java: JavaProcess, theirs: str, column: str) -> None:
    asked = questions(column)
    answers = assert_finds_all(theirs, [predicate for _, predicate in asked])
    if BY_COLUMN[column] in ("FLOAT", "DOUBLE"):
        return  # Java tells -0.0 from 0.0, Spark's SQL does not
    wanted = java.tested(theirs, "db.t", "id", [condition for condition, _ in asked])
    for (_, predicate), ours, of_java in zip(asked, answers, wanted, strict=True):
        assert ours == sorted(of_java), predicate


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_indexes_that_we_add_hide_nothing(java: JavaProcess, ours: str, theirs: str, kind: str) -> None:
    columns = [name for name, text in BY_COLUMN.items() if text in INDEXED and KINDS[kind].supports(parse_type(text))]
    asked = [question for name in columns for question in questions(name)]
    for warehouse in (ours, theirs):
        small = {f"file-index.bloom-filter.{name}.items": "10" for name in columns if kind == "bloom-filter"}
        table = table_of(warehouse).copy({f"file-index.{kind}.columns": ",".join(columns), **small})
        assert rewrite_file_index(None, table).written_files == FILES
        in_one_manifest(warehouse)
        assert_finds_all(warehouse, [predicate for _, predicate in asked])
    assert_java_finds(java, ours, [condition for condition, _ in asked])


@pytest.mark.parametrize("compacted", [False, True], ids=["as written", "compacted"])
def test_java_and_we_find_rows_of_keyed_tables(java: JavaProcess, tmp_path: Path, compacted: bool) -> None:
    """By key, and by other columns where a newer version of a row must not be left out before an older one."""
    warehouse = str(tmp_path)
    KEYED["keyed"].create(warehouse)
    for start in range(0, 12, 3):
        table_of(warehouse).write_arrow(arrow_of(rows_of(range(start, start + 5), start)))
    if compacted:
        compact(None, table_of(warehouse), full=True)
    keys: list[Question] = [
        ((method, "id", value), Compare(operator, "id", value)) for method, operator in OPERATORS for value in (3, 11)
    ]
    asked = [*keys, *questions("f3"), *questions("f11")]
    assert_java_finds(java, warehouse, [condition for condition, _ in asked])
    assert_finds_all(warehouse, [predicate for _, predicate in asked])


def in_one_manifest(warehouse: str) -> None:
    """Let a table of many files have one manifest: hundreds of questions are asked, and each reads all manifests."""
    compact_manifest(table_of(warehouse))
    latest = table_of(warehouse).latest_snapshot()
    assert latest is not None
    assert len(table_of(warehouse).manifests.data_manifests(latest)) == 1


def questions(column: str) -> list[Question]:
    """Conditions on a column of `COLUMNS`."""
    return questions_of(column, VALUES[BY_COLUMN[column]])


def questions_of(column: str, values: Sequence[Value]) -> list[Question]:
    """Conditions on a column, in Java's words and in ours. Bytes are not ordered: Java 1.4 takes them as signed."""
    actual: list[Question] = [
        (("isNull", column), IsNull(column)),
        (("isNotNull", column), Not(IsNull(column))),
        (("in_", column, list(values[:2])), In(column, tuple(values[:2]))),
    ]
    for value in values:
        operators = OPERATORS[:1] if isinstance(value, bytes) else OPERATORS
        actual += [((method, column, value), Compare(operator, column, value)) for method, operator in operators]
        if isinstance(value, str):
            actual.append((("startsWith", column, value[:17]), StartsWith(column, value[:17])))
    return actual


def assert_java_finds(java: JavaProcess, warehouse: str, conditions: list[Condition]) -> None:
    """Java, leaving out what it need not read, finds the rows that it finds by testing each."""
    pushed = java.pushed(warehouse, "db.t", "id", conditions)
    tested = java.tested(warehouse, "db.t", "id", conditions)
    for condition, actual, wanted in zip(conditions, pushed, tested, strict=True):
        assert sorted(actual) == sorted(wanted), condition


def assert_finds_all(warehouse: str, predicates: list[Predicate]) -> list[list[Value]]:
    """A read that leaves out what it need not read returns the rows that the filter is true for.

    Returns: the keys of these rows, sorted, for each predicate.
    """
    table = table_of(warehouse)
    fields = table.schema.fields
    everything = table.to_arrow()
    answers = []
    for predicate in predicates:
        text = to_sql(predicate, fields)
        wanted = everything.filter(mask(parse(text, fields), everything))
        keys = sorted(table.to_arrow(columns=["id"], where=text).column("id").to_pylist())
        assert keys == sorted(wanted.column("id").to_pylist()), predicate
        answers.append(keys)
    return answers
