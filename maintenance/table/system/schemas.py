"""`t$schemas`: one row for each version of the schema; `t$aggregation_fields`: what each column's options say."""

import json

import pyarrow as pa

from maintenance.errors import NotFoundError
from maintenance.predicate.tree import And, Compare, In, Predicate
from maintenance.table.system.hash_order import hash_order
from maintenance.table.system.local_time import local_millis
from maintenance.table.system.system_table import LOCAL_TIMESTAMP, SystemTable, required
from maintenance.table.table import Table
from maintenance.types.data_type import json_of_field

_ID = "schema_id"
_NEXT = {"=": 0, ">=": 0, "<=": 0, ">": 1, "<": -1}


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


def _check_ids(table: Table, predicate: Predicate) -> None:
    """Source: Java `SchemasTable`, whose reads fail where the ids of a condition are none of the table's.

    Raises: NotFoundError.
    """
    ids = table.schemas.list_ids()
    if not ids:
        return
    for part in predicate.children if isinstance(predicate, And) else (predicate,):
        if isinstance(part, In) and part.column == _ID:
            wanted = [each for each in part.values if isinstance(each, int) and each not in ids]
        elif isinstance(part, Compare) and part.column == _ID and part.op in _NEXT:
            assert isinstance(part.value, int)
            # The id at the end of the range: the first that is asked for, or the last.
            end = part.value + _NEXT[part.op]
            wanted = [end] if (end > ids[-1] and part.op[0] in "=>") or (end < 0 and part.op[0] in "=<") else []
        else:
            continue
        if wanted:
            fix = f"The ids are {ids[0]} to {ids[-1]}."
            raise NotFoundError(f"schema {wanted[0]} does not exist", table.identifier, fix)


SCHEMAS = SystemTable(
    "schemas",
    pa.schema(
        [
            required(_ID, pa.int64()),
            required("fields", pa.string()),
            required("partition_keys", pa.string()),
            required("primary_keys", pa.string()),
            required("options", pa.string()),
            ("comment", pa.string()),
            required("update_time", LOCAL_TIMESTAMP),
        ]
    ),
    _schemas,
    check=_check_ids,
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
