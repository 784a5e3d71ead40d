"""Paimon's data types and their text and JSON forms.

A type is written in a schema file either as text (`DECIMAL(10, 2) NOT NULL`) or, when it is nested, as a JSON object
(`{"type": "ARRAY", "element": …}`). Source: seed 000 section 3.1, Java `DataTypeJsonParser`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from maintenance.errors import SchemaError

MAX_LENGTH = 2**31 - 1

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_SIMPLE = ("BOOLEAN", *_INTEGERS, "FLOAT", "DOUBLE", "DATE", "VARIANT", "BLOB")
_SIZED = ("CHAR", "VARCHAR", "BINARY", "VARBINARY")
_ALIASES = {"INTEGER": "INT", "DEC": "DECIMAL", "NUMERIC": "DECIMAL", "STRING": "VARCHAR", "BYTES": "VARBINARY"}
_NESTED = ("ARRAY", "MULTISET", "MAP", "VECTOR", "ROW")
VECTOR_ELEMENTS = ("BOOLEAN", *_INTEGERS, "FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True)
class DataType:
    """A data type.

    Attributes:
        root: the canonical keyword: ``INT``, ``VARCHAR``, ``TIMESTAMP``, ``TIMESTAMP_LTZ``, ``ARRAY``…
        nullable: whether null is a value of the type.
        length: characters or bytes of the sized types; elements of a VECTOR.
        precision: digits of a DECIMAL; fractional second digits of TIME and the timestamps.
        scale: digits of a DECIMAL after the decimal point.
        element: of ARRAY, MULTISET and VECTOR.
        key, value: of MAP.
        fields: of ROW.
    """

    root: str
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    element: "DataType | None" = None
    key: "DataType | None" = None
    value: "DataType | None" = None
    fields: "tuple[DataField, ...]" = ()

    @property
    def is_string(self) -> bool:
        return self.root in ("CHAR", "VARCHAR")

    @property
    def is_bytes(self) -> bool:
        return self.root in ("BINARY", "VARBINARY")

    @property
    def is_integer(self) -> bool:
        return self.root in _INTEGERS

    @property
    def is_timestamp(self) -> bool:
        return self.root in ("TIMESTAMP", "TIMESTAMP_LTZ")

    @property
    def is_blobs(self) -> bool:
        """Whether a column of the type is in files of blobs: it is BLOB, ARRAY<BLOB> or MAP<…, BLOB>."""
        held = {"ARRAY": self.element, "MAP": self.value}.get(self.root, self)
        return held is not None and held.root == "BLOB"

    @property
    def is_nested(self) -> bool:
        return self.root in _NESTED

    @property
    def parts(self) -> "tuple[DataType, ...]":
        """The types that a nested type is made of: its element, its key and value, or its fields' types."""
        single = (self.element, self.key, self.value)
        return (*(part for part in single if part is not None), *(field.type for field in self.fields))

    def walk(self) -> Iterator["DataType"]:
        """The type and all types inside of it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def as_nullable(self, nullable: bool = True) -> "DataType":
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def __str__(self) -> str:
        return self._text() + ("" if self.nullable else " NOT NULL")

    def _text(self) -> str:
        match self.root:
            case "VARCHAR" if self.length == MAX_LENGTH:
                return "STRING"
            case "VARBINARY" if self.length == MAX_LENGTH:
                return "BYTES"
            case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY":
                return f"{self.root}({self.length})"
            case "DECIMAL":
                return f"DECIMAL({self.precision}, {self.scale})"
            case "TIME" | "TIMESTAMP":
                return f"{self.root}({self.precision})"
            case "TIMESTAMP_LTZ":
                return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"
            case "ARRAY" | "MULTISET":
                return f"{self.root}<{self.element}>"
            case "VECTOR":
                return f"VECTOR<{self.element}, {self.length}>"
            case "MAP":
                return f"MAP<{self.key}, {self.value}>"
            case "ROW":
                return f"ROW<{', '.join(map(str, self.fields))}>"
        return self.root


@dataclass(frozen=True, slots=True)
class DataField:
    """A column, or a field of a ROW: `id` is unique in its table and never reused."""

    id: int
    name: str
    type: DataType
    description: str | None = None
    default_value: str | None = None

    def __str__(self) -> str:
        """As Java's `DataField.asSQLString` writes a field of a ROW."""
        name = self.name.replace("`", "``")
        comment = "" if self.description is None else " COMMENT '" + self.description.replace("'", "''") + "'"
        return f"`{name}` {self.type}{comment}"


