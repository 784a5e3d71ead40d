"""ORC's run-length encoding and timestamps: decoded here as Arrow does, and beyond what Arrow can."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import orc

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.data_format import FileSettings, natural_table
from maintenance.format.orc.integers import decode_integers
from maintenance.format.orc.tail import OrcTail, StreamKind
from maintenance.format.orc.timestamps import ExactStripes
from maintenance.types.data_type import DataField, DataType, parse_type
from tests.data_files import comparable, holds_everywhere, opened, table_of, tables, written
from tests.examples import examples
from tests.unit.format.test_data_formats import kept_by_orc

INT64 = st.integers(-(2**63), 2**63 - 1)
# What the encoder has forms for: repeats, steps, small numbers with outliers, anything.
RUNS = st.one_of(
    st.tuples(INT64, st.integers(1, 600)).map(lambda run: [run[0]] * run[1]),
    st.tuples(st.integers(-(2**40), 2**40), st.integers(-1000, 1000), st.integers(3, 600)).map(
        lambda run: [run[0] + run[1] * i for i in range(run[2])]
    ),
    st.tuples(st.integers(0, 2**31), st.lists(st.integers(0, 300), min_size=3, max_size=90)).map(
        lambda run: np.cumsum([run[0], *run[1]]).tolist()
    ),
    st.tuples(
        st.lists(st.integers(-100, 100), min_size=60, max_size=600), st.lists(st.integers(0, 2**45), max_size=4)
    ).map(lambda run: [*run[0][:30], *run[1], *run[0][30:]]),
    st.lists(INT64, max_size=40),
)


@given(st.lists(RUNS, max_size=5))
@settings(max_examples=examples(60))
def test_integers_of_every_encoding(runs: list[list[int]]) -> None:
    values = [value for run in runs for value in run]
    if not values:
        assert decode_integers(b"", signed=True).tolist() == []
        return
    sink = pa.BufferOutputStream()
    with orc.ORCWriter(sink) as writer:
        writer.write(pa.table({"a": pa.array(values, pa.int64())}))
    source = pa.BufferReader(sink.getvalue())
    tail = OrcTail.read(source)
    streams = [tail.streams(source, stripe) for stripe in tail.stripes]
    data = b"".join(tail.stream(source, part.ranges[1, int(StreamKind.DATA)]) for part in streams)
    assert decode_integers(data, signed=True).tolist() == values


@pytest.mark.parametrize(
    ("data", "values"),
    [
        ("0a2710", [10000] * 5),
        ("5e035ca1ab1edeadbeef", [23713, 43806, 57005, 48879]),
        (
            "8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8",
            [2030, 2000, 2020, 1_000_000, *range(2040, 2200, 10)],
        ),
        ("c609020222424246", [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]),
    ],
    ids=["short repeat", "direct", "patched base", "delta"],
)
def test_examples_of_the_specification(data: str, values: list[int]) -> None:
    assert decode_integers(bytes.fromhex(data), signed=False).tolist() == values


@given(
    tables(
        holds_everywhere(lambda data_type: all(f.name.isascii() and f.name.isidentifier() for f in data_type.fields)),
        kept_by_orc,
    )
)
@settings(max_examples=examples(40))
def test_exact_columns_are_those_of_arrow(file: tuple[list[DataField], pa.Table]) -> None:
    fields, rows = file
    content = written(rows, fields, FileSettings("orc"))
    exact = ExactStripes(pa.BufferReader(content), "memory", legacy=True)
    assert comparable(natural_table(exact.stripe(0, fields), fields, "memory")) == comparable(rows)


FAR = [-(10**12), -62_135_596_800, -62_135_596_801, -1, 0, 253_402_300_799, 10**12]


@pytest.mark.parametrize("text", ["TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"])
@pytest.mark.parametrize("shape", ["plain", "in lists", "in maps", "in rows"])
def test_times_of_all_years(text: str, shape: str) -> None:
    moment = parse_type(text)
    unit = 10**3 if "(3)" in text else 10**6
    far = [seconds * unit + (unit // 2 if seconds > -(10**11) else 0) for seconds in FAR]
    values: list[object] = [*far, None, *far]
    data_type = moment
    if shape == "in lists":
        data_type, values = DataType("ARRAY", element=moment), [[value, None] for value in values] + [None, []]
    if shape == "in maps":
        data_type = DataType("MAP", key=moment.as_nullable(False), value=moment)
        values = [[(0, value), (1, value)] for value in values] + [None, []]
    if shape == "in rows":
        inner = (DataField(2, "a", moment), DataField(3, "b", parse_type("INT")))
        data_type, values = DataType("ROW", fields=inner), [{"a": value, "b": 1} for value in values] + [None]
    field = DataField(1, "t", data_type)
    rows = table_of([field], [(value,) for value in values])
    content = written(rows, [field], FileSettings("orc"))
    reader = opened(content, "orc")
    assert comparable(reader.read([field])) == comparable(rows)
    assert comparable(pa.concat_tables(reader.batches([field], 7))) == comparable(rows)


@pytest.mark.parametrize("text", ["TIMESTAMP(9)", "TIMESTAMP_LTZ(9)"])
def test_nanoseconds_of_all_years(text: str) -> None:
    """Far years stand in parts of their own in microseconds; finer digits have no place in them."""
    stored, asked = DataField(1, "t", parse_type("TIMESTAMP(6)")), DataField(1, "t", parse_type(text))
    content = written(table_of([stored], [(10**17,)]), [stored], FileSettings("orc"))
    assert comparable(opened(content, "orc").read([asked])) == [(10**20,)]
    edges = table_of([asked], [(2**63 - 1,), (10**20,), (-(2**63) // 10**6 * 10**6 + 10**6,), (-(10**20),), (None,)])
    assert opened(written(edges, [asked], FileSettings("orc")), "orc").read([asked]).equals(edges)
    with pytest.raises(UnsupportedError, match=r"1677.*Write parquet"):
        written(table_of([asked], [(1,), (10**20 + 1,)]), [asked], FileSettings("orc"))


WITHOUT_ZONES = """
import sys
from maintenance.errors import UnsupportedError
from maintenance.format.data_format import FileSettings
from maintenance.types.data_type import DataField, parse_type
from tests.data_files import opened, table_of, written

