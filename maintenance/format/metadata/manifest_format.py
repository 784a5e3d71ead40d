"""Metadata files in ORC or parquet, for tables whose option `manifest.format` says so.

Their content is made as Avro first, whose schema defines the columns and types; Java derives both from one
row type. Reading such files is part of `avro_file`.
"""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from maintenance.format.avro.container import read_records, schema_of_container
from maintenance.format.data_format import FileSettings
from maintenance.format.data_formats import data_format
from maintenance.types.arrow import arrow_schema
from maintenance.types.data_type import DataField, DataType, parse_type

# Avro has no numbers of one byte, so its schema does not tell these from others.
_BYTES = ("_KIND", "_FILE_SOURCE")
_ATOMS = {"int": "INT", "long": "BIGINT", "string": "STRING", "bytes": "BYTES"}


def in_format(container: bytes, settings: FileSettings) -> bytes:
    """A metadata file as `settings` want it. `container`: the same in Avro."""
    schema: dict[str, Any] = json.loads(schema_of_container(container))
    # The version stands in front of the row type's fields, without an id of its own.
    fields = _fields(schema["fields"], first_id=-1)
    records = read_records(container, "memory", dict)
    sink = pa.BufferOutputStream()
    writer = data_format(settings.format, "manifest").prepare_writer(fields, settings)(sink)
    writer.write(pa.Table.from_pylist(records, arrow_schema(fields)))
    writer.close()
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _fields(forms: Sequence[dict[str, Any]], first_id: int = 0) -> tuple[DataField, ...]:
    return tuple(
        DataField(
            number, form["name"], parse_type("TINYINT").as_nullable(field_type.nullable) if is_byte else field_type
        )
        for number, form in enumerate(forms, start=first_id)
        for field_type, is_byte in [(_type(form["type"]), form["name"] in _BYTES)]
    )


def _type(schema: Any) -> DataType:
    """The type of a part of an Avro schema."""
    if isinstance(schema, list):
        return _type(schema[1]).as_nullable()
    if isinstance(schema, str):
        return parse_type(_ATOMS[schema]).as_nullable(False)
    if schema["type"] == "record":
        return DataType("ROW", nullable=False, fields=_fields(schema["fields"]))
    if schema["type"] == "array":
        return DataType("ARRAY", nullable=False, element=_type(schema["items"]))
    assert schema["logicalType"] == "timestamp-millis"
    return parse_type("TIMESTAMP(3) NOT NULL")