_ATOMIC = re.compile(
    r"""\s*(?P<root>DOUBLE\s+PRECISION|[A-Z_]+)
        (?:\s*\(\s*(?P<first>\d+)\s*(?:,\s*(?P<second>\d+)\s*)?\))?
        (?P<zone>\s+WITH(?:OUT)?\s+(?:LOCAL\s+)?TIME\s+ZONE)?
        (?P<null>\s+NOT\s+NULL|\s+NULL)?\s*""",
    re.VERBOSE | re.IGNORECASE,
)


_NO_ZONE = "times of day have no time zone", "Write TIME{0}, and keep the zone in a column of its own if you need it."
_NO_SUCH_ZONES = {
    ("TIMESTAMP", "WITH TIME ZONE"): (
        "timestamps do not keep a time zone",
        "Write TIMESTAMP{0} WITH LOCAL TIME ZONE for moments, or TIMESTAMP{0} for what a clock shows.",
    ),
    ("TIME", "WITH TIME ZONE"): _NO_ZONE,
    ("TIME", "WITH LOCAL TIME ZONE"): _NO_ZONE,
}


# Every opening of a table reads the types of its columns, and there are few different ones.
@lru_cache(maxsize=1024)
def parse_type(text: str) -> DataType:
    """The type of a text such as ``VARCHAR(20) NOT NULL``, atomic types only.

    Raises: SchemaError: the text is not a type, or a length or precision is out of range.
    """
    match = _ATOMIC.fullmatch(text)
    if match is None:
        raise _unknown(text)
    root = re.sub(r"\s+", " ", match["root"].upper()).replace("DOUBLE PRECISION", "DOUBLE")
    first = None if match["first"] is None else int(match["first"])
    second = None if match["second"] is None else int(match["second"])
    zone = re.sub(r"\s+", " ", (match["zone"] or "").strip().upper())
    nullable = "NOT" not in (match["null"] or "").upper()
    return replace(_atomic(root, first, second, zone, text), nullable=nullable)


def _atomic(root: str, first: int | None, second: int | None, zone: str, text: str) -> DataType:
    default_length = MAX_LENGTH if root in ("STRING", "BYTES") else 1
    canonical = _ALIASES.get(root, root)
    if zone and canonical not in ("TIME", "TIMESTAMP"):
        raise _unknown(text)
    if (canonical, zone) in _NO_SUCH_ZONES:
        meaning, instead = _NO_SUCH_ZONES[canonical, zone]
        digits = "" if first is None else f"({first})"
        raise SchemaError(f"'{text}' is not a type of Paimon: {meaning}", "data type", instead.format(digits))
    if second is not None and canonical != "DECIMAL":
        raise _unknown(text)
    if canonical in _SIMPLE and first is None:
        return DataType(canonical)
    if root in ("STRING", "BYTES") and first is not None:
        raise _unknown(text)
    if canonical in _SIZED:
        length = default_length if first is None else first
        _check(1 <= length <= MAX_LENGTH, text, f"a length of 1 to {MAX_LENGTH}")
        return DataType(canonical, length=length)
    if canonical == "DECIMAL":
        precision, scale = 10 if first is None else first, second or 0
        _check(1 <= precision <= 38 and scale <= precision, text, "1 to 38 digits, and a scale of at most as many")
        return DataType("DECIMAL", precision=precision, scale=scale)
    if canonical in ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
        precision = first if first is not None else 0 if canonical == "TIME" else 6
        _check(0 <= precision <= 9, text, "a precision of 0 to 9")
        local = zone == "WITH LOCAL TIME ZONE" and canonical == "TIMESTAMP"
        return DataType("TIMESTAMP_LTZ" if local else canonical, precision=precision)
    raise _unknown(text)


