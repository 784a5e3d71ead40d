"""Random changes of tables of every merge engine: Java reads, and compacts, what this engine does, and the reverse.

A table has many keys, and each of them goes through changes of its own, so that one table is many sequences.
"""

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datasketches import hll_sketch, tgt_hll_type, update_theta_sketch
from pyroaring import BitMap

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import DataError
from maintenance.format.bytes.roaring import Bitmap64, parse_portable, serialize_bitmap64
from maintenance.operations.compaction.compact import compact
from maintenance.types.type_text import parse_data_type
from tests.java.process import JavaError, JavaProcess
from tests.java.samples import table_of
from tests.nested_values import array_of, comparable, values_of
from tests.tables import live
from tests.unit.merge.test_merge_engines import REMOVED_TOO_LATE, REMOVING

Dice = random.Random
Values = Callable[[Dice], Any]
ADDS = ("+I", "+U")
ALL = ("+I", "+I", "+I", "+U", "-U", "-D")
DELETES = ("+I", "+I", "+U", "-D")
KEYS = 60


def among(*values: Any) -> Values:
    return lambda dice: dice.choice(values)


SMALL = among(None, 0, 1, 2, 3, -4)
TEXTS = among(None, "", " ", "a", "b,a", "a,,c", "é")
FLOATS = among(None, 0.0, -0.0, 0.1, 1.5, -2.25, 1e10)
# Java 1.4 puts blank texts together like others, Java 2.0 leaves them out, as the golden tables show.
LISTED = among(None, "a", "b,a", "a,,c", "é")
SEQUENCE = among(None, 1, 2, 3)


def rbm32(dice: Dice) -> bytes | None:
    start = dice.choice([0, 5, 70_000, 1 << 31])
    bitmap = BitMap(range(start, start + dice.choice([1, 3, 5000]), dice.choice([1, 3])))
    # Few numbers of which some follow each other: an array and runs take nearly the same space.
    bitmap |= BitMap(start + 10_000 + dice.randrange(12) for _ in range(dice.choice([0, 4, 9])))
    if dice.random() < 0.5:
        bitmap.run_optimize()
    return dice.choice([None, bitmap.serialize(), bitmap.serialize()])


def rbm64(dice: Dice) -> bytes | None:
    containers = {}
    for _ in range(dice.choice([0, 1, 2, 6, 30])):
        key = dice.choice([0, 1, dice.randrange(60), dice.randrange(1 << 48), (1 << 48) - 1])
        start = dice.randrange(1000)
        bitmap = BitMap(range(start, start + dice.choice([1, 4, 4097]), dice.choice([1, 7])))
        containers[key] = parse_portable(bitmap.serialize())[0][1]
    return dice.choice([None, serialize_bitmap64(Bitmap64(containers, len(containers)))])


def theta(dice: Dice) -> bytes | None:
    sketch = update_theta_sketch()
    start = dice.randrange(1000)
    for number in range(start, start + dice.choice([0, 1, 50, 6000])):
        sketch.update(number)
    return dice.choice([None, sketch.compact().serialize()])


def hll(dice: Dice) -> bytes | None:
    sketch = hll_sketch(dice.choice([11, 12, 12, 12]), tgt_hll_type.HLL_4)
    start = dice.randrange(1000)
    for number in range(start, start + dice.choice([1, 6, 40, 900])):
        sketch.update(number)
    return dice.choice([None, sketch.serialize_compact()])


@dataclass(frozen=True)
class Case:
    """A table. Column `k` is the key.

    Attributes:
        columns: type texts and values.
        kinds: of its records.
        unordered: arrays whose elements have no order.
        java_writes: Java's writers merge as they should: those of 1.4 forget that an order is descending.
    """

    columns: Mapping[str, tuple[str, Values]]
    options: Mapping[str, str]
    kinds: Sequence[str] = ADDS
    unordered: Sequence[str] = field(default_factory=tuple)
    java_writes: bool = True


def functions(**names: str) -> dict[str, str]:
    return {f"fields.{column}.aggregate-function": name for column, name in names.items()}


def ignoring(*columns: str) -> dict[str, str]:
    return {f"fields.{column}.ignore-retract": "true" for column in columns}


