"""Which indexes a table's options declare, and that each kind of Paimon is implemented or refused by name."""

import pyarrow as pa
import pytest

from maintenance.errors import OptionError, PaimonError, SchemaError
from maintenance.format.file_index.bloom_filter import might_contain
from maintenance.format.file_index.builder import FileIndexBuilder
from maintenance.format.file_index.container import parse_container
from maintenance.format.file_index.kinds import KINDS, column_indexes
from maintenance.options.file_index import DeclaredIndex, declared_indexes
from tests.unit.predicate.strategies import BY_NAME, FIELDS

BLOOM = "file-index.bloom-filter"


def test_every_kind_of_paimon_is_implemented() -> None:
    assert set(KINDS) == {"bloom-filter", "bitmap", "bsi", "range-bitmap"}


# The table of the seeds, and what the Java core 2.0 does: see docs/file-indexes.md.
SUPPORTED = {
    "bloom-filter": {"tiny", "small", "number", "big", "single", "double", "code", "name", "raw", "fixed", "day",
                     "clock", "seconds", "millis", "micros", "nanos", "instant"},
    "bitmap": {"flag", "tiny", "small", "number", "big", "single", "double", "code", "name", "day",
               "clock", "seconds", "millis", "micros", "nanos", "instant"},
    "bsi": {"tiny", "small", "number", "big", "price", "total", "day", "clock", "seconds", "millis", "micros",
            "nanos", "instant"},
    "range-bitmap": {"flag", "tiny", "small", "number", "big", "single", "double", "price", "code", "name", "day",
                     "clock", "seconds", "millis", "micros", "instant"},
}  # fmt: skip


@pytest.mark.parametrize("kind", SUPPORTED)
def test_types_of_each_kind(kind: str) -> None:
    for field in FIELDS:
        declared = {f"file-index.{kind}.columns": field.name}
        if field.name in SUPPORTED[kind]:
            assert [index.field for index in column_indexes(declared, FIELDS)] == [field]
        else:
            with pytest.raises(SchemaError, match=f"'{field.name}' has type .*'{kind}' does not take"):
                column_indexes(declared, FIELDS)


def test_options_declare_indexes_with_their_own_options() -> None:
    options = {
        f"{BLOOM}.number.items": "10",
        f"{BLOOM}.columns": " name, number ,name",
        "file-index.bitmap.columns": "m[a],m[b]",
        "file-index.bitmap.m.version": "1",
        "file-index.bitmap.m[b].version": "2",
        "file-index.in-manifest-threshold": "1 kb",
        "file-index.read.enabled": "true",
        "file-index.some.other.shape.of.key": "x",
        "bucket": "1",
    }
    assert declared_indexes(options) == (
        DeclaredIndex("bloom-filter", "name", {}),
        DeclaredIndex("bloom-filter", "number", {"items": "10"}),
        DeclaredIndex("bitmap", "m[a]", {"version": "1"}),
        DeclaredIndex("bitmap", "m[b]", {"version": "2"}),
    )


@pytest.mark.parametrize(
    ("options", "error", "found"),
    [
        ({f"{BLOOM}.columns": "name,,number"}, OptionError, "empty column name"),
        ({f"{BLOOM}.columns": ""}, OptionError, "empty column name"),
        ({f"{BLOOM}.number.items": "10"}, OptionError, "'number'.*no such index"),
        ({f"{BLOOM}.columns": "name", f"{BLOOM}.number.items": "10"}, OptionError, "'number'.*no such index"),
        ({f"{BLOOM}.columns": "nope"}, SchemaError, "'nope'.*does not exist.*number"),
        ({f"{BLOOM}.columns": "Number"}, SchemaError, "'Number'.*does not exist"),
        ({f"{BLOOM}.columns": "flag"}, SchemaError, "'flag' has type BOOLEAN"),
        ({f"{BLOOM}.columns": "price"}, SchemaError, r"'price' has type DECIMAL\(5, 2\)"),
        ({f"{BLOOM}.columns": "name[k]"}, SchemaError, "'name' has type STRING, only maps"),
        ({f"{BLOOM}.columns": "nope[k]"}, SchemaError, "'nope'.*does not exist"),
        ({"file-index.bitmap.columns": "name", "file-index.bitmap.name.version": "3"}, OptionError, "expected 1 or 2"),
        (
            {"file-index.bsi.columns": "number", "file-index.bsi.number.version": "1"},
            OptionError,
            "is not an option of 'bsi'",
        ),
        ({f"{BLOOM}.columns": "name", f"{BLOOM}.name.items": "many"}, OptionError, "bloom-filter.name"),
        ({f"{BLOOM}.columns": "name", f"{BLOOM}.name.fpp": "2"}, OptionError, "bloom-filter.name"),
        ({f"{BLOOM}.columns": "name", f"{BLOOM}.name.size": "2"}, OptionError, "bloom-filter.name.size"),
        ({"file-index.boom.columns": "name"}, OptionError, "boom"),
    ],
)
def test_options_that_declare_no_possible_index_are_refused(
    options: dict[str, str], error: type[PaimonError], found: str
) -> None:
    with pytest.raises(error, match=found):
        column_indexes(options, FIELDS)


def test_no_options_no_indexes() -> None:
    assert column_indexes({"bucket": "1"}, FIELDS) == ()


def test_builder_makes_the_container_of_all_declared_indexes() -> None:
    options = {f"{BLOOM}.columns": "name,number", f"{BLOOM}.name.items": "100"}
    builder = FileIndexBuilder(column_indexes(options, FIELDS))
    builder.add(pa.RecordBatch.from_pydict({"name": ["a"], "number": pa.array([1], pa.int32())}))
    builder.add(pa.table({"number": pa.array([2], pa.int32()), "name": ["b"]}))
    container = builder.finish()
    assert container is not None
    bodies = parse_container(container, "memory")
    assert bodies == builder.bodies()
    assert list(bodies) == ["name", "number"]
    name, number = bodies["name"]["bloom-filter"], bodies["number"]["bloom-filter"]
    assert name is not None
    assert number is not None
    assert len(name) == 4 + 60
    assert len(number) == 599071
    assert might_contain(name, "b", BY_NAME["name"].type)
    assert might_contain(number, 2, BY_NAME["number"].type)
    assert not might_contain(number, 3, BY_NAME["number"].type)
