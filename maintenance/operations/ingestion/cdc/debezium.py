"""Debezium's JSON, with the schema of each message or without.

A message is ``{"before": {…}, "after": {…}, "op": "u", …}``, alone or as the `payload` beside a `schema`. Source:
Debezium's reference of its connectors, "Data change events" and "Data type mappings".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.plain.texts import KEY
from maintenance.operations.ingestion.cdc.form import Form, Leaf, chosen
from maintenance.operations.ingestion.cdc.values import (
    INTEGER,
    base64_values,
    dates_of_numbers,
    decimals_of_bytes,
    is_bytes,
    is_timestamp,
    listed_values,
    plain_values,
    times_of_numbers,
    timestamps_of_numbers,
)
from maintenance.types.data_type import DataType

NAME = "debezium-json"
_TIMES, _DECIMALS = "time.precision.mode", "decimal.handling.mode"
_KNOWN = {
    _TIMES: ("adaptive_time_microseconds", "adaptive", "connect", "isostring", "microseconds", "nanoseconds"),
    _DECIMALS: ("precise", "string", "double"),
}
# Of types whose messages say what they are: the unit of the numbers.
_UNITS: Mapping[str, str] = {
    "io.debezium.time.Timestamp": "ms", "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns", "org.apache.kafka.connect.data.Timestamp": "ms",
    "io.debezium.time.Time": "ms", "io.debezium.time.MicroTime": "us", "io.debezium.time.NanoTime": "ns",
    "org.apache.kafka.connect.data.Time": "ms",
}  # fmt: skip
_FIXED_UNITS = {"connect": "ms", "microseconds": "us", "nanoseconds": "ns"}
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_QUERY = """
WITH messages AS (
    SELECT line, message,
        CASE WHEN json_exists(message, '$.payload') AND json_exists(message, '$.schema')
            THEN message->'payload' ELSE message END AS event,
        json_extract(message, '$.schema.fields') AS fields
    FROM lines
), events AS (
    SELECT line, event->>'op' AS op, event->'before' AS before, event->'after' AS after,
        json_extract(list_filter(
            json_extract(fields, '$[*]'), lambda field: field->>'field' IN ('before', 'after'))[1], '$.fields'
        ) AS schema,
        json_type(event) AS kind,
        contains(CAST(event AS VARCHAR), '__debezium_unavailable_value')
            OR contains(CAST(event AS VARCHAR), 'X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==') AS lacks
    FROM messages
)
SELECT line, 1 AS position, CASE WHEN op = 'd' THEN '-D' WHEN op = 'u' THEN '+U' ELSE '+I' END AS kind,
    CASE WHEN op = 'd' THEN before ELSE after END AS row, CAST(NULL AS JSON) AS old, CAST(schema AS VARCHAR) AS schema,
    CAST(NULL AS VARCHAR) AS passed,
    CASE WHEN lacks THEN 'a value is not in the message: set REPLICA IDENTITY FULL for the source table' END AS problem
FROM events WHERE op IN ('c', 'r', 'u', 'd')
UNION ALL
SELECT line, 0, '-U', before, NULL, CAST(schema AS VARCHAR), NULL, NULL
FROM events WHERE op = 'u' AND json_type(before) = 'OBJECT'
UNION ALL
SELECT line, 0, NULL, NULL, NULL, NULL,
    CASE WHEN kind = 'NULL' THEN 'tombstones' WHEN op = 'm' THEN 'messages without rows' END,
    CASE WHEN op = 't' THEN 'the source table was truncated: truncate this one, then take the line away'
        ELSE 'neither a change of Debezium''s (op c, r, u or d) nor a tombstone' END
