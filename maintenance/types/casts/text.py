"""Values as texts, and texts and bytes at another length. Source: Java `BinaryStringUtils`, `…ToStringCastRule`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.types.casts.arrays import unscaled
from maintenance.types.casts.float_text import float_texts
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType
from maintenance.types.nested import Path, Rebuild


def text_to_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Texts cut to the length of the target; CHAR is filled up with blanks."""
    length = target.length or 1
    if length < (source.length or 1):
        array = pc.utf8_slice_codeunits(array, 0, length)
    return pc.utf8_rpad(array, length, " ") if target.root == "CHAR" else array


def has_chars(kind: DataType) -> bool:
    """Whether a type is a CHAR, or has one inside."""
    return any(part.root == "CHAR" for part in kind.walk())


def with_blanks(column: pa.ChunkedArray, kind: DataType) -> pa.ChunkedArray:
    """A column in which each CHAR is filled up with blanks to its length, as Spark stores and reads it."""

    def leaf(array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
        part: DataType | None = kind
        for name in path:
            part = None if part is None else _part(part, name)
        if part is not None and part.root == "CHAR":
            return pc.utf8_rpad(array, part.length or 1, " ").cast(target)
        return pa.ExtensionArray.from_storage(target, array) if isinstance(target, pa.BaseExtensionType) else array

    return Rebuild(leaf).column(column, column.type) if has_chars(kind) else column


def filled_up(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """The rows `with_blanks`. `fields`: in any order, some of which have one of the columns of the same name."""
    for field in fields:
        place = rows.schema.get_field_index(field.name)
        if place >= 0 and has_chars(field.type):
            rows = rows.set_column(place, rows.schema.field(place), with_blanks(rows.column(place), field.type))
    return rows


def fitted(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """The rows as Spark stores their texts: `filled_up`, and without blanks at the end that a length has no room for.

    A text that is longer still stays as it is. `fields`: as of `filled_up`.
    """
    for field in fields:
        place, length = rows.schema.get_field_index(field.name), field.type.length or 1
        if place >= 0 and field.type.is_string and length != MAX_LENGTH and not _is_encoded(rows.column(place)):
            column = rows.column(place)
            is_blank = pc.equal(pc.utf8_rtrim(pc.utf8_slice_codeunits(column, length), " "), "")
            kept = pc.if_else(is_blank, pc.utf8_slice_codeunits(column, 0, length), column)
            rows = rows.set_column(place, rows.schema.field(place), kept)
    return filled_up(rows, fields)


def _is_encoded(column: pa.ChunkedArray) -> bool:
    """Whether a column has other values than texts: numbers of them, or nulls alone."""
    return not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _part(kind: DataType, name: str) -> DataType | None:
    """What stands inside a type under a name of `Path`."""
    if kind.root == "ROW":
        return next((field.type for field in kind.fields if field.name == name), None)
    return {"element": kind.element, "key": kind.key or kind.element, "value": kind.value}.get(name)


def number_to_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    if source.root in ("FLOAT", "DOUBLE"):
        texts = float_texts(array)
    elif source.root == "DECIMAL":
        texts = _decimal_texts(array, source.scale or 0)
    else:
        texts = array.cast(pa.string())
    return text_to_text(texts, _STRING, target)


_STRING = DataType("VARCHAR", length=MAX_LENGTH)


def _decimal_texts(array: pa.Array, scale: int) -> pa.Array:
    """Decimals without an exponent, all digits of the scale."""
    plain = unscaled(array).cast(pa.string())
    if scale == 0:
        return plain
    digits = pc.utf8_lpad(pc.utf8_ltrim(plain, "-"), scale + 1, "0")
    whole, fraction = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    sign = pc.if_else(pc.starts_with(plain, "-"), "-", "")
    return pc.binary_join_element_wise(sign, whole, ".", fraction, "")


def boolean_to_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return text_to_text(pc.if_else(array, "true", "false"), _STRING, target)


def text_to_bytes(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """UTF-8."""
    return _sized(array.cast(pa.binary()), target)


def bytes_to_bytes(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    return _sized(array, target)


def bytes_to_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """The bytes as they are, whatever the length of the target. Raises: DataError: they are not UTF-8."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise DataError(
            f"bytes that are not UTF-8 in a column that became {target}",
            "cast",
            "Give the column its former type, or leave it out of the read.",
        ) from error


def _sized(array: pa.Array, target: DataType) -> pa.Array:
    """Bytes cut to the length of the target; BINARY is filled up with zeros."""
    length = target.length or 1
    lengths = pc.binary_length(array)
    longest = pc.max(lengths).as_py()
    if longest is None:
        return array
    if longest > length:
        array = pc.binary_slice(array, 0, length)
        lengths = pc.binary_length(array)
    if target.root != "BINARY" or pc.min(lengths).as_py() == length:
        return array
    missing = length - np.asarray(lengths.fill_null(length).to_numpy(zero_copy_only=False))
    offsets = np.zeros(len(array) + 1, np.int32)
    np.cumsum(missing, out=offsets[1:])
    zeros = pa.Array.from_buffers(
        pa.binary(), len(array), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(bytes(int(offsets[-1])))]
    )
    return pc.binary_join_element_wise(array, zeros, b"")


def row_texts(fields: list[pa.Array], like: pa.Array) -> pa.Array:
    """``{a, b}`` of the texts of a row's fields."""
    parts = [part.fill_null("null") for part in fields]
    joined = pc.binary_join_element_wise(*parts, ", ") if parts else pa.array([""] * len(like))
    return _enclosed("{", joined, "}", like)


def list_texts(elements: pa.Array, offsets: pa.Array, like: pa.Array, brackets: str = "[]") -> pa.Array:
    """``[a, b]`` of the texts of elements. `offsets`: int32, shape (n + 1,): where each list begins in `elements`."""
    lists = pa.ListArray.from_arrays(offsets, elements.fill_null("null"))
    return _enclosed(brackets[0], pc.binary_join(lists, ", "), brackets[1], like)


def entry_texts(keys: pa.Array, values: pa.Array) -> pa.Array:
    """``k -> v``."""
    return pc.binary_join_element_wise(keys.fill_null("null"), values.fill_null("null"), " -> ")


def _enclosed(left: str, texts: pa.Array, right: str, like: pa.Array) -> pa.Array:
    whole = pc.binary_join_element_wise(left, texts, right, "")
    return pc.if_else(like.is_valid(), whole, pa.scalar(None, pa.string())) if like.null_count else whole
