"""Sort compaction: the orders against slow definitions of them, and tables that keep every row."""

import datetime as dt
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.compaction.order.bits import in_turn
from maintenance.compaction.order.codes import column_bytes, column_codes
from maintenance.compaction.order.curve import places, transpose
from maintenance.compaction.order.orders import ORDERS
from maintenance.compaction.order.ranges import cuts, range_keys, range_numbers
from maintenance.compaction.order.zorder import zorder_words
from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations.compaction import sort as sort_compact
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from maintenance.spark.local_exchange import exchange_here
from tests.examples import examples
from tests.golden.case import extract
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live_files

FIELDS = (("a", "INT"), ("b", "DOUBLE"), ("c", "STRING"))
ASCENDING = [
    pa.array([None, False, True]),
    pa.array([None, -(2**31), -1, 0, 2**31 - 1], pa.int32()),
    pa.array([None, float("-inf"), -1.5, -0.0, 0.0, 5e-324, 2.0, float("inf"), float("nan")], pa.float64()),
    pa.array([None, "a", "aa", "b", "é"]),
    pa.array([None, b"\x01", b"\x01\x02", b"\xff"]),
    pa.array([None, Decimal("-9.5"), Decimal("0.1"), Decimal("7.2")], pa.decimal128(5, 2)),
    pa.array([None, dt.datetime(1969, 1, 1), dt.datetime(2020, 1, 1)], pa.timestamp("us")),
    pa.array([None, dt.date(1, 1, 1), dt.date(9999, 1, 1)], pa.date32()),
]


@pytest.mark.parametrize("column", ASCENDING, ids=lambda column: str(column.type))
def test_codes_sort_as_values_do(column: pa.Array) -> None:
    codes = column_codes(column).tolist()
    # False is zeros, as null is; every other value is told apart.
    assert codes == sorted(codes)
    assert len(set(codes)) == len(column) - pa.types.is_boolean(column.type)
    assert column_codes(column.slice(1)).tolist() == codes[1:]
    assert column_bytes(column)[0].tolist() == [0] * 8


POINTS = st.tuples(st.integers(-(2**31), 2**31 - 1), st.text("abcé", max_size=5))


@settings(max_examples=examples(50))
@given(points=st.lists(POINTS, min_size=1, max_size=8), width=st.sampled_from([3, 8]))
def test_a_z_order_takes_bits_in_turn(points: list[tuple[int, str]], width: int) -> None:
    columns = [pa.array([a for a, _ in points], pa.int32()), pa.array([c for _, c in points])]
    high, low = (words.tolist() for words in zorder_words(columns, width))
    for value, (number, text) in zip([h << 64 | w for h, w in zip(high, low, strict=True)], points, strict=True):
        bits = [f"{number + 2**63:064b}", "".join(f"{byte:08b}" for byte in text.encode()[:width].ljust(width, b"\0"))]
        wanted = "".join(each[place] for place in range(64) for each in bits if place < len(each))
        assert value == int(wanted.ljust(128, "0"), 2)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 9, 65])
def test_a_z_order_of_many_columns_takes_bits_in_turn(columns: int) -> None:
    numbers = np.random.default_rng(columns).integers(-(2**63), 2**63 - 1, (columns, 20), dtype=np.int64)
    words = zorder_words([pa.array(column) for column in numbers], 8)
    for row in range(20):
        bits = [f"{int(number) + 2**63:064b}" for number in numbers[:, row]]
        wanted = "".join(each[place] for place in range(64) for each in bits)
        assert "".join(f"{int(word[row]):064b}" for word in words) == wanted


@pytest.mark.parametrize(("dimensions", "bits"), [(2, 4), (2, 5), (3, 3), (4, 2), (5, 2)])
def test_a_hilbert_curve_visits_neighbours(dimensions: int, bits: int) -> None:
    points = np.stack(np.meshgrid(*[np.arange(1 << bits)] * dimensions), axis=-1).reshape(-1, dimensions)
    (words,) = places(list(points.T.astype(np.uint64)), bits)
    assert len(set(words.tolist())) == len(points)
    steps = np.abs(np.diff(points[np.argsort(words)].astype(int), axis=0)).sum(axis=1)
    assert steps.max() == 1, "each point lies beside the one before"


def place_on_curve(point: list[int], bits: int) -> int:
    """Skilling's method for one point, a bit at a time."""
    x = list(point)
    for level in range(bits - 1, 0, -1):
        below = (1 << level) - 1
        for axis in range(len(x)):
            if x[axis] >> level & 1:
                x[0] ^= below
            else:
                other = (x[0] ^ x[axis]) & below
                x[0], x[axis] = x[0] ^ other, x[axis] ^ other
    for axis in range(1, len(x)):
        x[axis] ^= x[axis - 1]
    turned = 0
    for level in range(bits - 1, 0, -1):
        if x[-1] >> level & 1:
            turned ^= (1 << level) - 1
    return int("".join(f"{value ^ turned:0{bits}b}"[bit] for bit in range(bits) for value in x), 2)


