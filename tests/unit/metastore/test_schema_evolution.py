"""ALTER: what each change makes of a schema, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import (
    FIRST,
    LAST,
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    RemoveOption,
    RenameColumn,
    Schema,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    after,
    before,
)
from maintenance.errors import AlreadyExistsError, OptionError, PaimonError, SchemaError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.schema_evolution import changed_schema
from maintenance.types.data_type import DataField, DataType
from tests.tables import create_table, get_table, keyed, open_warehouse

_COLUMNS = (
    ("p", "STRING"), ("k", "INT"), ("a", "INT"), ("b", "STRING", "about b"),
    ("r", "ROW<x INT, y ROW<z STRING>>"), ("l", "ARRAY<ROW<u INT>>"), ("m", "MAP<STRING, INT>"),
)  # fmt: skip
_OPTIONS = {"bucket": "2", "sequence.field": "a", "fields.b.ignore-retract": "true"}


def start(**options: str) -> TableSchema:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    return Schema(_COLUMNS, ("p", "k"), ("p",), {**_OPTIONS, **named}).table_schema("db.t", 0)


def altered(*changes: SchemaChange, schema: TableSchema | None = None, has_snapshot: bool = True) -> TableSchema:
    return changed_schema(schema or start(), changes, "db.t", has_snapshot=has_snapshot, time_millis=5)


def columns(schema: TableSchema) -> dict[str, str]:
    return {field.name: str(field.type) for field in schema.fields}


def test_added_columns_get_new_ids_and_their_places() -> None:
    schema = altered(
        AddColumn("n", "ROW<i INT, j ROW<o INT>>", "new", position=after("p")),
        AddColumn(("r", "w"), "DATE", position=FIRST),
        AddColumn(("l", "element", "v"), "INT"),
        AddColumn("d", "INT", default_value="'7'"),
    )
    assert schema.id == 1
    assert [field.name for field in schema.fields] == ["p", "n", "k", "a", "b", "r", "l", "m", "d"]
    highest = start().highest_field_id
    added = schema.field("n")
    assert (added.id, added.description) == (highest + 1, "new")
    inner = {field.name: field.id for field in added.type.fields}
    assert inner == {"i": highest + 2, "j": highest + 4}
    assert columns(schema)["r"] == "ROW<`w` DATE, `x` INT, `y` ROW<`z` STRING>>"
    assert columns(schema)["l"] == "ARRAY<ROW<`u` INT, `v` INT>>"
    assert schema.field("d").default_value == "'7'"
    assert schema.highest_field_id == highest + 7


def test_ids_are_never_given_twice() -> None:
    schema = altered(AddColumn("n", "INT"), DropColumn("n"), AddColumn("n", "INT"))
    assert schema.field("n").id == start().highest_field_id + 2


def test_new_columns_may_stand_before_the_partition_columns() -> None:
    schema = Schema((("k", "INT"), ("p", "INT")), (), ("p",), {"add-column-before-partition": "true"})
    added = altered(AddColumn("n", "INT"), AddColumn("o", "INT", position=LAST), schema=schema.table_schema("db.t", 0))
    assert added.field_names == ("k", "n", "p", "o")


def test_rename_takes_options_along() -> None:
    schema = altered(RenameColumn("a", "a2"), RenameColumn("b", "b2"), RenameColumn("k", "k2"))
    assert schema.options == {"bucket": "2", "sequence.field": "a2", "fields.b2.ignore-retract": "true"}
    assert schema.primary_keys == ("p", "k2")
    assert schema.field("b2").description == "about b"
    nested = altered(RenameColumn(("r", "y", "z"), "zz"))
    assert columns(nested)["r"] == "ROW<`x` INT, `y` ROW<`zz` STRING>>"


def test_types_positions_comments_defaults() -> None:
    schema = altered(
        UpdateColumnType("b", "DATE"),
        UpdateColumnType(("m", "value"), "BIGINT"),
        UpdateColumnType(("l", "element", "u"), "STRING"),
        UpdateColumnComment("a", "about a"),
        UpdateColumnComment("b", None),
        UpdateColumnDefaultValue("b", "2024-02-29"),
        UpdateColumnPosition("m", FIRST),
        UpdateColumnPosition("p", LAST),
        UpdateColumnPosition("b", before("k")),
        UpdateComment("about the table"),
    )
    assert schema.field_names == ("m", "b", "k", "a", "r", "l", "p")
    assert columns(schema)["b"] == "DATE"
    assert columns(schema)["m"] == "MAP<STRING NOT NULL, BIGINT>" or columns(schema)["m"] == "MAP<STRING, BIGINT>"
    assert columns(schema)["l"] == "ARRAY<ROW<`u` STRING>>"
    assert (schema.field("a").description, schema.field("b").description) == ("about a", None)
    assert (schema.field("b").default_value, schema.comment) == ("2024-02-29", "about the table")


def test_nullability_changes_where_allowed_and_is_kept_with_a_new_type() -> None:
    careless = start(**{"alter-column-null-to-not-null.disabled": "false"})
    schema = altered(UpdateColumnNullability("a", False), UpdateColumnNullability(("r", "x"), False), schema=careless)
    assert columns(schema)["a"] == "INT NOT NULL"
    kept = altered(UpdateColumnType("a", "BIGINT", keep_nullability=True), schema=schema)
    assert columns(kept)["a"] == "BIGINT NOT NULL"
    assert columns(altered(UpdateColumnNullability("a", True), schema=schema))["a"] == "INT"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (AddColumn("n", "INT NOT NULL"), "NOT NULL"),
        (AddColumn("n", "INT", position=after("none")), "no column 'none'"),
        (AddColumn("_KEY_x", "INT"), "reserved"),
        (AddColumn("n", "INT", "__BLOB_FIELD"), "'__BLOB_FIELD' of type INT"),
        (AddColumn("n", "INT", default_value="x"), "not a value of type INT"),
        (AddColumn(("m", "value", "n"), "INT"), "no 'n' to change"),
        (AddColumn(("l", "element"), "INT"), "not a field of a ROW"),
        (RenameColumn("p", "q"), "partition column 'p' cannot be renamed"),
        (RenameColumn("none", "q"), "no column 'none'"),
        (DropColumn("p"), "partition column"),
        (DropColumn("k"), "primary key column 'k'"),
        (DropColumn(("l", "element", "u")), "only column"),
        (DropColumn("a"), "'sequence.field' names 'a'"),
        (DropColumn("b"), "'fields.b.ignore-retract' names column 'b'"),
        (UpdateColumnType("k", "BIGINT"), "primary key column 'k'"),
        (UpdateColumnType("p", "BYTES"), "partition column 'p'"),
        (UpdateColumnType("r", "INT"), "cannot become INT"),
        (UpdateColumnType("a", "DATE"), "cannot become DATE"),
        (UpdateColumnType("a", "BIGINT NOT NULL"), "null-to-not-null"),
        (UpdateColumnType(("m", "key"), "BYTES"), "its keys cannot change"),
        (UpdateColumnNullability("a", False), "null-to-not-null"),
        (UpdateColumnNullability("k", True), "primary key column 'k'"),
        (UpdateColumnDefaultValue("a", "x"), "not a value of type INT"),
        (UpdateColumnDefaultValue(("r", "x"), "1"), "inside a column"),
        (UpdateColumnPosition("a", after("a")), "where it is"),
        (UpdateColumnPosition("p", FIRST), "where it is"),
        (DropPrimaryKey(), "cannot be dropped"),
        (SetOption("merge-engine", "first-row"), "'merge-engine' cannot change"),
        (SetOption("bucket", "-1"), "'bucket' cannot change"),
        (RemoveOption("bucket"), "'bucket' cannot change"),
        (SetOption("sequence.field", "a,a"), "twice"),
        (SetOption("fields.none.aggregate-function", "sum"), "column 'none'"),
        (SetOption("record-level.time-field", "b"), "which is STRING"),
        (SetOption("primary-key", "k"), "'primary-key' cannot change"),
    ],
)  # fmt: skip
def test_a_change_that_is_not_possible_is_refused_with_the_reason(change: SchemaChange, reason: str) -> None:
    with pytest.raises((SchemaError, OptionError), match="table db") as caught:
        altered(change)
    assert reason in str(caught.value)


def test_a_name_that_is_taken() -> None:
    for change in (AddColumn("a", "INT"), RenameColumn("b", "a")):
        with pytest.raises(AlreadyExistsError, match="column 'a' exists"):
            altered(change)


def test_lossy_changes_can_be_forbidden() -> None:
    careful = start(**{"disable-explicit-type-casting": "true"})
    altered(UpdateColumnType("a", "BIGINT"), schema=careful)
    with pytest.raises(SchemaError, match="cannot become SMALLINT"):
        altered(UpdateColumnType("a", "SMALLINT"), schema=careful)


def test_keys_of_an_empty_table() -> None:
    schema = altered(DropPrimaryKey(), RemoveOption("sequence.field"), SetOption("bucket-key", "k"), has_snapshot=False)
    assert schema.primary_keys == ()
    same = altered(SetOption("primary-key", "p, k"))
    assert (same.primary_keys, "primary-key" in same.options) == (("p", "k"), False)


def test_defaults_of_nested_columns_are_written_or_refused(tmp_path: Path) -> None:
    columns = (("id", "INT NOT NULL"), ("m", "MAP<STRING, INT>"), ("l", "ARRAY<INT>"), ("r", "ROW<x INT>"))
    create_table(tmp_path, columns)
    defaults = (("m", "{a -> 1}"), ("l", "[1, 2]"), ("r", "{7}"))
    open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnDefaultValue(*default) for default in defaults])
    table = get_table(tmp_path)
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32())}))
    assert table.to_arrow().to_pylist() == [{"id": 1, "m": [("a", 1)], "l": [1, 2], "r": {"x": 7}}]
    with pytest.raises(SchemaError, match="is not a value of type INT"):
        open_warehouse(tmp_path).alter_table("db.t", [UpdateColumnDefaultValue("l", "[x]")])


def test_changes_of_many_writers_at_once_are_all_kept(tmp_path: Path) -> None:
    """Each of many changes at once becomes a schema of its own, none is lost."""
    create_table(tmp_path)

    def alter(number: int) -> str | None:
        try:
            open_warehouse(tmp_path).alter_table("db.t", [AddColumn(f"n{number}", "INT")])
        except PaimonError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(alter, range(16))) == [None] * 16
    schemas = get_table(tmp_path).schemas
    versions = [schemas.get(number) for number in schemas.list_ids()]
    assert [schema.id for schema in versions] == list(range(17))
    added = [field.id for field in versions[-1].fields if field.name.startswith("n")]
    assert len(set(added)) == 16
    assert versions[-1].highest_field_id == max(added)


def test_two_of_the_same_name_race(tmp_path: Path) -> None:
    """Of two that add the same column one is told that it exists."""
    create_table(tmp_path)

    def alter(_: int) -> bool:
        try:
            open_warehouse(tmp_path).alter_table("db.t", [AddColumn("same", "INT")])
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(alter, range(4))) == 1


def test_old_snapshots_know_their_columns_by_the_names_of_then(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "1", "sequence.field": "v"})
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({1: "b", 2: "c"}))
    open_warehouse(tmp_path).alter_table("db.t", [RenameColumn("v", "w"), RenameColumn("id", "number")])
    renamed = get_table(tmp_path)
    assert sorted(renamed.to_arrow(columns=["number", "w"]).to_pylist(), key=str) == [
        {"number": 1, "w": "b"},
        {"number": 2, "w": "c"},
    ]
    before_it = renamed.to_arrow(columns=["id", "v"], options={"scan.snapshot-id": "2"})
    assert sorted(before_it.to_pylist(), key=str) == [{"id": 1, "v": "b"}, {"id": 2, "v": "c"}]


def test_what_is_no_table_of_its_own(tmp_path: Path) -> None:
    create_table(tmp_path)
    with pytest.raises(SchemaError, match="system table"):
        open_warehouse(tmp_path).alter_table("db.t$files", [SetOption("a", "b")])
    with pytest.raises(SchemaError, match="option 'primary-key' and the keys"):
        Schema((("k", "INT"),), ("k",), (), {"bucket": "1", "primary-key": "k"}).table_schema("db.t", 0)


def test_what_is_not_supported_may_stay() -> None:
    """Tables of Paimon with features that this engine lacks can be changed, but not given another of them."""
    theirs = replace(start(), options={**start().options, "pk-vector.index.columns": "v"})
    blobs = DataType("ROW", fields=(DataField(41, "x", DataType("BLOB")),))
    theirs = replace(theirs, fields=(*theirs.fields, DataField(40, "v", blobs)), highest_field_id=41)
    assert altered(AddColumn("n", "INT"), schema=theirs).field("n").id == 42
    with pytest.raises(UnsupportedError, match="query-auth"):
        altered(SetOption("query-auth.enabled", "true"), schema=theirs)
    with pytest.raises(UnsupportedError, match="BLOB"):
        altered(AddColumn("o", "MAP<INT, ARRAY<BLOB>>"), schema=theirs)