fields = [DataField(1, "t", parse_type("TIMESTAMP(3)"))]
content = open(sys.argv[1], "rb").read()
for work in (
    lambda: opened(content, "orc").read(fields),
    lambda: written(table_of(fields, [(5,)]), fields, FileSettings("orc")),
):
    try:
        work()
    except UnsupportedError as error:
        print(error)
"""


def test_a_machine_without_time_zones(tmp_path: Path) -> None:
    """ORC's library reads the database from a folder; without one the error says what to install or to set."""
    field = DataField(1, "t", parse_type("TIMESTAMP(3)"))
    path = tmp_path / "file.orc"
    path.write_bytes(written(table_of([field], [(5,)]), [field], FileSettings("orc")))
    environment = {**os.environ, "TZDIR": "/nonexistent", "PYTHONPATH": str(Path(__file__).parents[4])}
    command = [sys.executable, "-c", WITHOUT_ZONES, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    reading, writing = done.stdout.splitlines()
    assert "memory.orc" in reading
    assert all("Install the system's package tzdata, or set" in line for line in (reading, writing))


def test_a_damaged_tail_is_an_error_that_names_the_file() -> None:
    field = DataField(1, "t", parse_type("TIMESTAMP_LTZ(3)"))
    content = bytearray(written(table_of([field], [(10**15,), (0,)]), [field], FileSettings("orc")))
    for position in range(len(content) - 90, len(content)):
        damaged = content.copy()
        damaged[position] ^= 0x10
        try:
            opened(bytes(damaged), "orc").read([field])
        except (CorruptFileError, UnsupportedError) as error:
            message = str(error)
            assert "memory.orc" in message