@pytest.mark.parametrize("dimensions", [2, 3, 4, 5, 9])
@pytest.mark.parametrize("bits", [1, 7, 63])
def test_places_on_a_hilbert_curve_are_skillings(dimensions: int, bits: int) -> None:
    points = np.random.default_rng(dimensions).integers(0, 2**bits, (dimensions, 30), dtype=np.uint64)
    words = places(list(points), bits)
    turned = points.copy()
    transpose(list(turned), bits)
    for row, point in enumerate(points.T.tolist()):
        wanted = f"{place_on_curve(point, bits):0{dimensions * bits}b}".ljust(64 * len(words), "0")
        assert "".join(f"{int(word[row]):064b}" for word in words) == wanted
        assert [int(word[row]) for word in in_turn(list(turned), bits)] == [int(word[row]) for word in words]


def test_ranges_and_their_cuts() -> None:
    keys = range_keys([np.array([5, 1, 300, 1], np.uint64), np.array([0, 7, 0, 2], np.uint64)])
    assert np.argsort(keys, kind="stable").tolist() == [3, 1, 0, 2]
    assert cuts(keys, 1) == []
    assert len(cuts(keys, 4)) == 3
    assert cuts(np.array([b"a"] * 9), 3) == [b"a"]


KEYS = st.tuples(*[st.integers(0, 3) | st.integers(0, 2**64 - 1)] * 3)


@settings(max_examples=examples(50))
@given(
    keys=st.lists(KEYS, min_size=1, max_size=20), bounds=st.lists(KEYS, max_size=4), count=st.sampled_from([1, 2, 3])
)
def test_rows_are_in_the_range_that_their_key_says(
    keys: list[tuple[int, ...]], bounds: list[tuple[int, ...]], count: int
) -> None:
    known = sorted({bound[:count] for bound in [*bounds, keys[0]]})
    words = [np.array([key[place] for key in keys], np.uint64) for place in range(count)]
    cut_at = range_keys([np.array([bound[place] for bound in known], np.uint64) for place in range(count)]).tolist()
    wanted = [sum(bound <= key[:count] for bound in known) for key in keys]
    assert range_numbers(words, cut_at).tolist() == wanted


def rows(start: int, count: int) -> pa.Table:
    random = np.random.default_rng(start)
    numbers = random.permutation(np.arange(start, start + count, dtype=np.int32))
    texts = [None if n % 7 == 0 else f"{n % 10}" for n in numbers.tolist()]
    return pa.table({"a": numbers, "b": random.normal(size=count), "c": texts})


def all_rows(table: CatalogTable) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_arrow().to_pylist()), key=repr)


@pytest.mark.parametrize("target", ["256 mb", "8 kb"])
@pytest.mark.parametrize(("strategy", "by"), [("order", ["c", "a"]), ("zorder", ["a", "c"]), ("hilbert", ["a", "b"])])
def test_files_are_in_order_and_no_row_is_lost(tmp_path: Path, strategy: str, by: list[str], target: str) -> None:
    table = create_table(tmp_path, FIELDS, (), {"target-file-size": target})
    for part in range(3):
        table.write_arrow(rows(part * 1000, 1000))
    before = all_rows(table)
    report = compact(None, table, order_strategy=strategy, order_by=by)
    assert len(report.snapshot_ids) == 1
    assert all_rows(table) == before
    assert (len(live_files(table)) == 1) if target == "256 mb" else (len(live_files(table)) > 2)
    assert files_on_disk(table) == data_files(table)
    files = [
        table.to_arrow().slice(0, 0) if not file.row_count else _of(table, file.file_name) for file in live_files(table)
    ]
    for file in files:
        words = ORDERS[strategy].words([file.column(name).combine_chunks() for name in by], 8)
        keys = range_keys(words)
        assert (keys[1:] >= keys[:-1]).all()
    if strategy == "order" and len(files) > 1:
        edges = sorted((file.column("c")[0].as_py() or "", file.column("c")[-1].as_py() or "") for file in files)
        assert all(left[1] <= right[0] for left, right in zip(edges, edges[1:], strict=False)), "ranges do not overlap"