FROM events WHERE op IS NULL OR op NOT IN ('c', 'r', 'u', 'd')
"""


@dataclass(frozen=True)
class Debezium(Form):
    """`options`: of the connector, which say how values are written where messages have no schema."""

    query = _QUERY
    raw_decimals, pairs = True, True

    options: Mapping[str, str]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Debezium":
        """Raises: OptionError."""
        return cls(chosen(options, _KNOWN, NAME))

    def leaf(self, column: str, schema: str | None) -> Leaf:
        return partial(self._values, _declared(schema).get(column, {}))

    def leaf_inside(self, leaf: Leaf, part: str) -> Leaf:
        assert isinstance(leaf, partial)
        return partial(self._values, _declared_inside(leaf.args[0], part))

    def list_in_text(self, column: str, schema: str | None) -> Leaf | None:
        is_set = _declared(schema).get(column, {}).get("name") == "io.debezium.data.EnumSet"
        return listed_values if is_set else None

    def _values(self, declared: Mapping[str, Any], texts: pa.Array, data_type: DataType) -> pa.Array:
        """`declared`: what the schema of the message says of the column or the part of it; {}: nothing."""
        if is_bytes(data_type):
            return base64_values(texts, data_type)
        if data_type.root == "DECIMAL":
            return self._decimals(declared, texts, data_type)
        if not (is_timestamp(data_type) or data_type.root in ("DATE", "TIME")):
            return plain_values(texts, data_type)
        numeric = pc.fill_null(pc.match_substring_regex(texts, INTEGER), False)
        numbers = pc.if_else(numeric, texts, pa.scalar(None, texts.type))
        rest = pc.if_else(numeric, pa.scalar(None, texts.type), texts)
        if data_type.root != "TIMESTAMP_LTZ" and data_type.root != "TIMESTAMP":
            rest = pc.replace_substring_regex(rest, "[zZ]$", "")  # of mode isostring
        return pc.coalesce(self._of_numbers(declared, numbers, data_type), plain_values(rest, data_type))

    def _of_numbers(self, declared: Mapping[str, Any], texts: pa.Array, data_type: DataType) -> pa.Array:
        if data_type.root == "DATE":
            return dates_of_numbers(texts, data_type)
        unit = _UNITS.get(declared.get("name", "")) or self._unit(data_type)
        of_numbers = times_of_numbers if data_type.root == "TIME" else timestamps_of_numbers
        return of_numbers(texts, unit, data_type)

    def _unit(self, data_type: DataType) -> str:
        mode = self.options[_TIMES]
        if mode in _FIXED_UNITS:
            return _FIXED_UNITS[mode]
        if data_type.root == "TIME" and mode == "adaptive_time_microseconds":
            return "us"
        precision = data_type.precision or 0
        return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"

    def _decimals(self, declared: Mapping[str, Any], raw: pa.Array, data_type: DataType) -> pa.Array:
        """`raw`: JSON. Numbers are what Kafka's converter writes where `decimal.format` is NUMERIC."""
        texts = raw.cast(pa.string())
        quoted = pc.fill_null(pc.starts_with(texts, '"'), False)
        nothing = pa.scalar(None, texts.type)
        numbers = pc.if_else(quoted, nothing, texts)
        texts = pc.if_else(quoted, pc.utf8_slice_codeunits(texts, 1, -1), nothing)
        name = declared.get("name")
        is_precise = name == _DECIMAL if declared else self.options[_DECIMALS] == "precise"
        if not is_precise:
            return plain_values(pc.coalesce(texts, numbers), data_type)
        scale = (declared.get("parameters") or {}).get("scale", data_type.scale or 0)
        return pc.coalesce(decimals_of_bytes(texts, int(scale), data_type), plain_values(numbers, data_type))


def _declared(schema: str | None) -> dict[str, Mapping[str, Any]]:
    """What the schema of a message says of each column."""
    fields = [] if schema is None else json.loads(schema)
    return {field["field"]: field for field in fields or ()}


def _declared_inside(declared: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """What the schema of a message says of a part of a nested type."""
    match declared.get("type"):
        case "array":
            found = declared["items"]
        case "map":
            found = declared["keys" if part == KEY else "values"]
        case "struct":
            found = next((field for field in declared["fields"] if field["field"] == part), {})
        case _:
            found = {}
    return found if isinstance(found, Mapping) else {"type": found}