AGGREGATION = {"merge-engine": "aggregation"}
PARTIAL = {"merge-engine": "partial-update"}
FIRST_ROW = {"merge-engine": "first-row"}
GONE_WITH = "partial-update.remove-record-on-sequence-group"
NUMBERS = {
    "b": ("TINYINT", among(None, 1, 2, -1)),
    "i": ("INT", SMALL),
    "l": ("BIGINT", SMALL),
    "f": ("FLOAT", among(None, 0.0, -0.0, 1.5, -2.25, 0.5)),
    "d": ("DOUBLE", FLOATS),
    "p": ("DECIMAL(9, 2)", among(None, Decimal("1.50"), Decimal("-0.03"), Decimal("99.99"))),
    "q": ("DECIMAL(30, 4)", among(None, Decimal("1.5000"), Decimal("-12345678901234567890.0003"))),
}
GROUPED = {
    "g": ("INT", SEQUENCE),
    "a": ("INT", SMALL),
    "b": ("STRING", TEXTS),
    "h1": ("INT", SEQUENCE),
    "h2": ("STRING", among(None, "", "x")),
    "c": ("INT", SMALL),
    "o": ("STRING", TEXTS),
}
GROUPS = {**PARTIAL, "fields.g.sequence-group": "a,b", "fields.h1,h2.sequence-group": "c"}
MIXED = {
    "g": ("INT", SEQUENCE),
    "s": ("BIGINT", SMALL),
    "lv": ("INT", SMALL),
    "ln": ("INT", SMALL),
    "fv": ("INT", SMALL),
    "fn": ("INT", SMALL),
    "mx": ("DOUBLE", FLOATS),
    "la": ("STRING", LISTED),
    "ld": ("STRING", LISTED),
    "bo": ("BOOLEAN", among(None, True, False)),
    "pl": ("STRING", TEXTS),
}
MIXED_FUNCTIONS = {
    **functions(
        s="sum", lv="last_value", ln="last_non_null_value", fv="first_value", fn="first_non_null_value", mx="max",
        la="listagg", ld="listagg", bo="bool_and",
    ),
    "fields.ld.distinct": "true",
    **ignoring("fv", "fn", "mx", "la", "ld", "bo"),
}  # fmt: skip
ROWS = "ARRAY<ROW<id INT, a STRING, s INT>>"


def nested_rows(dice: Dice) -> Any:
    """Java 1.4 takes a first array as it is, so without null rows, and each key once."""
    ids = dice.sample([1, 2, None], dice.randint(0, 2))
    return dice.choice([None, [(number, dice.choice(["x", None]), dice.choice([1, 2])) for number in ids]])


def entries(dice: Dice) -> Any:
    return dice.choice([None, {key: dice.choice([None, 1, 2]) for key in dice.sample(["a", "b", "c"], 2)}])


def pairs(dice: Dice) -> Any:
    actual = entries(dice)
    return None if actual is None else list(actual.items())


