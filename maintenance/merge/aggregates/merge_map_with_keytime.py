"""`merge_map_with_keytime`: the entries of all maps; of equal keys the one with the larger time counts.

A value is a ROW; its time is the field of `fields.<column>.ts-field`, else the last one, and times compare as texts. A
null value removes its key, a value without time is ignored. The first map is not changed. Source: Java
`FieldMergeMapWithKeyTimeAgg`.
"""

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.elements import Elements, identities
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import DataType


def merged_by_time(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    elements = Elements.of(inputs.since_set)
    inputs = elements.inputs
    rows = elements.items
    keys = identities(elements.keys).tolist()
    absent = rows.is_null().to_numpy(zero_copy_only=False).tolist()
    times = [None if time is None else time.encode("utf-16-be") for time in rows.flatten()[_time(column)].to_pylist()]
    valid, late, bounds = inputs.valid.tolist(), inputs.is_op(Op.BEHIND).tolist(), elements.offsets.tolist()
    maps: list[list[int]] = []
    for start, end in zip(inputs.starts.tolist(), inputs.ends.tolist(), strict=True):
        held: dict[int, int] | None = None
        for record in range(start, end):
            if not valid[record]:
                continue
            entries = range(bounds[record], bounds[record + 1])
            if held is None:
                held = {keys[number]: number for number in entries}
            elif late[record]:
                below, held = list(held.values()), {keys[number]: number for number in entries}
                _merge(held, below, keys, absent, times)
            else:
                _merge(held, entries, keys, absent, times)
        maps.append(list((held or {}).values()))
    return elements.chosen_lists(maps)


def _merge(
    held: dict[int, int], entries: "range | list[int]", keys: list[int], absent: list[bool], times: list[bytes | None]
) -> None:
    for number in entries:
        key, time = keys[number], times[number]
        if absent[number]:
            held.pop(key, None)
        elif time is not None:
            before = held.get(key)
            held_time = None if before is None or absent[before] else times[before]
            if held_time is None or time > held_time:
                held[key] = number


def _time(column: AggregatedColumn) -> int:
    """Position of the time in the row."""
    value = column.field.type.value
    assert value is not None
    name = column.option("ts-field")
    names = [field.name for field in value.fields]
    if name is None:
        return len(names) - 1
    if name not in names:
        raise OptionError(f"'{column.key('ts-field')}' = '{name}'", column.where, f"Fields are {', '.join(names)}.")
    return names.index(name)


def _check(column: AggregatedColumn) -> None:
    value = column.field.type.value
    assert value is not None
    field = value.fields[_time(column)]
    if not field.type.is_string:
        raise OptionError(
            f"the time field '{field.name}' is {field.type}", column.where, f"Set '{column.key('ts-field')}' to a text."
        )


def _accepts(data_type: DataType) -> bool:
    value = data_type.value
    return data_type.root == "MAP" and value is not None and value.root == "ROW" and len(value.fields) > 1


MERGE_MAP_WITH_KEYTIME = Aggregate(
    "merge_map_with_keytime", _accepts, "MAP of ROW with two and more fields", merged_by_time, check=_check
)
