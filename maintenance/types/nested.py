"""Arrow arrays taken apart and put together again, to change what stands at their leaves.

Lists of every kind become plain lists, or lists of a fixed size where these are wanted. ROWs take the fields of the
target by name, and whatever a null hides is dropped: values in list slots that are null, and nulls of NOT NULL fields
inside a ROW that is null, which Arrow's parquet writer does not take.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.arrow import VARIANT, is_list
from maintenance.types.nanos import NANOS

Path = tuple[str, ...]
Leaf = Callable[[pa.Array, pa.DataType, Path], pa.Array]
_ZERO = pa.scalar(0, pa.int8())
OnNull = Callable[[Path], None]
Variants = Callable[[pa.Array, Path], pa.Array]


def retyped(
    arrow: pa.DataType,
    leaf: Callable[[pa.DataType], pa.DataType | None],
    field: Callable[[pa.Field, pa.DataType], pa.Field] = pa.Field.with_type,
) -> pa.DataType:
    """The type with other leaves.

    Args: `leaf`: gives the type in the place of one; None = it stays, and what is inside it is asked for.
        `field`: gives the field of another type; without it names, nullability and metadata stay.
    """
    made = leaf(arrow)
    if made is not None:
        return made

    def inner(of: pa.Field) -> pa.Field:
        return field(of, retyped(of.type, leaf, field))

    if pa.types.is_map(arrow):
        return pa.map_(inner(arrow.key_field).with_nullable(False), inner(arrow.item_field))
    if pa.types.is_list(arrow):
        return pa.list_(inner(arrow.value_field))
    return pa.struct(list(map(inner, arrow))) if pa.types.is_struct(arrow) else arrow


def keep_null(path: Path) -> None:
    """Accept a null where the type says NOT NULL."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """How arrays become arrays of another type of the same shape.

    Attributes:
        leaf: gives the array of the leaf type wanted; its last argument is where the leaf stands in the column:
            `element`, `key`, `value` and names of fields.
        on_null: called where a value that is NOT NULL is null while everything around it is not.
        strict: whether a ROW with fields that the target lacks is refused; otherwise they are left out.
        variants: gives variants in their usual form, of what stands where they are wanted; None = they have it.
    """

    leaf: Leaf
    on_null: OnNull = keep_null
    strict: bool = False
    variants: Variants | None = None

    def column(self, column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
        """A column of type `target`. Raises: pa.ArrowInvalid: it has another shape."""
        return pa.chunked_array([self.array(chunk, target) for chunk in column.chunks], target)

    def array(self, array: pa.Array, target: pa.DataType, path: Path = ()) -> pa.Array:
        """An array of type `target`; `path`: where it stands. Raises: pa.ArrowInvalid: it has another shape."""
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        if isinstance(target, pa.BaseExtensionType):
            return self.leaf(array, target, path)
        if target == VARIANT and self.variants is not None and not pa.types.is_null(array.type):
            return self.variants(array, path)
        if pa.types.is_null(array.type):
            return nulls(len(array), target)
        if not pa.types.is_nested(target):
            # Users give far timestamps as rows of microseconds and the rest.
            if pa.types.is_nested(array.type) and target != NANOS:
                raise _misfit(array, target, path)
            return self.leaf(array, target, path)
        if pa.types.is_map(target):
            return self._map(array, target, path)
        return self._struct(array, target, path) if pa.types.is_struct(target) else self._list(array, target, path)

    def _list(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        if not is_list(array.type):
            raise _misfit(array, target, path)
        if not pa.types.is_list(array.type):
            array = array.cast(pa.list_(array.type.value_field))
        if pa.types.is_fixed_size_list(target):
            return self._fixed_list(array, target, path)
        offsets, (values,) = _without_hidden(array, [array.values])
        values = self._part(values, target.value_field, (*path, "element"), None)
        return pa.ListArray.from_arrays(offsets, values, type=target, mask=_nulls(array))

    def _fixed_list(self, array: pa.ListArray, target: pa.FixedSizeListType, path: Path) -> pa.Array:
        """Raises: pa.ArrowInvalid: a list of another size."""
        mask = _nulls(array)
        if mask is not None:
            zeros = pa.nulls(target.list_size, array.type.value_type).fill_null(_ZERO.cast(array.type.value_type))
            array = array.fill_null(pa.scalar(zeros, array.type))
        lengths = pc.list_value_length(array)
        other = lengths.filter(pc.not_equal(lengths, target.list_size))
        if len(other):
            raise pa.ArrowInvalid(f"{_text(path)}a list of {other[0]} elements is not {target}")
        values = self._part(array.flatten(), target.value_field, (*path, "element"), None)
        return pa.FixedSizeListArray.from_arrays(values, type=target, mask=mask)

    def _map(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        if pa.types.is_map(array.type):
            offsets, (keys, values) = _without_hidden(array, [array.keys, array.items])
        elif _is_entries(array.type):
            offsets, (entries,) = _without_hidden(array, [array.values])
            keys, values = entries.flatten()
        else:
            raise _misfit(array, target, path)
        keys = self._part(keys, target.key_field, (*path, "key"), None)
        values = self._part(values, target.item_field, (*path, "value"), None)
        return pa.MapArray.from_arrays(offsets, keys, values, type=target, mask=_nulls(array))

    def _struct(self, array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        if not pa.types.is_struct(array.type):
            raise _misfit(array, target, path)
        names = [part.name for part in array.type]
        extra = set(names) - {part.name for part in target}
        if self.strict and extra:
            raise pa.ArrowInvalid(f"{_text(path)}'{min(extra)}' is not a field of {target}")
        # What a null hides must not be looked at, so it is made null too.
        fields = array.flatten() if array.null_count else [array.field(number) for number in range(len(names))]
        parts = [
            self._part(
                fields[names.index(part.name)] if part.name in names else pa.nulls(len(array)),
                part,
                (*path, part.name),
                array,
            )
            for part in target
        ]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=_nulls(array))

    def _part(self, values: pa.Array, field: pa.Field, path: Path, row: pa.Array | None) -> pa.Array:
        """What stands inside a list, map or ROW. `row`: the ROW around, whose nulls hide what is here."""
        built = self.array(values, field.type, path)
        if field.nullable or not built.null_count:
            return built
        hidden = 0 if row is None else int(np.count_nonzero(_is_null(built) & _is_null(row)))
        if hidden < built.null_count:
            self.on_null(path)
            return built
        return _without_nulls(built)


def _is_entries(arrow: pa.DataType) -> bool:
    """Whether it is a list of keys and values: unlike a map of Arrow's, it may have a null among the keys."""
    entry = arrow.value_type if pa.types.is_list(arrow) else pa.null()
    return pa.types.is_struct(entry) and [part.name for part in entry] == ["key", "value"]


