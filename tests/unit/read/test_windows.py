"""Merging in windows gives what merging everything at once gives, however rows lie in runs and files."""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import group_by_key
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.windows import Window, windows
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.rolling import FilePlace, RollingFileWriter
from tests.examples import examples
from tests.tables import create_table

FIELDS = (("k", "STRING NOT NULL"), ("u", "INT"), ("n", "BIGINT"))
KEYS = [f"{'key' * (i % 3)}{i:03}" for i in range(30)]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    folder = tmp_path_factory.mktemp("windows")
    return create_table(folder, FIELDS, ("k",), {"sequence.field": "u"})


def write_run(context: WriteContext, rows: pa.Table, cuts: Sequence[int]) -> list[DataFileMeta]:
    """A sorted run in as many files as cuts say."""
    writer = RollingFileWriter(context, FilePlace(EMPTY_ROW, 0), FileNames.of(context))
    for start, end in pairwise([0, *sorted(cuts), rows.num_rows]):
        writer.write(rows.slice(start, end - start))
        writer.end_run()
    return list(writer.close())


def run_of(draw: st.DrawFn, number: int) -> tuple[pa.Table, list[int]]:
    """A run: each key once, sorted; sequence numbers that belong to no other run."""
    keys = sorted(draw(st.sets(st.sampled_from(KEYS), min_size=1)))
    size = len(keys)
    sequences = draw(st.lists(st.sampled_from([None, 1, 2]), min_size=size, max_size=size))
    rows = pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array(range(100 * number, 100 * number + size), pa.int64()),
            "_VALUE_KIND": pa.array(np.zeros(size, np.int8)),
            "k": keys,
            "u": pa.array(sequences, pa.int32()),
            "n": pa.array(range(1000 * number, 1000 * number + size), pa.int64()),
        }
    )
    return rows, draw(st.lists(st.integers(0, size), max_size=4))


@st.composite
def runs(draw: st.DrawFn) -> list[tuple[pa.Table, list[int]]]:
    return [run_of(draw, number) for number in range(draw(st.integers(1, 4)))]


def contexts(table: CatalogTable, folder: str) -> tuple[WriteContext, ReadContext]:
    moved = CatalogTable(table.identifier, folder, table.file_io, table.schema)
    write = moved.write_context()
    return write, ReadContext(moved.file_io, {table.schema.id: table.schema}, write.row_fields)


def readers_of(write: WriteContext, read: ReadContext, files: Sequence[DataFileMeta]) -> list[DataFileReader]:
    return [DataFileReader(read, write.paths.data_file(EMPTY_ROW, 0, file), file, {}) for file in files]


def merged(engine: MergeEngine, found: Sequence[Window]) -> list[int]:
    return [n for window in found for n in engine.merge(window.rows, window.groups).column("n").to_pylist()]


@settings(max_examples=examples(40))
@given(runs(), st.integers(1, 200))
def test_any_window_size_gives_the_same(
    table: CatalogTable, sorted_runs: list[tuple[pa.Table, list[int]]], max_rows: int
) -> None:
    engine = MergeEngine.of(table.schema, table.options)
    everything = pa.concat_tables([rows for rows, _ in sorted_runs]).combine_chunks()
    expected = engine.merge(everything, group_by_key(everything, engine.order)).column("n").to_pylist()
    with tempfile.TemporaryDirectory() as folder:
        write, read = contexts(table, folder)
        readers = [readers_of(write, read, write_run(write, rows, cuts)) for rows, cuts in sorted_runs]
        in_windows = list(windows(readers, engine.order, max_rows))
        at_once = list(windows(readers, engine.order, 1 << 40))
    assert merged(engine, in_windows) == expected
    assert merged(engine, at_once) == expected


def test_what_is_merged_is_kept_by_nobody(table: CatalogTable, tmp_path: Path) -> None:
    """Memory: a window, the one before until it is let go, and what readers hold of their files; no step besides."""
    write, read = contexts(table, str(tmp_path))
    engine = MergeEngine.of(table.schema, table.options)
    size, sorted_runs = 400_000, []
    for number in range(2):
        numbers = pa.array(np.arange(size) * 2 + number)
        sorted_runs.append(
            pa.table(
                {
                    "_SEQUENCE_NUMBER": numbers,
                    "_VALUE_KIND": pa.array(np.zeros(size, np.int8)),
                    "k": pa.compute.utf8_lpad(numbers.cast(pa.string()), 60, "0"),
                    "u": pa.nulls(size, pa.int32()),
                    "n": numbers,
                }
            )
        )
    files = [write_run(write, rows, []) for rows in sorted_runs]
    whole = sum(rows.nbytes for rows in sorted_runs)
    del sorted_runs, numbers
    before, held = pa.total_allocated_bytes(), []
    for window in windows([readers_of(write, read, run) for run in files], engine.order, size // 2):
        held.append(pa.total_allocated_bytes() - before)
        del window
    assert len(held) > 3
    assert max(held) < whole / 2, "a window is a quarter of the rows"


def test_windows_hold_back_what_is_not_complete(table: CatalogTable, tmp_path: Path) -> None:
    """Large files are read in steps: no window holds much more than asked for, and keys never come in two windows."""
    write, read = contexts(table, str(tmp_path))
    engine = MergeEngine.of(table.schema, table.options)
    size = 150_000
    generator = np.random.default_rng(7)
    sorted_runs = []
    for number in range(3):
        keys = pa.array(np.sort(generator.choice(400_000, size, replace=False)).astype(str)).cast(pa.string())
        rows = pa.table(
            {
                "_SEQUENCE_NUMBER": pa.array(np.arange(size) + number * size),
                "_VALUE_KIND": pa.array(np.zeros(size, np.int8)),
                "k": keys.take(pa.compute.sort_indices(keys)),
                "u": pa.array(generator.integers(0, 3, size).astype(np.int32)),
                "n": pa.array(np.arange(size) + number * size),
            }
        )
        sorted_runs.append(rows)
    everything = pa.concat_tables(sorted_runs).combine_chunks()
    expected = engine.merge(everything, group_by_key(everything, engine.order))
    readers = [readers_of(write, read, write_run(write, rows, [])) for rows in sorted_runs]
    actual, held = [], []
    for window in windows(readers, engine.order, 60_000):
        held.append(window.rows.num_rows)
        actual.append(engine.merge(window.rows, window.groups).select(["k", "n"]))
    assert len(actual) > 5
    assert max(held) < 120_000
    assert sum(held) < 1.2 * 3 * size, "runs are read on together: few rows are sorted again"
    assert pa.concat_tables(actual).equals(expected.select(["k", "n"]))