@pytest.mark.parametrize(("strategy", "by"), [("order", ["c", "b"]), ("zorder", ["b", "c"]), ("hilbert", ["b", "a"])])
def test_what_does_not_fit_into_memory_is_sorted_alike(
    tmp_path: Path, strategy: str, by: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sorted_files = []
    for held in (1 << 30, 30_000, 0):
        table = create_table(tmp_path / str(held), FIELDS, (), {"target-file-size": "4 kb"})
        for part in range(3):
            made = rows(part * 1000, 1000)
            odd = [None if n % 5 == 0 else float("nan") if n % 5 == 1 else n / 7 for n in made.column("a").to_pylist()]
            table.write_arrow(made.set_column(1, "b", pa.array(odd, pa.float64())))
        before = repr(all_rows(table))
        monkeypatch.setattr(sort_compact, "exchange_here", partial(exchange_here, held_bytes=held))
        assert compact(None, table, order_strategy=strategy, order_by=by).proof["rows written"] == 3000
        # Texts: a NaN is not the same as another one.
        assert repr(all_rows(table)) == before
        sorted_files.append([repr(_of(table, file.file_name).to_pylist()) for file in live_files(table)])
    assert len(sorted_files[0]) > 2
    assert sorted(sorted_files[0]) == sorted(sorted_files[1]) == sorted(sorted_files[2])


@pytest.mark.parametrize("count", [0, 1, 4])
def test_keys_that_are_all_the_same(tmp_path: Path, count: int) -> None:
    """All rows are in one range then, whatever the size. `count`: of files that are left, others have no rows."""
    options = {"target-file-size": "1 kb", "deletion-vectors.enabled": "true"}
    table = create_table(tmp_path, FIELDS, (), options)
    for part in range(4):
        texts = pa.nulls(500, pa.string())
        table.write_arrow(rows(part * 500, 500).set_column(2, "c", texts))
    delete(None, table, f"a >= {count * 500}")
    report = compact(None, table, order_strategy="order", order_by=["c"])
    assert not report.failed
    assert [row[0] for row in all_rows(table)] == sorted(range(count * 500), key=repr)
    assert files_on_disk(table) == data_files(table)


def _of(table: CatalogTable, name: str) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(next(Path(table.location).rglob(name)))


def test_rows_that_come_meanwhile_stay(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ())
    table.write_arrow(rows(0, 50))
    table.write_arrow(rows(50, 50))

    def another(line: str) -> None:
        if "to compact" in line:
            get_table(tmp_path).write_arrow(rows(100, 10))

    assert compact(None, table, order_strategy="order", order_by=["a"], progress=another).snapshot_ids == (4,)
    assert sorted(row[0] for row in all_rows(table)) == list(range(110))


def test_files_that_another_compaction_took_are_planned_anew(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ())
    table.write_arrow(rows(0, 50))
    table.write_arrow(rows(50, 50))
    taken: list[int] = []

    def another(line: str) -> None:
        if "to compact" in line and not taken:
            taken.extend(compact(None, get_table(tmp_path), full=True).snapshot_ids)

    report = compact(None, table, order_strategy="order", order_by=["a"], progress=another)
    assert taken == [3]
    assert report.count("conflict_retried") == 1
    assert [row["a"] for row in table.to_arrow().to_pylist()] == list(range(100))
    assert files_on_disk(table) == data_files(table)


def test_deleted_rows_are_left_out_and_partitions_chosen(tmp_path: Path) -> None:
    options = {"deletion-vectors.enabled": "true"}
    table = create_table(tmp_path, (*FIELDS, ("p", "INT")), (), options, partition_keys=("p",))
    for part in range(2):
        table.write_arrow(rows(0, 20).append_column("p", pa.array([part] * 20, pa.int32())))
    report = compact(None, table, order_strategy="zorder", order_by=["a", "b"], where="p = 1")
    assert [group.partition for group in report.groups] == ["p=1"]
    assert table.to_arrow().num_rows == 40


def test_paimons_own_tables_are_sorted(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(extract("append_tables", tmp_path))})
    done = 0
    for name in catalog.list_tables("db"):
        table = catalog.get_table(f"db.{name}")
        assert isinstance(table, CatalogTable)
        if table.options.get("bucket", "-1") == "-1" and live_files(table):
            before, column = all_rows(table), table.schema.field_names[0]
            compact(None, table, order_strategy="order", order_by=[column])
            assert all_rows(table) == before
            done += 1
    assert done


def test_orders_that_do_not_fit(tmp_path: Path) -> None:
    table = create_table(tmp_path, (*FIELDS, ("p", "INT"), ("n", "ARRAY<INT>")), (), partition_keys=("p",))
    for strategy, by in (("zorder", []), ("hilbert", ["a"]), ("order", ["p"]), ("spiral", ["a"]), ("none", ["a"])):
        with pytest.raises(OptionError, match="order"):
            compact(None, table, order_strategy=strategy, order_by=by)
    with pytest.raises(UnsupportedError, match="nested"):
        compact(None, table, order_strategy="order", order_by=["n"])
    with pytest.raises(OptionError, match="idle"):
        compact(None, table, order_strategy="order", order_by=["a"], partition_idle_time=dt.timedelta(1))
    keyed_table = create_table(tmp_path, name="db.k")
    keyed_table.write_arrow(keyed({1: "a"}))
    with pytest.raises(UnsupportedError, match="primary key"):
        compact(None, keyed_table, order_strategy="order", order_by=["v"])