def _misfit(array: pa.Array, target: pa.DataType, path: Path) -> pa.ArrowInvalid:
    return pa.ArrowInvalid(f"{_text(path)}{array.type} is not {target}")


def _text(path: Path) -> str:
    return f"{'.'.join(path)}: " if path else ""


def _is_null(array: pa.Array) -> np.ndarray:
    """bool, shape (n,)."""
    nulls: np.ndarray = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _without_hidden(array: pa.Array, children: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """Offsets from 0 on of a list or map, and just the parts of its children that they point to."""
    if not len(array):
        return pa.array([0], pa.int32()), [child.slice(0, 0) for child in children]
    offsets = array.offsets.to_numpy()
    lengths = np.diff(offsets)
    nulls = _is_null(array)
    if lengths[nulls].any():
        starts, lengths = offsets[:-1][~nulls], np.where(nulls, 0, lengths)
        kept = lengths[~nulls]
        before = np.cumsum(kept) - kept
        indices = pa.array(np.repeat(starts - before, kept) + np.arange(int(kept.sum())))
        compact = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        return pa.array(compact), [child.take(indices) for child in children]
    first, last = int(offsets[0]), int(offsets[-1])
    return pa.array(offsets - np.int32(first)), [child.slice(first, last - first) for child in children]


def _without_nulls(array: pa.Array) -> pa.Array:
    """The array with some value in place of each null, all of which are hidden by a null ROW around it."""
    if isinstance(array.type, pa.BaseExtensionType):
        return array.type.wrap_array(_without_nulls(array.storage))
    if pa.types.is_struct(array.type):
        parts = [array.field(n) if f.nullable else _without_nulls(array.field(n)) for n, f in enumerate(array.type)]
        return pa.StructArray.from_arrays(parts, fields=list(array.type))
    if pa.types.is_list(array.type):
        offsets, (values,) = _without_hidden(array, [array.values])
        return pa.ListArray.from_arrays(offsets, values, type=array.type)
    if pa.types.is_map(array.type):
        offsets, (keys, values) = _without_hidden(array, [array.keys, array.items])
        return pa.MapArray.from_arrays(offsets, keys, values, type=array.type)
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], 0, array.offset)


def nulls(count: int, target: pa.DataType) -> pa.Array:
    """That many nulls."""
    if not pa.types.is_struct(target):
        return pa.nulls(count, target)
    inner = [nulls(count, part.type) for part in target]
    parts = [array if f.nullable else _without_nulls(array) for array, f in zip(inner, target, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(target), mask=pa.repeat(pa.scalar(True), count))


def leaves_of(table: pa.Table) -> Iterator[pa.Array]:
    """Columns, and the parts of nested ones that are not nested themselves."""
    for column in table.columns:
        for chunk in column.chunks:
            yield from _leaves(chunk)


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_struct(array.type):
        parts = array.flatten()
    elif pa.types.is_map(array.type):
        parts = [array.keys, array.items]
    elif pa.types.is_list(array.type):
        parts = [array.flatten()]
    else:
        yield array
        return
    for part in parts:
        yield from _leaves(part)


def leaf_types(target: pa.DataType, path: Path = ()) -> dict[Path, pa.DataType]:
    """The leaves of a type by where they stand, in the order of a parquet file's columns."""
    if not pa.types.is_nested(target):
        return {path: target}
    if pa.types.is_map(target):
        parts = [("key", target.key_type), ("value", target.item_type)]
    elif pa.types.is_struct(target):
        parts = [(part.name, part.type) for part in target]
    else:
        parts = [("element", target.value_type)]
    by_path: dict[Path, pa.DataType] = {}
    for name, inner in parts:
        by_path |= leaf_types(inner, (*path, name))
    return by_path


def hides_not_null(target: pa.DataType) -> bool:
    """Whether a NOT NULL field stands in a ROW of the type, where a null around it may hide it."""
    if not pa.types.is_nested(target):
        return False
    if pa.types.is_struct(target):
        return any(not part.nullable or hides_not_null(part.type) for part in target)
    if pa.types.is_map(target):
        return hides_not_null(target.key_type) or hides_not_null(target.item_type)
    return hides_not_null(target.value_type)
