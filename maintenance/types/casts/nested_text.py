"""Single nested values out of texts.

An ARRAY is ``[1, 2]`` or ``ARRAY(1, 2)``, a MAP ``{k -> v}`` or ``MAP(k, v)``, a ROW ``{a, 1}`` or ``STRUCT(a, 1)``.
For default values alone: columns never change from a text to a nested type. Parts are split at commas that no bracket
and no double quote holds; ``null`` is null; quotes and backslashes stay, but in a MAP they go.
Source: Java `StringToArrayCastRule`, `StringToMapCastRule`, `StringToRowCastRule`.
"""

import re
from collections.abc import Iterator

import pyarrow as pa

from maintenance.errors import DataError, UnsupportedError
from maintenance.types.arrow import arrow_type, element_of, map_parts
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.casts.matrix import is_castable
from maintenance.types.data_type import DataType

_FORMS = {
    "ARRAY": re.compile(r"\[(.*)\]|(?i:ARRAY)\s*\((.*)\)"),
    "MAP": re.compile(r"\{(.*)\}|(?i:MAP)\s*\((.*)\)"),
    "ROW": re.compile(r"\{(.*)\}|(?i:STRUCT)\s*\((.*)\)"),
}
_ENTRY = re.compile(r"(.+?)\s*->\s*(.+)")


def array_of_text(text: str | None, data_type: DataType, zone: str) -> pa.Array:
    """The value of a text, alone in an array of the type's natural Arrow type; None is null.

    Raises: DataError: no value of the type; UnsupportedError: no text is one of the type.
    """
    kind = arrow_type(data_type)
    if text is None:
        return pa.nulls(1, kind)
    if data_type.root not in _FORMS:
        return _atom(text, data_type, zone)
    form, stripped = _FORMS[data_type.root].fullmatch(text.strip()), text.strip()
    if data_type.root == "MAP" and stripped.upper() == "NULL":
        return pa.nulls(1, kind)
    if form is None:
        raise DataError(f"'{text}' is not a value of type {data_type}", "cast", "Write it as [a, b] or {a, b}.")
    content = (form[1] if form[1] is not None else form[2]).strip()
    if data_type.root == "ARRAY":
        elements = _joined(
            [_part(part, element_of(data_type), zone) for part in _split(content)], element_of(data_type)
        )
        return pa.ListArray.from_arrays(pa.array([0, len(elements)], pa.int32()), elements, type=kind)
    if data_type.root == "MAP":
        return _map(content, form[1] is None, data_type, zone)
    parts = list(_split(content)) or ["null"] * len(data_type.fields)
    if len(parts) != len(data_type.fields):
        raise DataError(f"'{text}' has {len(parts)} parts", "cast", f"{data_type} has {len(data_type.fields)}.")
    columns = [_part(part, field.type, zone) for part, field in zip(parts, data_type.fields, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _map(content: str, is_call: bool, data_type: DataType, zone: str) -> pa.Array:
    entries = [entry.strip() for entry in _split(content, keep_quotes=False)]
    if is_call:
        pairs = list(zip(entries[::2], entries[1::2], strict=len(entries) % 2 == 0))
    else:
        matches = [_ENTRY.fullmatch(entry) for entry in entries]
        pairs = [(entry[1], entry[2]) for entry in matches if entry is not None]
    if len(pairs) != (len(entries) // 2 if is_call else len(entries)) or (is_call and len(entries) % 2):
        raise DataError(f"'{content}' is not a list of entries", "cast", "Write entries as k -> v.")
    latest = dict(pairs)
    if "null" in latest:
        raise DataError(f"'{content}' has a key that is null", "cast", "Leave the entry without a key out of the text.")
    key, value = map_parts(data_type)
    keys = _joined([_part(text, key, zone) for text in latest], key)
    values = _joined([_part(text, value, zone) for text in latest.values()], value)
    offsets = pa.array([0, len(keys)], pa.int32())
    return pa.MapArray.from_arrays(offsets, keys, values, type=arrow_type(data_type))


def _part(text: str, data_type: DataType, zone: str) -> pa.Array:
    stripped = text.strip()
    return array_of_text(None if stripped == "null" else stripped, data_type, zone)


def _joined(arrays: list[pa.Array], data_type: DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], arrow_type(data_type))


def _atom(text: str, data_type: DataType, zone: str) -> pa.Array:
    if not is_castable(STRING, data_type):
        raise UnsupportedError(f"a text is not a value of type {data_type}", "cast", "Leave the default out.")
    return cast(pa.chunked_array([pa.array([text], pa.string())]), STRING, data_type, zone).combine_chunks()


def _split(content: str, *, keep_quotes: bool = True) -> Iterator[str]:
    """Parts between commas, but for those in brackets or quotes; empty ones are left out."""
    part, depth, quoted, escaped = "", 0, False, False
    for character in content:
        special = True
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == '"':
            quoted = not quoted
        else:
            special = False
            if not quoted:
                depth += (character in "[{(") - (depth > 0 and character in ")}]")
                if character == "," and not depth:
                    if part:
                        yield part
                    part = ""
                    continue
        if keep_quotes or not special:
            part += character
    if part:
        yield part
