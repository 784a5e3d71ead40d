"""What of a table Iceberg's readers are shown, and as what."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from maintenance.commit.iceberg.published import Published, check_publishable, shows_vectors
from maintenance.errors import UnsupportedError
from maintenance.format.iceberg.manifest import Content, Status
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import HASH_INDEX, DeletionVectorRange
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, parse_type
from tests.unit.commit.entries import add, delete
from tests.unit.metadata.states import FILE_IO, vectors_of

ROOT = "/w/db.db/t"
BESIDE = {"metadata.iceberg.storage": "table-location"}
VECTORS = {
    **BESIDE,
    "deletion-vectors.enabled": "true",
    "deletion-vectors.bitmap64": "true",
    "metadata.iceberg.format-version": "3",
}


def schema_of(*fields: tuple[str, str], key: tuple[str, ...] = (), partition: tuple[str, ...] = ()) -> TableSchema:
    made = tuple(DataField(i + 1, name, parse_type(text)) for i, (name, text) in enumerate(fields))
    return TableSchema(0, made, len(made), partition, key)


KEYED = schema_of(("k", "INT NOT NULL"), ("v", "STRING"), key=("k",))
PLAIN = schema_of(("k", "INT"), ("v", "STRING"))


def published(schema: TableSchema, options: Mapping[str, str]) -> Published:
    return Published(TablePaths(ROOT), Schemas(FILE_IO, f"{ROOT}/schema"), schema, TableModel(options))


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (VECTORS, True),
        ({**VECTORS, "deletion-vectors.enabled": "false"}, False),
        ({**VECTORS, "deletion-vectors.bitmap64": "false"}, False),
        ({**VECTORS, "metadata.iceberg.format-version": "2"}, False),
    ],
)
def test_vectors_that_readers_know(options: Mapping[str, str], shown: bool) -> None:
    assert shows_vectors(TableModel(options)) is shown


def test_levels_that_are_shown() -> None:
    """Of a table without a key all; of another the highest, or with vectors all above 0."""
    levels = range(7)
    assert [level for level in levels if published(PLAIN, BESIDE).is_shown(level)] == [*levels]
    assert [level for level in levels if published(KEYED, BESIDE).is_shown(level)] == [5]
    assert [level for level in levels if published(KEYED, {**BESIDE, "num-levels": "4"}).is_shown(level)] == [3]
    assert [level for level in levels if published(KEYED, VECTORS).is_shown(level)] == [1, 2, 3, 4, 5, 6]


def test_files_that_come_and_go() -> None:
    """A file that only gets another level is one added; what readers are not shown is not added."""
    changes = [add("a", level=5), add("b"), delete("c", level=5), delete("d", level=3), add("d", level=5)]
    added, removed = published(KEYED, BESIDE).changed(changes)
    assert {path.rpartition("/")[2] for path in added} == {"a", "d"}
    assert {path.rpartition("/")[2] for path in removed} == {"c"}
    assert added[f"{ROOT}/bucket-0/d"].file.level == 5


@pytest.mark.parametrize(
    ("schema", "options", "refused"),
    [
        (PLAIN, {}, None),
        (PLAIN, {"data-evolution.enabled": "true"}, None),
        (PLAIN, BESIDE, None),
        (PLAIN, {**BESIDE, "data-evolution.enabled": "true"}, "data-evolution.enabled"),
        (PLAIN, {**BESIDE, "data-file.external-paths": "file:///x"}, None),
        (KEYED, {**VECTORS, "data-file.external-paths": "file:///x"}, "data-file.external-paths"),
        (KEYED, VECTORS, None),
        (PLAIN, VECTORS, None),
        (PLAIN, {**BESIDE, "deletion-vectors.enabled": "true"}, "would show deleted rows"),
        (KEYED, {**BESIDE, "deletion-vectors.enabled": "true"}, None),
    ],
)
def test_tables_that_are_not_published(schema: TableSchema, options: Mapping[str, str], refused: str | None) -> None:
    if refused is None:
        check_publishable(schema, TableModel(options), ROOT, "db.t")
        return
    with pytest.raises(UnsupportedError, match=refused):
        check_publishable(schema, TableModel(options), ROOT, "db.t")


def with_stats(stats: SimpleStats, columns: tuple[str, ...] | None = None) -> DataFileMeta:
    return replace(add("a.parquet").file, value_stats=stats, value_stats_cols=columns)


def test_statistics_by_the_id_of_a_field() -> None:
    """Bounds of what has an order and is known; TIMESTAMP(9) has none."""
    texts = ("INT", "STRING", "TIMESTAMP(9)", "TIMESTAMP(6)", "INT")
    schema = schema_of(*((f"f{i}", text) for i, text in enumerate(texts)))
    types = [field.type for field in schema.fields]
    low = serialize_row([1, "a", 5, 5000, None], types)
    high = serialize_row([9, "z", 6, 6000, None], types)
    stats = SimpleStats(low, high, (0, 1, None, 3, 4))
    entry = published(schema, BESIDE).data_entry("p", replace(add("a"), file=with_stats(stats)), 7)
    assert (entry.status, entry.snapshot_id, entry.sequence_number) == (Status.ADDED, 7, 7)
    file = entry.file
    assert (file.path, file.file_format, file.record_count, file.content) == ("p", "parquet", 10, Content.DATA)
    assert file.lower_bounds is not None
    assert file.upper_bounds is not None
    assert file.null_counts == {1: 0, 2: 1, 4: 3, 5: 4}
    assert set(file.lower_bounds) == set(file.upper_bounds) == {1, 2, 4}
    assert (file.lower_bounds[1], file.upper_bounds[2]) == ((1).to_bytes(4, "little"), b"z")


def test_statistics_of_some_columns() -> None:
    types = [PLAIN.fields[1].type]
    stats = SimpleStats(serialize_row(["a"], types), serialize_row(["b"], types), (2,))
    entry = published(PLAIN, BESIDE).data_entry("p", replace(add("a"), file=with_stats(stats, ("v",))), 7)
    assert entry.file.null_counts == {2: 2}
    assert entry.file.lower_bounds == {2: b"a"}


def test_deletion_vectors_are_entries_of_their_own() -> None:
    index = vectors_of(DeletionVectorRange("a", 1, 20, 3), DeletionVectorRange("b", 21, 30, 4))
    other = replace(index, index_type=HASH_INDEX)
    actual = list(published(KEYED, VECTORS).vector_entries([index, other], 9))
    assert [(e.file.record_count, e.file.content_offset, e.file.content_size) for e in actual] == [
        (3, 1, 20),
        (4, 21, 30),
    ]
    assert {e.file.content for e in actual} == {Content.POSITION_DELETES}
    assert [e.file.referenced_data_file for e in actual] == [f"{ROOT}/bucket-0/a", f"{ROOT}/bucket-0/b"]
    assert {e.file.path for e in actual} == {f"{ROOT}/index/index-0"}


def test_a_vector_that_does_not_say_its_rows_is_refused() -> None:
    index = vectors_of(DeletionVectorRange("a", 1, 20, None))
    with pytest.raises(UnsupportedError, match="does not say how many rows it deletes"):
        list(published(KEYED, VECTORS).vector_entries([index], 9))


def test_plain_values_of_a_partition() -> None:
    schema = schema_of(("k", "INT"), ("p", "INT"), partition=("p",))
    assert published(schema, BESIDE).partition(serialize_row([7], [schema.fields[1].type])) == (7,)
    assert published(PLAIN, BESIDE).partition(EMPTY_ROW) == ()
