"""Files leave out rows that a filter rules out before their other columns are decoded, and the rows are the same."""

import tempfile
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.format.data_format import RowFilter
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.merge.deduplicate import deduplicate
from maintenance.merge.engine import MergeEngine, PickRules
from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.predicate.arrow import mask, selected
from maintenance.predicate.sql import parse
from maintenance.read import split_read
from maintenance.read.data_file import DataFileReader, ReadContext
from tests.examples import examples
from tests.tables import create_table, keyed, live_files

FIELDS = [("id", "INT"), ("text", "STRING"), ("score", "DOUBLE"), ("row", "ROW<a INT>"), ("at", "TIMESTAMP(9)")]
ROWS = 40_000
WHERE = [
    "id < 7",
    "id = 20000",
    "id > 100000",
    "text = 't3'",
    "text LIKE '%7'",
    "text IS NULL",
    "score > 0.99",
    "score < 0",
    "score >= 0",
    "NOT (score < 0.5)",
    "id < 300 OR text = 't1'",
    "id BETWEEN 8000 AND 9000 AND score > 0.5",
    "at > TIMESTAMP '1970-01-01 00:00:30'",
    "id IN (1, 39999)",
]


def rows() -> pa.Table:
    numbers = np.arange(ROWS)
    score = np.random.default_rng(3).random(ROWS)
    score[::1000], score[1::1000] = np.nan, -0.0
    return pa.table(
        {
            "id": numbers.astype(np.int32),
            "text": [None if n % 11 == 0 else f"t{n % 10}" for n in range(ROWS)],
            "score": pa.array(score, mask=numbers % 13 == 0),
            "row": [{"a": n} for n in range(ROWS)],
            "at": pa.array(numbers * 10**6 + numbers % 3, pa.timestamp("ns")),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """One file of several row groups."""
    made = create_table(tmp_path_factory.mktemp("matching"), FIELDS, (), {"parquet.block.size": "200000"})
    made.write_arrow(rows())
    (file,) = live_files(made)
    assert pq.ParquetFile(path_of(made)).num_row_groups > 2, file
    return made


def path_of(table: CatalogTable) -> str:
    (file,) = live_files(table)
    return table.paths.data_file(EMPTY_ROW, 0, file)


def reader_of(table: CatalogTable, where: str) -> DataFileReader:
    (file,) = live_files(table)
    fields = tuple(table.schema.fields)
    context = ReadContext(table.file_io, {table.schema.id: table.schema}, fields, keyed=False)
    return DataFileReader(context, path_of(table), file, {}, parse(where, fields), by_row=True)


@settings(max_examples=examples(30))
@given(where=st.sampled_from(WHERE), columns=st.sets(st.sampled_from([name for name, _ in FIELDS]), min_size=1))
def test_the_rows_are_those_of_a_filter_afterwards(table: CatalogTable, where: str, columns: set[str]) -> None:
    wanted = [name for name, _ in FIELDS if name in columns]
    whole = table.to_arrow()
    expected = whole.filter(mask(parse(where, table.schema.fields), whole)).select(wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_read, "DEFAULT_BATCH_ROWS", 1000)
        actual = table.to_arrow(columns=wanted, where=where)
    # As text, for NaN is not equal to itself, and -0.0 is to 0.0.
    assert repr(actual.to_pylist()) == repr(expected.to_pylist())


@pytest.mark.parametrize("where", WHERE)
def test_only_matching_rows_are_decoded(table: CatalogTable, where: str) -> None:
    reader = reader_of(table, where)
    assert reader.predicate is not None
    for batch in reader.batches(1000):
        assert selected(reader.predicate, batch).all()
    every = pa.concat_tables([reader.context.arrow_schema.empty_table(), *reader.batches(1000)])
    unfiltered = replace(reader, predicate=None).read()
    assert every.num_rows == selected(reader.predicate, unfiltered).sum()


def test_row_groups_without_matching_rows_are_not_decoded(tmp_path: Path, table: CatalogTable) -> None:
    """The texts of a row group are damaged, whose numbers alone tell that none of its rows is wanted."""
    metadata = pq.ParquetFile(path_of(table)).metadata
    damaged = bytearray(Path(path_of(table)).read_bytes())
    number = metadata.schema.names.index("text")
    place = metadata.row_group(1).column(number)
    start = place.dictionary_page_offset or place.data_page_offset
    damaged[start : start + place.total_compressed_size] = b"\xff" * place.total_compressed_size
    path = tmp_path / Path(path_of(table)).name
    path.write_bytes(damaged)
    # Statistics do not rule it out: floats have none.
    reader = replace(reader_of(table, "score < -1"), path=str(path))
    assert list(reader.batches(1000)) == []
    with pytest.raises(CorruptFileError):
        list(replace(reader, by_row=False).batches(1000))


@settings(max_examples=examples(20))
@given(
    runs=st.lists(
        st.dictionaries(
            st.integers(0, 8), st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["+I", "-D"])), min_size=1
        ),
        min_size=2,
        max_size=4,
    ),
    where=st.sampled_from(["v = 'a'", "v <> 'a'", "v IS NULL", "id > 3 AND v = 'b'", "v = 'a' OR id = 1"]),
)
def test_merged_rows_are_filtered_by_their_newest_values(
    runs: list[dict[int, tuple[str | None, str]]], where: str
) -> None:
    """An older value that matches brings no row back, and a newer one that does is found."""
    with tempfile.TemporaryDirectory() as folder:
        table = create_table(folder)
        newest: dict[int, str | None] = {}
        for run in runs:
            table.write_arrow(
                keyed({key: value for key, (value, _) in run.items()}), row_kinds=[kind for _, kind in run.values()]
            )
            newest |= {key: value for key, (value, _) in run.items()}
            for key, (_, kind) in run.items():
                if kind == "-D":
                    del newest[key]
        whole = keyed(newest)
        expected = whole.filter(mask(parse(where, table.schema.fields), whole))
        assert sorted(table.to_arrow(where=where).to_pylist(), key=itemgetter("id")) == sorted(
            expected.to_pylist(), key=itemgetter("id")
        )


def test_merging_takes_only_matching_rows() -> None:
    columns = {"_SEQUENCE_NUMBER": [1, 2, 3], "_VALUE_KIND": pa.array([0, 0, 0], pa.int8()), "id": [1, 1, 2]}
    rows = pa.table({**columns, "v": ["wanted", "not", "wanted"]})
    engine = MergeEngine(RecordOrder(("id",)), PickRules(deduplicate))
    matching = RowFilter(frozenset({"v"}), lambda told: np.array(told.column("v").to_pylist()) == "wanted")
    merged = engine.merge(rows, group_by_key(rows, engine.order), matching=matching)
    assert merged.column("id").to_pylist() == [2]