def _check(holds: bool, text: str, expected: str) -> None:
    if not holds:
        raise SchemaError(f"'{text}' is out of range", "data type", f"It takes {expected}.")


def _unknown(text: str) -> SchemaError:
    return SchemaError(f"'{text}' is not a data type", "data type", "Write it as Paimon does, e.g. BIGINT NOT NULL.")


def type_of_json(value: Any) -> DataType:
    """The type of its form in a schema file: a text, or an object for a nested type.

    Raises: SchemaError: neither form, or a nested type misses a part.
    """
    if isinstance(value, str):
        return parse_type(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
        raise _unknown(str(value))
    text = value["type"].upper()
    nullable = "NOT NULL" not in text
    try:
        if text.startswith("ARRAY"):
            return DataType("ARRAY", nullable, element=type_of_json(value["element"]))
        if text.startswith("MULTISET"):
            return DataType("MULTISET", nullable, element=type_of_json(value["element"]))
        if text.startswith("VECTOR"):
            return vector(type_of_json(value["element"]), int(value["length"]), nullable)
        if text.startswith("MAP"):
            return DataType("MAP", nullable, key=type_of_json(value["key"]), value=type_of_json(value["value"]))
        if text.startswith("ROW"):
            return DataType("ROW", nullable, fields=tuple(field_of_json(field) for field in value["fields"]))
    except KeyError as error:
        raise SchemaError(f"a {text} type has no {error}", "data type", "Restore the schema file.") from error
    raise _unknown(str(value))


def vector(element: DataType, length: int, nullable: bool = True) -> DataType:
    """A VECTOR. Raises: SchemaError: it has no elements, or others than numbers and booleans. Source: `VectorType`."""
    made = DataType("VECTOR", nullable, length=length, element=element)
    _check(1 <= length <= MAX_LENGTH, str(made), f"1 to {MAX_LENGTH} elements")
    _check(element.root in VECTOR_ELEMENTS, str(made), f"elements of the types {', '.join(VECTOR_ELEMENTS)}")
    return made


def json_of_type(data_type: DataType) -> Any:
    """The form of a type in a schema file."""
    suffix = "" if data_type.nullable else " NOT NULL"
    match data_type.root:
        case "ARRAY" | "MULTISET":
            assert data_type.element is not None
            return {"type": data_type.root + suffix, "element": json_of_type(data_type.element)}
        case "VECTOR":
            assert data_type.element is not None
            return {"type": "VECTOR" + suffix, "element": json_of_type(data_type.element), "length": data_type.length}
        case "MAP":
            assert data_type.key is not None
            assert data_type.value is not None
            return {"type": "MAP" + suffix, "key": json_of_type(data_type.key), "value": json_of_type(data_type.value)}
        case "ROW":
            return {"type": "ROW" + suffix, "fields": [json_of_field(field) for field in data_type.fields]}
    return str(data_type)


def field_of_json(value: Mapping[str, Any]) -> DataField:
    """A field of a schema file. Raises: SchemaError: no id, name or type; TypeError: its name is not text."""
    try:
        if not isinstance(value["name"], str):
            raise TypeError(f"a column is called {value['name']!r}")
        return DataField(
            int(value["id"]),
            value["name"],
            type_of_json(value["type"]),
            value.get("description"),
            value.get("defaultValue"),
        )
    except KeyError as error:
        raise SchemaError(f"a field has no {error}", "schema file", "Restore the schema file.") from error


def json_of_field(field: DataField) -> dict[str, Any]:
    """The form of a field in a schema file; parts that are not set are left out, since Java reads null as text."""
    form: dict[str, Any] = {"id": field.id, "name": field.name, "type": json_of_type(field.type)}
    if field.description is not None:
        form["description"] = field.description
    if field.default_value is not None:
        form["defaultValue"] = field.default_value
    return form