CASES = {
    "deduplicate": Case({"a": ("INT", SMALL)}, {"ignore-delete": "false"}, ALL),
    "deduplicate, deletes ignored": Case({"a": ("INT", SMALL)}, {"ignore-delete": "true"}, ALL),
    "first-row": Case({"a": ("INT", SMALL)}, FIRST_ROW),
    "first-row, deletes ignored": Case({"a": ("INT", SMALL)}, {**FIRST_ROW, "ignore-delete": "true"}, ALL),
    "partial-update": Case({"a": ("INT", SMALL), "b": ("STRING", TEXTS)}, PARTIAL),
    "partial-update by sequence": Case(
        {"a": ("INT", SMALL), "b": ("STRING", TEXTS), "s": ("INT", SEQUENCE)},
        {**PARTIAL, "sequence.field": "s", "sequence.field.sort-order": "descending"},
        java_writes=False,
    ),
    "partial-update, deletes ignored": Case({"a": ("INT", SMALL)}, {**PARTIAL, "ignore-delete": "true"}, ALL),
    "partial-update, rows removed": Case(
        {"a": ("INT", SMALL), "b": ("STRING", TEXTS)},
        {**PARTIAL, "partial-update.remove-record-on-delete": "true"},
        ALL,
    ),
    "sequence groups": Case(GROUPED, GROUPS, ALL),
    "sequence groups, deletes ignored": Case(GROUPED, {**GROUPS, "ignore-delete": "true"}, ALL),
    "sequence groups, rows removed": Case(GROUPED, {**GROUPS, GONE_WITH: "g"}, ALL),
    "sequence groups, rows removed by either": Case(GROUPED, {**GROUPS, GONE_WITH: "g,h2"}, ALL),
    "aggregates in a sequence group": Case(
        MIXED, {**PARTIAL, "fields.g.sequence-group": ",".join(MIXED).removeprefix("g,"), **MIXED_FUNCTIONS}, ALL
    ),
    "aggregates in a sequence group, rows removed": Case(
        MIXED,
        {**PARTIAL, "fields.g.sequence-group": ",".join(MIXED).removeprefix("g,"), GONE_WITH: "g", **MIXED_FUNCTIONS},
        ALL,
    ),
    "aggregation of changes": Case(MIXED, {**AGGREGATION, **MIXED_FUNCTIONS, **ignoring("pl")}, ALL),
    "sums": Case(NUMBERS, {**AGGREGATION, "fields.default-aggregate-function": "sum"}, ALL),
    "products": Case(
        {name: NUMBERS[name] for name in ("l", "f", "d", "q")},
        {**AGGREGATION, "fields.default-aggregate-function": "product"},
    ),
    "largest": Case(NUMBERS, {**AGGREGATION, "fields.default-aggregate-function": "max"}),
    "smallest by sequence": Case(
        {**NUMBERS, "s": ("INT", SEQUENCE)},
        {**AGGREGATION, "fields.default-aggregate-function": "min", "sequence.field": "s"},
    ),
    "aggregation, rows removed": Case(
        {name: MIXED[name] for name in ("s", "lv", "ln", "fv", "fn", "mx", "pl")},
        {
            **AGGREGATION,
            "aggregation.remove-record-on-delete": "true",
            **functions(s="sum", lv="last_value", ln="last_non_null_value", fv="first_value", mx="max"),
            **functions(fn="first_non_null_value"),
        },
        DELETES,
    ),
    "bitmaps": Case(
        {"r32": ("BYTES", rbm32), "r64": ("BYTES", rbm64)}, {**AGGREGATION, **functions(r32="rbm32", r64="rbm64")}
    ),
    "sketches": Case(
        {"t": ("BYTES", theta), "h": ("BYTES", hll)}, {**AGGREGATION, **functions(t="theta_sketch", h="hll_sketch")}
    ),
    "nested": Case(
        {
            "c": ("ARRAY<INT>", among(None, [], [1], [2, 1, None], [1, 1])),
            "cd": ("ARRAY<STRING>", among(None, [], ["a"], ["b", "a", None])),
            "m": ("MAP<STRING, INT>", pairs),
            "n": (ROWS, nested_rows),
            "nk": (ROWS, nested_rows),
        },
        {
            **AGGREGATION,
            **functions(c="collect", cd="collect", m="merge_map", n="nested_update", nk="nested_update"),
            "fields.cd.distinct": "true",
            "fields.nk.nested-key": "id,a",
        },
        ALL,
        ("cd", "nk"),
    ),
}  # fmt: skip


