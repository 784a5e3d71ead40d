"""Canal's flat JSON: ``{"type": "UPDATE", "data": [{…}], "old": [{…}], …}``, all values texts.

`old` has the columns that changed, with their values before. Values of MySQL's ENUM and SET are numbers, and
`mysqlType` says what for: the place in the list, and a bit for each place. Source: Canal's `FlatMessage`, and its guide
on messages for Kafka; Java `CanalRecordParser`.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.operations.ingestion.cdc.form import Leaf, ZonedForm
from maintenance.operations.ingestion.cdc.values import INTEGER, is_bytes, latin1_values, listed_values

_NAMED = re.compile(r"'((?:[^']|'')*)'")

_QUERY = """
WITH messages AS (
    SELECT line, upper(message->>'type') AS type, CAST(message->'mysqlType' AS VARCHAR) AS types,
        coalesce(message->>'isDdl', 'false') = 'true' AS is_ddl,
        CASE WHEN json_type(message, '$.data') = 'ARRAY' THEN json_extract(message, '$.data[*]') ELSE [] END AS data,
        CASE WHEN json_type(message, '$.old') = 'ARRAY' THEN json_extract(message, '$.old[*]') ELSE [] END AS old
    FROM lines
), changes AS (
    SELECT line, type, CASE WHEN regexp_matches(types, '"(enum|set) ?[(]', 'i') THEN types END AS types,
        unnest(data) AS row, unnest(old) AS old, 2 * generate_subscripts(data, 1) AS position
    FROM messages WHERE type IN ('INSERT', 'UPDATE', 'DELETE') AND NOT is_ddl AND len(data) > 0
        AND (type != 'UPDATE' OR len(old) = len(data))
)
SELECT line, position, CASE type WHEN 'DELETE' THEN '-D' WHEN 'UPDATE' THEN '+U' ELSE '+I' END AS kind,
    row, CAST(NULL AS JSON) AS old, types AS schema, CAST(NULL AS VARCHAR) AS passed,
    CAST(NULL AS VARCHAR) AS problem
FROM changes
UNION ALL
SELECT line, position - 1, '-U', row, old, types, NULL, NULL FROM changes WHERE type = 'UPDATE'
UNION ALL
SELECT line, 0, NULL, NULL, NULL, NULL,
    CASE WHEN type IN ('CREATE', 'ALTER', 'RENAME', 'CINDEX', 'DINDEX') THEN 'changes of the source''s definition'
        WHEN type IN ('QUERY', 'GTID', 'XACOMMIT', 'XAROLLBACK', 'MHEARTBEAT') THEN 'messages without rows' END,
    CASE WHEN type IN ('TRUNCATE', 'ERASE') THEN
            'the source table was truncated or dropped: do the same here, then take the line away'
        WHEN type IN ('INSERT', 'UPDATE', 'DELETE') THEN
            'a change needs ''data'' with rows, an UPDATE as many in ''old'''
        WHEN type IS NULL THEN 'no message of Canal''s: it has no ''type'''
        ELSE 'type ''' || type || ''' is not known' END
FROM messages
WHERE type IS NULL OR type NOT IN ('INSERT', 'UPDATE', 'DELETE') OR is_ddl OR len(data) = 0
    OR (type = 'UPDATE' AND len(old) != len(data))
"""


class Canal(ZonedForm):
    """`zone`: in which the source shows times of its TIMESTAMP columns."""

    name, query = "canal-json", _QUERY

    def leaf(self, column: str, schema: str | None) -> Leaf:
        plain = super().leaf(column, schema)
        of_names = _of_names(column, schema)
        if of_names is not None:
            return lambda texts, kind: plain(of_names(texts), kind)
        return lambda texts, kind: latin1_values(texts, kind) if is_bytes(kind) else plain(texts, kind)

    def list_in_text(self, column: str, schema: str | None) -> Leaf | None:
        of_names = _of_names(column, schema)
        return None if of_names is None else lambda texts, kind: listed_values(of_names(texts), kind)


def _of_names(column: str, schema: str | None) -> Callable[[pa.Array], pa.Array] | None:
    """What makes names of the numbers of an ENUM or SET; None: the column is neither."""
    declared = str(json.loads(schema).get(column, "")) if schema else ""
    kind, names = declared.partition("(")[0].strip().lower(), _NAMED.findall(declared)
    if kind not in ("enum", "set"):
        return None
    return partial(_named, names=[name.replace("''", "'") for name in names], is_set=kind == "set")


def _named(texts: pa.Array, names: Sequence[str], *, is_set: bool) -> pa.Array:
    """Texts with names for numbers; of a SET with commas between them. Raises: DataError: a number has no name."""
    numbers = pc.unique(texts.filter(pc.fill_null(pc.match_substring_regex(texts, INTEGER), False)))
    found = [_names_of(int(number), names, is_set=is_set) for number in numbers.to_pylist()]
    place = pc.index_in(texts, numbers)
    return pc.if_else(pc.is_valid(place), pa.array(found, pa.string()).take(place), texts)


def _names_of(number: int, names: Sequence[str], *, is_set: bool) -> str:
    most = 2 ** len(names) - 1 if is_set else len(names)
    if not 0 <= number <= most:
        raise DataError(f"{number} is none of {', '.join(names)}", "JSON messages", "Deliver the message again.")
    if is_set:
        return ",".join(name for place, name in enumerate(names) if number >> place & 1)
    return names[number - 1] if number else ""  # what MySQL stores for a value that is none
