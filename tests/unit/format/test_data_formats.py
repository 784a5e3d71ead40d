"""Every format of data files: what is written is read, in any types, codecs and pieces; damage never shows as rows."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, DataError, OptionError, UnsupportedError
from maintenance.format.avro.container import without_logical_types
from maintenance.format.avro.data_format import avro_schema
from maintenance.format.bytes.protobuf import messages, number_of, parse_message
from maintenance.format.data_format import FileSelection, FileSettings
from maintenance.format.data_formats import DATA_FORMATS, open_data_file
from maintenance.format.metadata.schema import parse_schema
from maintenance.format.orc.tail import OrcTail
from maintenance.format.rows.system_fields import key_value_fields
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, DataType, parse_type
from maintenance.types.values import Value
from tests.data_files import as_numbers, comparable, holds_everywhere, opened, stored_values, table_of, tables, written
from tests.examples import examples
from tests.golden.case import extract
from tests.strategies import FIELD_NAMES

CODECS = {
    "parquet": ("zstd", "snappy", "gzip", "lz4", "none"),
    "orc": ("zstd", "snappy", "zlib", "lz4", "none"),
    "avro": ("zstd", "snappy", "deflate", "bzip2", "xz", "none"),
    "row": ("zstd",),
    "vortex": ("zstd",),
    "lance": ("zstd",),
    "mosaic": ("zstd",),
}
ID = DataField(0, "id", parse_type("INT NOT NULL"))


def named(data_type: DataType) -> bool:
    """Names that Avro has, too; each format has its own tests of names that it lacks."""
    return all(field.name.isidentifier() and field.name.isascii() for field in data_type.fields)


def in_avro(data_type: DataType) -> bool:
    fraction = 3 if data_type.root == "TIME" else 6 if data_type.is_timestamp else 38
    counts_texts = data_type.root != "MULTISET" or (data_type.element is not None and data_type.element.is_string)
    return counts_texts and named(data_type) and (data_type.precision or 0) <= fraction


def kept_by_orc(data_type: DataType, value: Value) -> bool:
    """Java's reader cuts blanks off from CHAR, and reads no parts of milliseconds in the last second before 1970.

    Years that nanoseconds do not have are in `test_timestamps`.
    """
    if data_type.root == "CHAR":
        return not str(value).endswith(" ")
    if not data_type.is_timestamp or not isinstance(value, int):
        return True
    return not -(10**9) < value < 0 and -(2**63) <= value < 2**63


def lacking(*roots: str) -> Callable[[DataType], bool]:
    return lambda data_type: data_type.root not in roots


def in_mosaic(data_type: DataType) -> bool:
    return data_type.root not in ("ROW", "MULTISET") and not (data_type.is_timestamp and data_type.precision == 0)


def kept_in_nanoseconds(data_type: DataType, value: Value) -> bool:
    """Timestamps of more than six digits are 64 bits of nanoseconds in the files of some formats, others seconds."""
    if not data_type.is_timestamp or not isinstance(value, int):
        return True
    return -(2**63) <= value < 2**63 and (data_type.precision != 0 or value % 10**9 == 0)


FILES = {
    "parquet": tables(holds_everywhere(named)),
    "orc": tables(holds_everywhere(named), kept_by_orc),
    "avro": tables(holds_everywhere(in_avro)),
    "row": tables(lambda data_type: True),
    "vortex": tables(holds_everywhere(lacking("MAP", "MULTISET")), kept_in_nanoseconds),
    "lance": tables(holds_everywhere(lacking("MAP", "MULTISET")), kept_in_nanoseconds),
    "mosaic": tables(holds_everywhere(in_mosaic), kept_in_nanoseconds),
}


@pytest.mark.parametrize("name", DATA_FORMATS)
@given(st.data())
@settings(max_examples=examples(20))
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    fields, rows = data.draw(FILES[name])
    codec = data.draw(st.sampled_from(CODECS[name]))
    content = written(rows, fields, FileSettings(name, codec), data.draw(st.integers(1, 3)))
    wanted = data.draw(st.permutations(fields))[: data.draw(st.integers(1, len(fields)))]
    actual = opened(content, name, fields).read(wanted)
    assert actual.column_names == [field.name for field in wanted]
    assert comparable(actual) == comparable(rows.select(actual.column_names))
    assert [f.type for f in actual.schema] == [rows.schema.field(f.name).type for f in wanted]
    batches = list(opened(content, name, fields).batches(wanted, 5))
    assert all(batch.num_rows <= 5 for batch in batches)
    assert comparable(pa.concat_tables(batches)) == comparable(actual)


@given(FILES["avro"])
@settings(max_examples=examples(20))
def test_avro_is_what_fastavro_makes_of_the_rows(file: tuple[list[DataField], pa.Table]) -> None:
    """The encoder of columns against one of rows: the same bytes."""
    fields, rows = file
    content = written(rows, fields, FileSettings("avro", "none"))
    schema = without_logical_types(avro_schema(fields))
    records = [
        {f.name: _avro_value(value, f.type) for f, value in zip(fields, row.values(), strict=True)}
        for row in as_numbers(rows).to_pylist()
    ]
    expected, actual = io.BytesIO(), io.BytesIO(content)
    fastavro.writer(expected, schema, records, codec="null")
    blocks = [list(fastavro.block_reader(file)) for file in (actual, io.BytesIO(expected.getvalue()))]
    assert [block.num_records for block in blocks[0]] == [rows.num_rows]
    ours, theirs = (part[0].bytes_.getvalue() for part in blocks)  # type: ignore[attr-defined]  # declared nowhere
    assert ours == theirs


def _avro_value(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    if data_type.root == "DECIMAL":
        sign, digits, _ = value.as_tuple()
        number = int("".join(map(str, digits))) * (-1 if sign else 1)
        return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    if data_type.element is not None and data_type.root == "ARRAY":
        return [_avro_value(part, data_type.element) for part in value]
    if data_type.root == "ROW":
        return {f.name: _avro_value(value[f.name], f.type) for f in data_type.fields}
    if data_type.root in ("MAP", "MULTISET"):
        key_type = data_type.key or data_type.element
        assert key_type is not None
        value_type = data_type.value or DataType("INT")
        pairs = [(_avro_value(k, key_type), _avro_value(v, value_type)) for k, v in value]
        return _Pairs(pairs) if key_type.is_string else [{"key": k, "value": v} for k, v in pairs]
    return value


class _Pairs(dict[object, object]):
    """A map as fastavro writes one, in which a key may stand twice."""

    def __init__(self, pairs: list[tuple[object, object]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def __len__(self) -> int:
        return len(self._pairs)

    def items(self) -> list[tuple[object, object]]:  # type: ignore[override]
        return self._pairs


@pytest.fixture(scope="module")
def java_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[DataField], Path]]:
    """A data file with all types that Java wrote, and its columns, by format."""
    collected = {}
    for name in ("orc", "avro"):
        folder = extract(f"types_{name}", tmp_path_factory.mktemp(name)) / "db.db" / "pk"
        schema = parse_schema((folder / "schema" / "schema-0").read_bytes(), "schema-0")
        file = next((folder / "bucket-0").glob(f"*.{name}"))
        collected[name] = (list(key_value_fields(schema.key_fields, schema.fields)), file)
    return collected


def test_avro_schemas_are_those_of_java(java_files: dict[str, tuple[list[DataField], Path]]) -> None:
    fields, file = java_files["avro"]
    with file.open("rb") as source:
        java = json.loads(fastavro.reader(source).metadata["avro.schema"])
    assert avro_schema(fields) == java


def test_orc_types_are_those_of_java(java_files: dict[str, tuple[list[DataField], Path]]) -> None:
    """Kinds, lengths, digits, names and attributes of all types, at every depth."""
    fields, file = java_files["orc"]
    ours = written(table_of(fields, []), fields, FileSettings("orc"))
    actual = [_described(OrcTail.read(pa.BufferReader(content))) for content in (ours, file.read_bytes())]
    assert actual[0] == actual[1]


def _described(tail: OrcTail) -> list[object]:
    return [
        (
            kind.kind,
            kind.subtypes,
            kind.names,
            [number_of(message, number) for number in (4, 5, 6)],
            [messages(parse_message(part), 2) for part in messages(message, 7)],
        )
        for kind, message in zip(tail.types, tail.type_messages(), strict=True)
    ]


@pytest.mark.parametrize("name", DATA_FORMATS)
@given(st.data())
@settings(max_examples=examples(25))
def test_cut_files_are_errors_that_name_the_file(name: str, data: st.DataObject) -> None:
    fields = [ID, DataField(1, "v", parse_type("STRING"))]
    content = written(table_of(fields, [(i, f"text {i}") for i in range(100)]), fields, FileSettings(name))
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    if name == "avro" and cut == written(table_of(fields, []), fields, FileSettings(name)):
        assert opened(cut, name).read(fields).num_rows == 0  # a container may end behind any block
        return
    with pytest.raises(CorruptFileError, match=f"memory.{name}"):
        opened(cut, name, fields).read(fields)


@pytest.mark.parametrize("name", DATA_FORMATS)
def test_other_bytes_and_missing_columns(name: str) -> None:
    for content in (b"", b"nonsense" * 99):
        with pytest.raises(CorruptFileError, match=f"memory.{name}"):
            opened(content, name, [ID]).read([ID])
    content = written(table_of([ID], [(1,)]), [ID], FileSettings(name))
    other = DataField(1, "other", parse_type("INT"))
    missing = rf"no column 'other' \(memory.{name}"
    with pytest.raises(CorruptFileError, match=missing):
        opened(content, name, [ID]).read([ID, other])
    with pytest.raises(CorruptFileError, match=missing):
        list(opened(content, name, [ID]).batches([other], 9))


@pytest.mark.parametrize("name", DATA_FORMATS)
def test_a_file_without_rows(name: str) -> None:
    fields = [ID, DataField(1, "v", parse_type("CHAR(3)"))]
    content = written(table_of(fields, []), fields, FileSettings(name))
    assert opened(content, name, fields).read(fields).num_rows == 0
    assert list(opened(content, name, fields).batches(fields, 5)) == []


@pytest.mark.parametrize("name", ["csv", "json", "text"])
def test_other_formats_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"'{name}'.*memory.{name}"):
        open_data_file(pa.BufferReader(b""), f"memory.{name}", {})


@pytest.mark.parametrize(
    ("name", "key"),
    [("orc", "orc.encrypt"), ("parquet", "parquet.bloom.filter.enabled"), ("avro", "avro.row-name-mapping")],
)
def test_keys_of_a_format_that_are_not_honoured_are_refused_by_name(name: str, key: str) -> None:
    with pytest.raises(UnsupportedError, match=f"option '{key}' = 'x'"):
        DATA_FORMATS[name].prepare_writer([ID], FileSettings(name, options=TableModel({key: "x"})))
    others = [other for other in DATA_FORMATS if other != name]
    for other in others:
        DATA_FORMATS[other].prepare_writer([ID], FileSettings(other, options=TableModel({key: "x"})))


@pytest.mark.parametrize("name", DATA_FORMATS)
def test_codecs_that_a_format_lacks(name: str) -> None:
    with pytest.raises((OptionError, UnsupportedError), match="lzo"):
        DATA_FORMATS[name].prepare_writer([ID], FileSettings(name, "lzo"))


def test_levels_of_zstd_in_orc() -> None:
    rows = table_of([ID], [(i * 7919 % 997,) for i in range(5000)])
    sizes = [len(written(rows, [ID], FileSettings("orc", "zstd", level))) for level in (1, 3)]
    assert sizes[0] != sizes[1]
    with pytest.raises(UnsupportedError, match=r"file.compression.zstd-level' = '7'"):
        DATA_FORMATS["orc"].prepare_writer([ID], FileSettings("orc", "zstd", 7))
    assert written(rows, [ID], FileSettings("orc", "lz4", 7))


@pytest.mark.parametrize("text", ["TIMESTAMP(7)", "TIMESTAMP_LTZ(9)", "TIME(4)"])
def test_types_that_avro_lacks(text: str) -> None:
    for data_type in (parse_type(text), DataType("MULTISET", element=parse_type("INT NOT NULL"))):
        field = DataField(1, "t", data_type)
        with pytest.raises(UnsupportedError, match="column t"):
            DATA_FORMATS["avro"].prepare_writer([ID, field], FileSettings("avro"))


def test_names_that_avro_lacks() -> None:
    for name in ("größe", "a b", "1st", ""):
        with pytest.raises(UnsupportedError, match="the name"):
            DATA_FORMATS["avro"].prepare_writer([DataField(1, name, parse_type("INT"))], FileSettings("avro"))
    inner = DataType("ROW", fields=(ID,))
    same = [
        DataField(1, "a", DataType("ROW", fields=(DataField(2, "b_c", inner),))),
        DataField(4, "a_b", DataType("ROW", fields=(DataField(5, "c", inner),))),
    ]
    with pytest.raises(UnsupportedError, match="two records named 'record_a_b_c'"):
        DATA_FORMATS["avro"].prepare_writer(same, FileSettings("avro"))


def test_orc_refuses_what_java_could_not_read() -> None:
    odd = DataType("ROW", fields=(DataField(2, "a`b", parse_type("INT")),))
    for bad in (DataField(1, "`", parse_type("INT")), DataField(1, "r", odd)):
        with pytest.raises(UnsupportedError, match="`"):
            DATA_FORMATS["orc"].prepare_writer([bad], FileSettings("orc"))
    field = DataField(1, "t", parse_type("TIMESTAMP(6)"))
    rows = table_of([field], [(0,), (None,), (-1000,), (-1,)])
    with pytest.raises(DataError, match="last second before 1970"):
        written(rows, [field], FileSettings("orc"))
    assert written(rows.slice(0, 3), [field], FileSettings("orc"))


@pytest.mark.parametrize("codec", CODECS["orc"])
@given(st.data())
@settings(max_examples=examples(8))
def test_orc_files_of_several_parts(codec: str, data: st.DataObject) -> None:
    """Rows with parts of milliseconds before 1970 become stripes of their own, between those of others."""
    inner = DataType("ARRAY", element=parse_type("TIMESTAMP_LTZ(9)"))
    fields = [ID, DataField(1, "t", parse_type("TIMESTAMP(6)")), DataField(2, "l", inner)]
    moments = st.one_of(st.integers(-(10**12), -(10**6)), st.integers(0, 10**12))
    nanos = st.one_of(st.integers(-(2**62), -(10**9)), st.integers(0, 2**62))
    lists = st.lists(st.none() | nanos, max_size=3) | st.lists(st.sampled_from([-(10**20), 10**20]), max_size=3)
    values = st.tuples(st.integers(0, 9), st.none() | moments, st.none() | lists)
    plain = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 10**15), st.none())
    groups = st.lists(st.lists(values, min_size=1, max_size=5) | st.lists(plain, min_size=1, max_size=5), max_size=4)
    parts = [table_of(fields, group) for group in data.draw(groups)]
    sink = pa.BufferOutputStream()
    writer = DATA_FORMATS["orc"].prepare_writer(fields, FileSettings("orc", codec))(sink)
    for part in parts:
        writer.write(part)
    writer.close()
    rows = pa.concat_tables([table_of(fields, []), *parts])
    content = sink.getvalue().to_pybytes()
    assert comparable(opened(content, "orc").read(fields)) == comparable(rows)
    assert OrcTail.read(pa.BufferReader(content)).stripe_statistics() is not None
    actual = opened(content, "orc").read(fields, FileSelection(pc.field("id") == 5))
    assert comparable(actual.filter(pc.field("id") == 5)) == comparable(rows.filter(pc.field("id") == 5))


@given(st.data())
@settings(max_examples=examples(20))
def test_orc_stripes_that_a_filter_rules_out(data: st.DataObject) -> None:
    """A filter leaves out stripes, never rows that it is true for; and the rows' numbers say which are left."""
    text = data.draw(st.sampled_from(["INT", "BIGINT", "STRING", "DATE", "CHAR(4)", "DOUBLE", "TIME(3)"]))
    field = DataField(1, "v", parse_type(text))
    fields = [ID, field]
    values = stored_values(field.type, kept_by_orc)
    groups = data.draw(st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=4))
    rows = table_of(fields, [(i, value) for i, group in enumerate(groups) for value in group for _ in range(700)])
    content = written(
        rows, fields, FileSettings("orc", "none", options=TableModel({"orc.stripe.size": "1"})), rows.num_rows // 350
    )
    bound = data.draw(values.filter(lambda value: value is not None))
    literal = pa.scalar(bound, rows.schema.field("v").type)
    compare = data.draw(st.sampled_from([pc.equal, pc.less, pc.greater_equal]))
    condition = compare(pc.field("v"), literal)
    reader = opened(content, "orc")
    actual, positions = reader.read(fields, FileSelection(condition)), reader.positions(FileSelection(condition))
    kept = rows if positions is None else rows.take(pa.array(positions))
    assert comparable(actual) == comparable(kept)
    assert comparable(actual.filter(condition)) == comparable(rows.filter(condition))


