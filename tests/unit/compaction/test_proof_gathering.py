"""Columns that gather elements, put texts together or multiply: proved by value, and never refused if right."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from maintenance.catalog import CatalogTable
from maintenance.compaction.merging import MergedKeys, Merging
from maintenance.compaction.proof.bitmaps import bitmap_words, halves_of_32, halves_of_64
from maintenance.format.bytes.roaring import (
    ARRAY,
    RUN,
    Bitmap64,
    Container,
    parse_portable,
    serialize_bitmap64,
    serialize_portable,
)
from maintenance.operations.compaction.compact import compact
from maintenance.read.windows import Window
from tests.examples import examples
from tests.tables import create_table, live

NESTED = pa.list_(pa.struct([("k", pa.int32()), ("s", pa.int32()), ("v", pa.string())]))
ROW = "ROW<k INT, s INT, v STRING>"
# Columns by name: their type here and in Arrow, their function, its options.
COLUMNS: dict[str, tuple[str, pa.DataType, str, dict[str, str]]] = {
    "numbers": ("ARRAY<DOUBLE>", pa.list_(pa.float64()), "collect", {}),
    "words": ("ARRAY<STRING>", pa.list_(pa.string()), "collect", {"distinct": "true"}),
    "lists": ("ARRAY<ARRAY<INT>>", pa.list_(pa.list_(pa.int32())), "collect", {"distinct": "true"}),
    "rows": (f"ARRAY<{ROW}>", NESTED, "nested_update", {}),
    "few": (f"ARRAY<{ROW}>", NESTED, "nested_update", {"count-limit": "2"}),
    "keyed": (f"ARRAY<{ROW}>", NESTED, "nested_update", {"nested-key": "k"}),
    "kept": (
        f"ARRAY<{ROW}>",
        NESTED,
        "nested_update",
        {"nested-key": "k,v", "nested-sequence-field": "s", "nested-key-null-strategy": "ignore", "count-limit": "4"},
    ),
    "partly": (f"ARRAY<{ROW}>", NESTED, "nested_partial_update", {"nested-key": "k"}),
    "text": ("STRING", pa.string(), "listagg", {}),
    "parts": ("STRING", pa.string(), "listagg", {"distinct": "true", "list-agg-delimiter": ";"}),
    "glued": ("STRING", pa.string(), "listagg", {"distinct": "true", "list-agg-delimiter": ""}),
    "times": ("BIGINT", pa.int64(), "product", {}),
    "small": ("SMALLINT", pa.int16(), "product", {}),
    "real": ("FLOAT", pa.float32(), "product", {}),
    "whole": ("DECIMAL(9, 0)", pa.decimal128(9, 0), "product", {}),
    "bits": ("BYTES", pa.binary(), "rbm32", {}),
    "wide": ("BYTES", pa.binary(), "rbm64", {}),
    "map": ("MAP<STRING, INT>", pa.map_(pa.string(), pa.int32()), "merge_map", {}),
}
FIELDS = (("id", "INT NOT NULL"), ("g", "INT"), *((name, column[0]) for name, column in COLUMNS.items()))
ARROW = {"id": pa.int32(), "g": pa.int32(), **{name: column[1] for name, column in COLUMNS.items()}}
FUNCTIONS = {
    f"fields.{name}.{option}": value
    for name, (_, _, function, options) in COLUMNS.items()
    for option, value in {"aggregate-function": function, **options}.items()
}
GROUPED = {"merge-engine": "partial-update", "fields.g.sequence-group": ",".join(COLUMNS)}
TABLES: dict[str, dict[str, str]] = {
    "aggregation": {"merge-engine": "aggregation", **FUNCTIONS},
    "sequence": {"merge-engine": "aggregation", "sequence.field": "g", **FUNCTIONS},
    "lookup": {"merge-engine": "aggregation", "changelog-producer": "lookup", **FUNCTIONS},
    "vectors": {"merge-engine": "aggregation", "deletion-vectors.enabled": "true", **FUNCTIONS},
    "states": {"merge-engine": "aggregation", "changelog-producer": "full-compaction", **FUNCTIONS},
    "groups": {**GROUPED, **FUNCTIONS},
    "groups looked up": {**GROUPED, "changelog-producer": "lookup", **FUNCTIONS},
}

SMALL = st.one_of(st.none(), st.integers(-2, 3))
FLOATS = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.5, float("nan"), -3.25]))
WORDS = st.sampled_from([None, "", "a", "b", "b"])
# With delimiters, blanks of all kinds, and parts that are there twice.
TEXTS = st.one_of(st.none(), st.text("ab,; \t\u3000\u00a0\n", max_size=6))
INNER = st.one_of(st.none(), st.fixed_dictionaries({"k": SMALL, "s": SMALL, "v": WORDS}))


def arrays_of(element: Any) -> Any:
    return st.one_of(st.none(), st.lists(element, max_size=4))


def bitmap(numbers: Iterable[int]) -> bytes:
    data: bytes = BitMap(numbers).serialize()
    return data


def wide_bitmap(numbers: Iterable[int], high: int = 0) -> bytes:
    containers = {high << 16 | low: part for low, part in parse_portable(bitmap(numbers))}
    return serialize_bitmap64(Bitmap64(containers, len(containers)))


# Of several containers, of many numbers in a row, of none.
NUMBERS = st.one_of(
    st.sets(st.sampled_from([0, 1, 7, 70_000, 2**32 - 1])), st.just(range(5000)), st.just(range(0, 9000, 2))
)
VALUES: dict[str, Any] = {
    "bits": st.one_of(st.none(), NUMBERS.map(bitmap)),
    "wide": st.one_of(st.none(), st.builds(wide_bitmap, NUMBERS, st.sampled_from([0, 3, 2**31]))),
    "numbers": arrays_of(FLOATS),
    "words": arrays_of(WORDS),
    "lists": arrays_of(arrays_of(SMALL)),
    **dict.fromkeys(("rows", "few", "keyed", "kept", "partly"), arrays_of(INNER)),
    **dict.fromkeys(("text", "parts", "glued"), TEXTS),
    "times": SMALL,
    "small": st.one_of(st.none(), st.integers(-1, 1)),
    "real": FLOATS,
    "whole": st.one_of(st.none(), st.integers(-99, 99)),
    "map": st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), SMALL, max_size=3).map(lambda d: [*d.items()])),
}
RECORD = st.fixed_dictionaries({"id": st.integers(0, 5), "g": st.one_of(st.none(), st.integers(0, 3)), **VALUES})
# Batches of records; None is a compaction of what the rules pick.
HISTORIES = st.lists(
    st.one_of(st.lists(RECORD, min_size=1, max_size=6), st.lists(RECORD, min_size=1, max_size=6), st.none()),
    min_size=2,
    max_size=6,
)


def arrow(records: list[dict[str, Any]]) -> pa.Table:
    columns = {}
    for name, kind in ARROW.items():
        values = [record.get(name) for record in records]
        if pa.types.is_decimal(kind):
            columns[name] = pa.array(values, pa.int64()).cast(pa.decimal128(19, 0)).cast(kind)
        else:
            columns[name] = pa.array(values, kind)
    return pa.table(columns)


def table_of(folder: Path | str, options: dict[str, str], history: list[Any]) -> CatalogTable:
    table = create_table(folder, FIELDS, ("id",), {"num-sorted-run.compaction-trigger": "2", **options})
    for batch in history:
        if batch is None:
            assert not compact(None, table).failed
        else:
            table.write_arrow(arrow(batch))
    return table


@pytest.mark.slow
@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    options=st.sampled_from([*TABLES.values()]), history=HISTORIES, mode=st.sampled_from(["auto", "full", "sampled"])
)
def test_nothing_right_is_refused(options: dict[str, str], history: list[Any], mode: str) -> None:
    folder = tempfile.mkdtemp()
    try:
        table = table_of(folder, options, history)
        report = compact(None, table, full=True, proof=mode)
        assert not report.failed
        assert not list(Path(table.location).glob("_quarantine"))
    finally:
        shutil.rmtree(folder)


def record(key: int, salt: int) -> dict[str, Any]:
    """A record with something in every column."""
    nested = [{"k": salt, "s": salt, "v": f"{salt} of {key}"}, {"k": 7, "s": 5 - salt, "v": "v"}]
    lists = {"numbers": [key + salt / 4, 0.5], "words": [f"w{salt}", "w"], "lists": [[salt], [key, key]]}
    texts = {"text": f"{salt},{key}", "parts": f"x;{salt}", "glued": f"y {salt}"}
    numbers = {"times": salt + 2, "small": salt + 2, "real": salt + 1.5, "whole": salt + 2}
    rows = dict.fromkeys(("rows", "few", "keyed", "kept", "partly"), nested)
    pairs = [("a", salt), (f"b{salt}", key)]
    bits = {"bits": bitmap([salt, key + 10]), "wide": wide_bitmap([salt, key + 10], salt)}
    return {"id": key, "g": salt, **bits, **lists, **rows, **texts, **numbers, "map": pairs}


def sound(folder: Path, options: dict[str, str]) -> CatalogTable:
    return table_of(folder, options, [[record(key, salt) for key in range(12)] for salt in range(3)])


def with_fault(fault: Callable[[list[Any]], list[Any]], column: str) -> Callable[[pa.Table], pa.Table]:
    """The results with another value of a column in one row. `fault`: of the values of all rows."""

    def change(rows: pa.Table) -> pa.Table:
        # Not of the few rows of a last window.
        if rows.num_rows < 5:
            return rows
        values = fault(rows.column(column).to_pylist())
        if pa.types.is_decimal(ARROW[column]):
            changed = pa.array([int(value) for value in values]).cast(pa.decimal128(19, 0)).cast(ARROW[column])
        else:
            changed = pa.array(values, ARROW[column])
        return rows.set_column(rows.column_names.index(column), column, changed)

    return change


def another(value: Any) -> Any:
    """A value with one thing changed."""
    match value:
        case [*rest, (key, item)]:
            return [*rest, (key, item + 1)]
        case [*rest, {"k": _} as row]:
            return [*rest, {**row, "v": "?"}]
        case [*rest, last]:
            return [*rest, another(last)]
        case str():
            return value[::-1]
        case bytes():
            return bitmap([5]) if len(value) < 40 else wide_bitmap([5], 1)
    return value + 1


def one(change: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [*values[:4], change(values[4]), *values[5:]]


FAULTS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "changed": one(another),
    "null": one(lambda _: None),
    "swapped": lambda values: [another(values[0]), *values[1:]][::-1],
    "shortened": one(lambda value: value[:-1]),
    "doubled": one(lambda value: [*value, value[-1]] if isinstance(value, list) else value + value[-1]),
}
CASES = [
    (fault, column)
    for column, (_, kind, _, _) in COLUMNS.items()
    for fault in FAULTS
    if (fault not in ("shortened", "doubled") or pa.types.is_nested(kind) or pa.types.is_string(kind))
    and not (fault == "null" and pa.types.is_decimal(kind))
]


def merge_wrongly(monkeypatch: pytest.MonkeyPatch, fault: str, column: str) -> None:
    """From now on merging makes a fault in a column."""
    right, change = Merging.merged, with_fault(FAULTS[fault], column)

    def wrong(self: Merging, window: Window, levels: np.ndarray) -> MergedKeys:
        actual = right(self, window, levels)
        return replace(actual, results=change(actual.results))

    monkeypatch.setattr(Merging, "merged", wrong)


@pytest.mark.parametrize(("fault", "column"), CASES)
def test_a_wrong_value_is_found(fault: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sound(tmp_path, TABLES["aggregation"])
    before, snapshot = [entry.file.file_name for entry in live(table)], table.snapshots.latest_id()
    merge_wrongly(monkeypatch, fault, column)
    (group,) = compact(None, table, full=True).failed
    assert f"column {column}" in group.message
    assert ([entry.file.file_name for entry in live(table)], table.snapshots.latest_id()) == (before, snapshot)
    (reported,) = Path(table.location).glob("_quarantine/*/proof.json")
    report = json.loads(reported.read_text())
    assert report["expected"]["digest"] != report["given"]["digest"]
    assert report["expected"]["digest"] in group.message
    assert report["given"]["digest"] in group.message
    assert len(report["files"]) == 1


def test_what_merging_makes_of_a_lone_record_is_no_change(tmp_path: Path) -> None:
    nothing = dict.fromkeys(COLUMNS)
    first, second = {**nothing, "id": 1, "words": ["a", "a"]}, {**nothing, "id": 2}
    # The first file is lifted as it is; where the second one is merged, the first loses what is there twice.
    table = table_of(tmp_path, TABLES["lookup"], [[first], None, [second]])
    report = compact(None, table, full=True)
    assert not report.failed
    assert report.changelog_rows == {"+I": 1, "-U": 0, "+U": 0, "-D": 0}
    assert table.to_arrow().sort_by("id").column("words").to_pylist() == [["a"], None]


def test_bytes_that_are_no_bitmap_are_left_alone(tmp_path: Path) -> None:
    nothing = dict.fromkeys(COLUMNS)
    batches = [[{**nothing, "id": key, "bits": b"?", "wide": b"" if key else b"?"}] for key in range(3)]
    table = table_of(tmp_path, TABLES["aggregation"], batches)
    assert not compact(None, table, full=True).failed


@pytest.mark.parametrize("size", [10, 5000])
def test_a_number_that_is_lost_is_found(size: int) -> None:
    for parse, made in ((halves_of_32, bitmap), (halves_of_64, wide_bitmap)):
        numbers = list(range(0, size * 3, 3))
        pair = pa.array([made(numbers), made(numbers[:-1]), made([*numbers[:3], 10, *numbers[4:]])])
        assert len({*bitmap_words(parse, pair).tolist()}) == 3


def test_runs_and_arrays_of_the_same_numbers_have_one_word() -> None:
    runs = Container(RUN, 2, np.array([1, 7, 1], "<u2").tobytes())
    array = Container(ARRAY, 2, np.array([7, 8], "<u2").tobytes())
    narrow = [serialize_portable([(3, container)]) for container in (runs, array)]
    wide = [serialize_bitmap64(Bitmap64({3: container}, 1)) for container in (runs, array)]
    for parse, pair in ((halves_of_32, narrow), (halves_of_64, wide)):
        assert pair[0] != pair[1]
        assert len({*bitmap_words(parse, pa.array(pair)).tolist()}) == 1


@pytest.mark.parametrize("engine", ["aggregation", "partial-update"])
def test_columns_may_have_any_name(engine: str, tmp_path: Path) -> None:
    names = ("keys", "rows", "values", "numbers", "k,rows")
    fields = (("k", "INT NOT NULL"), *((name, "INT") for name in names))
    table = create_table(tmp_path, fields, ("k",), {"merge-engine": engine})
    for salt in range(3):
        numbers = pa.array([salt or None, None if salt == 2 else salt], pa.int32())
        table.write_arrow(pa.table({"k": pa.array([1, 2], pa.int32()), **dict.fromkeys(names, numbers)}))
    before = table.to_arrow()
    assert not compact(None, table, full=True).failed
    assert table.to_arrow() == before


def test_what_is_proved_by_value(tmp_path: Path) -> None:
    report = compact(None, sound(tmp_path / "whole", TABLES["aggregation"]), full=True)
    assert report.proof["columns proved by key"] == []
    # Of more keys than the limit those stay that came first.
    more = {**TABLES["aggregation"], "fields.kept.count-limit": "3"}
    report = compact(None, sound(tmp_path / "more", more), full=True)
    assert report.proof["columns proved by key"] == ["kept"]
    report = compact(None, sound(tmp_path / "groups", TABLES["groups"]), full=True)
    late = {"few", "keyed", "kept", "partly", "text", "parts", "glued", "real", "map"}
    proved = report.proof["columns proved by key"]
    assert isinstance(proved, list)
    assert set(proved) == late


@pytest.mark.parametrize("column", ["numbers", "words", "rows", "times", "whole", "bits", "wide"])
def test_a_wrong_value_in_a_sequence_group_is_found(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = sound(tmp_path, TABLES["groups"])
    merge_wrongly(monkeypatch, "changed", column)
    (group,) = compact(None, table, full=True).failed
    assert f"column {column}" in group.message
