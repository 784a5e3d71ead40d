"""Taking nested arrays apart and putting them together: what nulls hide is gone, and slices do not matter."""

from typing import Any

import pyarrow as pa
import pytest

from maintenance.types.nested import Path, Rebuild, hides_not_null, leaf_types, nulls

HIDING = pa.array([False, True, False, False], pa.bool_())
OFFSETS = pa.array([0, 1, 3, 3, 5], pa.int32())  # the second list is null and holds two values all the same
TEXTS = pa.array(["1", "hidden", "hidden too", "4", "5"])


def number(array: pa.Array, wanted: pa.DataType, _: Path) -> pa.Array:
    return array.cast(wanted)


def listed(start: int) -> pa.Array:
    values = TEXTS.to_pylist()
    whole = pa.Array.from_buffers(
        pa.list_(pa.string()),
        4,
        [pa.array([1, 0, 1, 1]).cast(pa.bool_()).buffers()[1], OFFSETS.buffers()[1]],
        1,
        0,
        [TEXTS],
    )
    assert whole.values.to_pylist() == values
    return whole.slice(start)


@pytest.mark.parametrize("start", range(4))
def test_lists_that_are_rebuilt_hide_no_values(start: int) -> None:
    built = Rebuild(number).array(listed(start), pa.list_(pa.int32()))
    built.validate(full=True)
    assert built.to_pylist() == [[1], None, [], [4, 5]][start:]
    assert len(built.values) == len([v for item in built.to_pylist() for v in item or ()])


@pytest.mark.parametrize("start", range(4))
def test_maps_that_are_rebuilt_hide_no_values(start: int) -> None:
    entries = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3, 4, 5]), TEXTS], fields=[pa.field("key", pa.int64(), False), pa.field("value", pa.string())]
    )
    lists = listed(0)
    whole = pa.Array.from_buffers(pa.map_(pa.int64(), pa.string()), 4, lists.buffers()[:2], 1, 0, [entries])
    built = Rebuild(number).array(whole.slice(start), pa.map_(pa.int8(), pa.int32()))
    built.validate(full=True)
    assert built.to_pylist() == [[(1, 1)], None, [], [(4, 4), (5, 5)]][start:]


@pytest.mark.parametrize("start", range(3))
def test_rows_that_are_rebuilt_hide_no_values(start: int) -> None:
    """A null row hides a text that is not a number, and a null of a NOT NULL field."""
    texts = pa.array(["1", "hidden", "3"])
    inner = pa.StructArray.from_arrays([pa.array([None, None, "9"]), listed(1)], names=["x", "l"])
    whole = pa.StructArray.from_arrays(
        [texts, pa.array(["1", None, "3"]), inner], names=["a", "b", "r"], mask=pa.array([False, True, False])
    )
    target = pa.struct([
        pa.field("b", pa.int32(), False),
        pa.field("a", pa.int32()),
        pa.field("r", pa.struct([pa.field("l", pa.list_(pa.int32())), pa.field("x", pa.int32())]), False),
    ])  # fmt: skip
    built = Rebuild(number, refuse).array(whole.slice(start), target)
    built.validate(full=True)
    assert (
        built.to_pylist()
        == [
            {"b": 1, "a": 1, "r": {"l": None, "x": None}},
            None,
            {"b": 3, "a": 3, "r": {"l": [4, 5], "x": 9}},
        ][start:]
    )
    assert [built.field(number).null_count for number in (0, 2)] == [0, 0]


def refuse(path: Path) -> None:
    raise AssertionError(path)


@pytest.mark.parametrize(
    ("values", "target", "path"),
    [
        ([[1, None]], pa.list_(pa.field("element", pa.int8(), False)), "element"),
        ([{"a": None}], pa.struct([pa.field("a", pa.int8(), False)]), "a"),
        ([{"b": 1}], pa.struct([pa.field("a", pa.int8(), False)]), "a"),
        ([[{"a": [None]}]], pa.list_(pa.struct([("a", pa.list_(pa.field("e", pa.int8(), 0)))])), "element.a.element"),
    ],
)  # fmt: skip
def test_nulls_that_nothing_hides(values: list[Any], target: pa.DataType, path: str) -> None:
    with pytest.raises(AssertionError) as error:
        Rebuild(number, refuse).array(pa.array(values), target)
    assert ".".join(error.value.args[0]) == path


def test_nulls_of_every_shape() -> None:
    inner = pa.struct([pa.field("a", pa.int8(), False), pa.field("m", pa.map_(pa.string(), pa.int8()), False)])
    for target in (pa.int8(), pa.list_(inner), inner, pa.struct([pa.field("r", inner, False)])):
        actual = nulls(3, target)
        assert actual.type == target
        assert actual.null_count == 3
        assert Rebuild(number, refuse).array(pa.nulls(3), target).equals(actual)


def test_leaves_in_the_order_of_a_file() -> None:
    target = pa.struct([("a", pa.map_(pa.int8(), pa.list_(pa.string()))), ("b", pa.struct([("c", pa.date32())]))])
    assert list(leaf_types(target)) == [("a", "key"), ("a", "value", "element"), ("b", "c")]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (pa.list_(pa.field("element", pa.int8(), False)), False),
        (pa.struct([("a", pa.int8())]), False),
        (pa.list_(pa.struct([pa.field("a", pa.int8(), False)])), True),
        (pa.map_(pa.int8(), pa.struct([("b", pa.struct([pa.field("a", pa.int8(), False)]))])), True),
    ],
)
def test_where_nulls_may_be_hidden(target: pa.DataType, expected: bool) -> None:
    assert hides_not_null(target) is expected