def batch(case: Case, dice: Dice) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Changes of most keys, of some several."""
    keys = [key for key in range(KEYS) for _ in range(dice.choice([0, 1, 1, 2]))]
    rows = [(key, *(values(dice) for _, values in case.columns.values())) for key in keys]
    return rows, [dice.choice(case.kinds) for _ in keys]


def columns_of(case: Case) -> list[tuple[str, str]]:
    return [("k", "INT NOT NULL"), *((name, text) for name, (text, _) in case.columns.items())]


def arrow_of(case: Case, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    arrays = [array_of([row[i] for row in rows], parse_data_type(text)) for i, (_, text) in enumerate(columns_of(case))]
    return pa.Table.from_arrays(arrays, names=[name for name, _ in columns_of(case)])


def text_of(case: Case, rows: Sequence[Sequence[Any]]) -> list[str]:
    types = [parse_data_type(text) for _, text in columns_of(case)]
    names = [name for name, _ in columns_of(case)]
    collected = []
    for row in rows:
        values = [comparable(value, data_type) for value, data_type in zip(row, types, strict=True)]
        for i, name in enumerate(names):
            if values[i] is not None and (name in case.unordered or types[i].root == "MAP"):
                values[i] = sorted(values[i], key=repr)
            # Java's choice between runs and arrays of the same length depends on the bitmaps it was made from.
            if values[i] is not None and name == "r32":
                values[i] = BitMap.deserialize(values[i]).to_array().tolist()
            # Bytes 8 to 15 of a HLL array count what an array in order had seen, which a union is not.
            if values[i] is not None and name == "h" and values[i][0] == 0x0A:
                values[i] = values[i][:8] + values[i][16:]
        collected.append(repr(values))
    return sorted(collected)


def ours(case: Case, warehouse: str) -> list[str]:
    table = table_of(warehouse).to_arrow()
    types = [parse_data_type(text) for _, text in columns_of(case)]
    columns = [
        [value for chunk in column.chunks for value in values_of(chunk, data_type)]
        for column, data_type in zip(table.columns, types, strict=True)
    ]
    return text_of(case, list(zip(*columns, strict=True)))


def theirs(java: JavaProcess, case: Case, warehouse: str) -> list[str]:
    return text_of(case, java.rows(warehouse, "db.t"))


@pytest.mark.parametrize("name", CASES)
def test_reads_and_compactions_are_those_of_java(java: JavaProcess, tmp_path: Path, name: str) -> None:
    case, dice = CASES[name], random.Random(name)
    by_java, by_us = str(tmp_path / "java"), str(tmp_path / "us")
    open_catalog({"warehouse": by_us}).create_database("db")
    options = {"bucket": "1", "write-only": "true", **case.options}
    open_catalog({"warehouse": by_us}).create_table("db.t", Schema(columns_of(case), ["k"], options=options))
    shutil.copytree(by_us, by_java)
    for _ in range(3):
        rows, kinds = batch(case, dice)
        table_of(by_us).write_arrow(arrow_of(case, rows), kinds)
        java.write(by_java, "db.t", rows, kinds)
    # Writers merge what they have in memory: theirs as ours.
    assert ours(case, by_us) == theirs(java, case, by_us)
    if case.java_writes:
        assert ours(case, by_us) == theirs(java, case, by_java) == ours(case, by_java)
    shutil.rmtree(by_java)
    shutil.copytree(by_us, by_java)
    compact(None, table_of(by_us), full=True)
    java.compact(by_java, "db.t")
    for warehouse in (by_us, by_java):
        assert ours(case, warehouse) == theirs(java, case, warehouse)
    assert ours(case, by_us) == ours(case, by_java)
    for _ in range(2):
        rows, kinds = batch(case, dice)
        for warehouse in (by_us, by_java):
            table_of(warehouse).write_arrow(arrow_of(case, rows), kinds)
    assert ours(case, by_us) == theirs(java, case, by_us) == ours(case, by_java)


REMOVED = {**AGGREGATION, "aggregation.remove-record-on-delete": "true", **functions(v="sum")}
LAST = {**AGGREGATION, **functions(v="last_non_null_value")}
# Options, commits of (kind, value) of key 1 with a full compaction where there is None, and the value in the end.
ORDERS: Mapping[str, tuple[Mapping[str, str], Sequence[Sequence[tuple[str, int | None]] | None], int]] = {
    "aggregated onto a -D": (REMOVED, [[("+I", 5)], [("-D", 2)], [("+I", 7)]], 9),
    "after the -D is gone": (REMOVED, [[("+I", 5)], [("-D", 2)], None, [("+I", 7)]], 7),
    "retracted what was there": (LAST, [[("+I", 5)], [("-D", 3)], [("+I", None)]], 0),
    "retracted before it was met": (LAST, [[("+I", 5)], [("-D", 3), ("+I", None)]], 5),
}


@pytest.mark.parametrize("name", ORDERS)
def test_where_the_order_of_merging_shows(java: JavaProcess, tmp_path: Path, name: str) -> None:
    options, commits, value = ORDERS[name]
    case = Case({"v": ("INT", SMALL)}, options)
    by_us, by_java = str(tmp_path / "us"), str(tmp_path / "java")
    for warehouse in (by_us, by_java):
        java.create_table(
            warehouse, "db.t", columns_of(case), (["k"], []), {**options, "bucket": "1", "write-only": "true"}
        )
    for commit in commits:
        if commit is None:
            compact(None, table_of(by_us), full=True)
            java.compact(by_java, "db.t")
        else:
            rows = [(1, given) for _, given in commit]
            table_of(by_us).write_arrow(arrow_of(case, rows), [kind for kind, _ in commit])
            java.write(by_java, "db.t", rows, [kind for kind, _ in commit])
    expected = text_of(case, [(1, value or None)])
    assert ours(case, by_us) == theirs(java, case, by_us) == theirs(java, case, by_java) == expected


LATE = Case(
    {"g": ("INT", SEQUENCE), "v": ("STRING", LISTED)},
    {**PARTIAL, "fields.g.sequence-group": "v", **functions(v="listagg")},
)
UNORDERED = Case({"s": ("INT", SEQUENCE), "v": ("STRING", LISTED)}, {**PARTIAL, "sequence.field": "s"})
# A table, commits of (sequence, value) of key 1, and the row in the end.
ARRIVALS: Mapping[str, tuple[Case, Sequence[Sequence[tuple[int, str | None]]], tuple[int, str]]] = {
    "late one by one": (LATE, [[(5, "w")], [(0, "m")], [(1, "l")]], (5, "l,m,w")),
    "late together": (LATE, [[(5, "w")], [(0, "m"), (1, "l")]], (5, "m,l,w")),
    "ordered together": (UNORDERED, [[(1, "x"), (3, None), (2, "y")]], (3, "y")),
    "ordered in parts": (UNORDERED, [[(1, "x"), (3, None)], [(2, "y")]], (3, "x")),
}


@pytest.mark.parametrize("name", ARRIVALS)
def test_records_are_ordered_against_what_they_meet(java: JavaProcess, tmp_path: Path, name: str) -> None:
    """What one batch has merged counts as one record, at the place of its newest."""
    case, commits, row = ARRIVALS[name]
    by_us, by_java = str(tmp_path / "us"), str(tmp_path / "java")
    for warehouse in (by_us, by_java):
        java.create_table(
            warehouse, "db.t", columns_of(case), (["k"], []), {**case.options, "bucket": "1", "write-only": "true"}
        )
    for commit in commits:
        rows = [(1, *values) for values in commit]
        table_of(by_us).write_arrow(arrow_of(case, rows))
        java.write(by_java, "db.t", rows)
    assert ours(case, by_us) == theirs(java, case, by_us) == theirs(java, case, by_java)
    assert ours(case, by_us) == text_of(case, [(1, *row)])


@pytest.mark.parametrize("engine", REMOVING)
@pytest.mark.parametrize("name", REMOVED_TOO_LATE)
def test_a_division_fails_though_its_row_is_removed_later(
    java: JavaProcess, tmp_path: Path, name: str, engine: str
) -> None:
    text, changes = REMOVED_TOO_LATE[name]
    if engine == "aggregation" and name == "zero opens the row":
        changes = [("+I", 0), *changes]
    case = Case({"v": (text, SMALL), "g": ("INT", SEQUENCE)}, REMOVING[engine])
    warehouse, options = str(tmp_path), {"bucket": "1", "write-only": "true", **case.options}
    java.create_table(warehouse, "db.t", columns_of(case), (["k"], []), options)
    for kind, value in changes:
        java.write(warehouse, "db.t", [(1, value, 1)], [kind])
    with pytest.raises(JavaError, match="ArithmeticException"):
        java.rows(warehouse, "db.t")
    with pytest.raises(DataError, match="product"):
        table_of(warehouse).to_arrow()


@pytest.mark.parametrize(
    ("change", "left"), [(("-U", [1]), [1, 1]), (("+I", None), [1]), (("+I", [2]), [1, 2])], ids=str
)
def test_what_a_deletion_brings_twice_stays_until_something_is_added(
    java: JavaProcess, tmp_path: Path, change: tuple[str, list[int] | None], left: list[int]
) -> None:
    options = {**AGGREGATION, "aggregation.remove-record-on-delete": "true", **functions(v="collect")}
    case = Case({"v": ("ARRAY<INT>", SMALL)}, {**options, "fields.v.distinct": "true"}, unordered=("v",))
    by_us, by_java = str(tmp_path / "us"), str(tmp_path / "java")
    for warehouse in (by_us, by_java):
        further = {"bucket": "1", "write-only": "true", **case.options}
        java.create_table(warehouse, "db.t", columns_of(case), (["k"], []), further)
    for kind, value in (("-D", [1, 1, 1]), change):
        table_of(by_us).write_arrow(arrow_of(case, [(1, value)]), [kind])
        java.write(by_java, "db.t", [(1, value)], [kind])
    due = text_of(case, [(1, left)])
    assert ours(case, by_us) == theirs(java, case, by_us) == theirs(java, case, by_java) == due


def test_a_projection_does_not_bring_back_removed_rows(java: JavaProcess, tmp_path: Path) -> None:
    """Java reads on without the sequence column of the -D, and shows the row again."""
    case = Case(GROUPED, {**GROUPS, GONE_WITH: "g"}, ALL)
    warehouse, options = str(tmp_path), {"bucket": "1", "write-only": "true", **case.options}
    java.create_table(warehouse, "db.t", columns_of(case), (["k"], []), options)
    table_of(warehouse).write_arrow(arrow_of(case, [(1, 1, 1, "a", 1, "x", 1, "a")]), ["+I"])
    table_of(warehouse).write_arrow(arrow_of(case, [(1, 2, None, None, None, None, None, None)]), ["-D"])
    assert theirs(java, case, warehouse) == ours(case, warehouse) == []
    assert table_of(warehouse).to_arrow(columns=["k", "c"]).num_rows == 0
    assert java.tested(warehouse, "db.t", "k", [("isNotNull", "k")]) == [[]]
    assert java.pushed(warehouse, "db.t", "k", [("isNotNull", "k")]) == [[1]]


def test_java_has_no_count(java: JavaProcess, tmp_path: Path) -> None:
    """A table with this function opens here only."""
    options = {**AGGREGATION, **functions(v="count"), "bucket": "1"}
    with pytest.raises(JavaError, match="count"):
        java.create_table(str(tmp_path), "db.t", [("k", "INT NOT NULL"), ("v", "INT")], (["k"], []), options)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_sums_with_more_digits_than_their_type_are_stored_as_java_stores_them(
    java: JavaProcess, tmp_path: Path, file_format: str
) -> None:
    """They stay in Parquet, and get lost in the other formats."""
    case = Case({"d": ("DECIMAL(5, 2)", among(None))}, {**AGGREGATION, **functions(d="sum")})
    by_java, by_us = str(tmp_path / "java"), str(tmp_path / "us")
    options = {"bucket": "1", "write-only": "true", "file.format": file_format, **case.options}
    open_catalog({"warehouse": by_us}).create_database("db")
    open_catalog({"warehouse": by_us}).create_table("db.t", Schema(columns_of(case), ["k"], options=options))
    shutil.copytree(by_us, by_java)
    most = Decimal("999.99")
    for rows in ([(1, most), (1, most), (2, most)], [(2, most), (3, most)]):
        table_of(by_us).write_arrow(arrow_of(case, rows))
        java.write(by_java, "db.t", rows)
    for _ in ("merged while it is read", "compacted"):
        assert ours(case, by_us) == theirs(java, case, by_us) == theirs(java, case, by_java) == ours(case, by_java)
        missing = sum(row["d"] is None for row in table_of(by_us).to_arrow().to_pylist())
        assert table_of(by_us).to_arrow(where="d IS NULL").num_rows == missing
        compact(None, table_of(by_us), full=True)
        java.compact(by_java, "db.t")
    assert missing == (0 if file_format == "parquet" else 2)
    assert {entry.file.level for entry in live(table_of(by_us))} == {5}
