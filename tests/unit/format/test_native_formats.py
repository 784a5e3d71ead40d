"""Data files of formats with libraries of their own, and the sentence that names the extra where one is missing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from maintenance.catalog import Schema
from maintenance.errors import DataError, PaimonError, UnsupportedError
from maintenance.format.data_format import FileSelection, FileSettings
from maintenance.format.data_formats import DATA_FORMATS, open_data_file
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.data_files import comparable, opened, table_of, written
from tests.tables import create_table, keyed, open_warehouse, state
from tests.unit.test_extras import REFUSED, run

NAMES = ("vortex", "lance", "mosaic")
ID = DataField(0, "id", parse_data_type("INT NOT NULL"))
WITHOUT = """
import maintenance as pm
from maintenance.catalog import Schema
from maintenance.errors import UnsupportedError

catalog = pm.open_catalog({"warehouse": sys.argv[1]})
try:
    if sys.argv[3] == "create":
        options = {"file.format": sys.argv[2]}
        catalog.create_table("db.u", Schema([("id", "INT")], options=options))
    elif sys.argv[3] == "read":
        catalog.get_table("db.t").to_arrow()
    else:
        pm.compact(None, catalog.get_table("db.t"), full=True)
except UnsupportedError as error:
    print(error)
if sys.argv[3] == "read":
    pm.operations.expire_snapshots(catalog.get_table("db.t"), retain_max=1, retain_min=1)
    assert pm.fsck(catalog.get_table("db.t").file_io, catalog.get_table("db.t").location).healthy
"""


@pytest.mark.parametrize("name", NAMES)
def test_without_its_library_a_format_is_refused_by_the_name_of_the_extra(tmp_path: Path, name: str) -> None:
    """When a table is created and when it is read; what decodes nothing goes on."""
    table = create_table(tmp_path, (("id", "INT"), ("v", "STRING")), (), {"file.format": name})
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({2: "b"}))
    for step in ("create", "read"):
        said = run(REFUSED + WITHOUT, str(tmp_path), name, step)
        assert f"format '{name}'" in said
        assert f"pip install 'paimon-maintenance[{name}]'" in said
    assert state(table) == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vortex", "MAP<INT, INT>"),
        ("vortex", "ARRAY<VARIANT>"),
        ("lance", "MULTISET<INT>"),
        ("mosaic", "ROW<a INT>"),
        ("mosaic", "VECTOR<FLOAT, 2>"),
        ("mosaic", "ARRAY<TIMESTAMP(0)>"),
    ],
)
def test_types_that_a_format_lacks(tmp_path: Path, name: str, text: str) -> None:
    schema = Schema([("id", "INT"), ("v", text)], options={"file.format": name})
    with pytest.raises(UnsupportedError, match=rf"in a {name} file .*column v"):
        open_warehouse(tmp_path).create_table("db.t", schema)


@pytest.mark.parametrize("name", NAMES)
def test_rows_by_their_numbers(name: str) -> None:
    fields = [ID, DataField(1, "v", parse_data_type("STRING"))]
    rows = table_of(fields, [(n, f"text {n}") for n in range(5000)])
    content = written(rows, fields, FileSettings(name, options=TableModel({"file.block-size": "4 kb"})), 20)
    wanted = FileSelection(rows=np.array([0, 7, 4999]))
    reader = opened(content, name)
    positions = reader.positions(wanted)
    assert positions is not None
    assert {0, 7, 4999} <= set(positions.tolist())
    assert comparable(reader.read(fields, wanted)) == comparable(rows.take(pa.array(positions)))
    assert reader.positions() is None
    nothing = FileSelection(rows=np.array([], np.int64))
    assert reader.read(fields, nothing).num_rows == 0
    if name == "mosaic":  # by row groups, the others row by row
        assert len(positions) < 5000
    else:
        assert positions.tolist() == [0, 7, 4999]


@pytest.mark.parametrize("name", ["vortex", "lance"])
def test_vectors_are_lists_of_a_fixed_size(name: str) -> None:
    field = DataField(1, "v", parse_data_type("VECTOR<FLOAT, 2>"))
    rows = pa.table({"v": pa.array([[1.0, 2.0], [3.0, 4.0]], arrow_type(field.type))})
    content = written(rows, [field], FileSettings(name))
    assert opened(content, name).read([field]).equals(rows)


@pytest.mark.parametrize("name", NAMES)
def test_timestamps_beyond_nanoseconds_are_refused(name: str) -> None:
    field = DataField(1, "t", parse_data_type("TIMESTAMP(9)"))
    writer = DATA_FORMATS[name].prepare_writer([field], FileSettings(name))(pa.BufferOutputStream())
    with pytest.raises(DataError, match="1677 to 2262"):
        writer.write(table_of([field], [(10**20,)]))
    writer.close()


class Failing(pa.BufferReader):  # type: ignore[misc]  # Arrow has no types
    """A storage that fails after the file is open."""

    broken = False

    def read_at(self, nbytes: int, offset: int) -> bytes:
        if self.broken:
            raise ConnectionError("the store is away")
        content: bytes = super().read_at(nbytes, offset)
        return content


@pytest.mark.parametrize("name", ["vortex", "mosaic"])
def test_a_storage_that_fails_is_no_damage(name: str) -> None:
    rows = table_of([ID], [(n * 7919 % 1_000_003,) for n in range(200_000)])
    source = Failing(written(rows, [ID], FileSettings(name)))
    reader = open_data_file(source, f"f.{name}", {})
    source.broken = True
    with pytest.raises(ConnectionError, match="the store is away"):
        reader.read([ID])


@pytest.mark.parametrize("name", NAMES)
def test_a_codec_that_a_format_lacks_is_refused(name: str) -> None:
    with pytest.raises(PaimonError, match=f"'lz4' of {name} files"):
        DATA_FORMATS[name].prepare_writer([ID], FileSettings(name, "lz4"))


def test_options_of_mosaic_are_taken_or_refused() -> None:
    rows = table_of([ID], [(n,) for n in range(100)])
    options = {"mosaic.stats-columns": "id", "mosaic.num-buckets": "1"}
    content = written(rows, [ID], FileSettings("mosaic", options=TableModel(options)))
    import mosaic

    reader = mosaic.MosaicReader.from_input_file(lambda start, count: content[start : start + count], len(content))
    assert list(reader.get_row_group_statistics(0)) == ["id"]
    with pytest.raises(UnsupportedError, match=r"option 'mosaic\.page'"):
        DATA_FORMATS["mosaic"].prepare_writer([ID], FileSettings("mosaic", options=TableModel({"mosaic.page": "1"})))
