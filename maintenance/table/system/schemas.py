"""`t$schemas`: one row for each version of the schema; `t$aggregation_fields`: what each column's options say."""

import json

import pyarrow as pa

from maintenance.table.system.hash_order import hash_order
from maintenance.table.system.local_time import local_millis
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.table import Table
from maintenance.types.data_type import json_of_field


def _schemas(table: Table) -> list[tuple[object, ...]]:
    schemas = (table.schemas.get(schema_id) for schema_id in table.schemas.list_ids())
    return [
        (
            schema.id,
            _flat([json_of_field(field) for field in schema.fields]),
            _flat(list(schema.partition_keys)),
            _flat(list(schema.primary_keys)),
            _flat({key: schema.options[key] for key in hash_order(schema.options)}),
            schema.comment,
            local_millis(schema.time_millis),
        )
        for schema in schemas
    ]


def _flat(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _aggregation_fields(table: Table) -> list[tuple[object, ...]]:
    latest = table.schemas.latest() or table.schema
    options: dict[str, list[tuple[str, str]]] = {}
    for key in hash_order(latest.options):
        parts = key.split(".")
        if len(parts) > 2 and parts[0] == "fields":
            options.setdefault(parts[1], []).append((key, latest.options[key]))
    return [
        (
            field.name,
            str(field.type),
            _listed([value for _, value in options.get(field.name, ())]),
            _listed([key for key, _ in options.get(field.name, ())]),
            field.description,
        )
        for field in latest.fields
    ]


def _listed(texts: list[str]) -> str:
    return f"[{', '.join(texts)}]"


SCHEMAS = SystemTable(
    "schemas",
    pa.schema(
        [
            required("schema_id", pa.int64()),
            required("fields", pa.string()),
            required("partition_keys", pa.string()),
            required("primary_keys", pa.string()),
            required("options", pa.string()),
            ("comment", pa.string()),
            required("update_time", LOCAL_TIMESTAMP),
        ]
    ),
    _schemas,
)
AGGREGATION_FIELDS = SystemTable(
    "aggregation_fields",
    pa.schema(
        [
            required("field_name", pa.string()),
            required("field_type", pa.string()),
            ("function", pa.string()),
            ("function_options", pa.string()),
            ("comment", pa.string()),
        ]
    ),
    _aggregation_fields,
)