@pytest.mark.parametrize("name", ["parquet", "orc", "avro", "row"])
@pytest.mark.parametrize("wanted", [[], [0], [150], [799], [399, 400], [10, 11, 790], list(range(800))])
@pytest.mark.parametrize("by_id", [False, True])
def test_parts_without_wanted_rows_are_left_out(name: str, wanted: list[int], by_id: bool) -> None:
    """Rows wanted by number, together with a filter: they are read, with whatever shares their part of the file."""
    sink = pa.BufferOutputStream()
    options = {"orc.stripe.size": "1", "file.block-size": "1 kb"}
    writer = DATA_FORMATS[name].prepare_writer([ID], FileSettings(name, options=TableModel(options)))(sink)
    for start in range(0, 800, 100):
        writer.write(table_of([ID], [(i,) for i in range(start, start + 100)]))
    writer.close()
    asked = FileSelection(pc.field("id") < 500 if by_id else None, np.array(wanted, np.int64))
    reader = opened(sink.getvalue().to_pybytes(), name, [ID])
    actual, positions = reader.read([ID], asked).column("id").to_pylist(), reader.positions(asked)
    assert actual == (list(range(800)) if positions is None else positions.tolist())
    assert actual == [row for table in reader.batches([ID], 30, asked) for row in table.column("id").to_pylist()]
    assert {row for row in wanted if row < 500 or not by_id} <= set(actual)
    if name == "parquet":
        assert {row // 100 for row in actual} == {row // 100 for row in wanted if row < 500 or not by_id}


def test_orc_leaves_out_stripes() -> None:
    rows = table_of([ID], [(i,) for i in range(5000)])
    content = written(rows, [ID], FileSettings("orc", "none", options=TableModel({"orc.stripe.size": "1"})))
    reader = opened(content, "orc")
    actual = reader.read([ID], FileSelection(pc.field("id") >= 4500))
    assert 500 <= actual.num_rows < 2500
    assert actual.column("id").to_pylist() == list(range(5000 - actual.num_rows, 5000))
    assert reader.positions() is None


NAMES = st.lists(FIELD_NAMES.filter(lambda name: "`" not in name), min_size=2, max_size=5, unique=True)


@pytest.mark.parametrize("name", ["parquet", "orc"])
@given(NAMES, st.data())
@settings(max_examples=examples(25))
def test_columns_of_any_names(name: str, names: list[str], data: st.DataObject) -> None:
    inner = DataType("ROW", fields=tuple(DataField(100 + i, n, parse_type("INT")) for i, n in enumerate(names)))
    types = [data.draw(st.sampled_from([parse_type("INT"), inner])) for _ in names]
    fields = [DataField(i, n, t) for i, (n, t) in enumerate(zip(names, types, strict=True))]
    row = [i if field.type.root == "INT" else {n: i * j for j, n in enumerate(names)} for i, field in enumerate(fields)]
    rows = table_of(fields, [row])
    content = written(rows, fields, FileSettings(name))
    wanted = data.draw(st.permutations(fields))[: data.draw(st.integers(1, len(fields)))]
    actual = opened(content, name).read(wanted)
    assert comparable(actual) == comparable(rows.select([field.name for field in wanted]))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("orc", "orc.row.index.stride"),
        ("orc", "orc.dictionary.key.threshold"),
        ("parquet", "parquet.page.size"),
        ("parquet", "parquet.compression.codec.zstd.level"),
    ],
)
def test_numbers_that_are_none(name: str, key: str) -> None:
    with pytest.raises(OptionError, match=f"'{key}' = '1 mb': expected a number"):
        DATA_FORMATS[name].prepare_writer([ID], FileSettings(name, options=TableModel({key: "1 mb"})))


@pytest.mark.parametrize(("key", "text"), [("orc.row.index.stride", "0"), ("orc.bloom.filter.fpp", "2")])
def test_numbers_out_of_range(key: str, text: str) -> None:
    with pytest.raises(OptionError, match="orc"):
        DATA_FORMATS["orc"].prepare_writer([ID], FileSettings("orc", options=TableModel({key: text})))
