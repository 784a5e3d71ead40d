"""Canal's flat JSON: ``{"type": "UPDATE", "data": [{…}], "old": [{…}], …}``, all values texts.

`old` has the columns that changed, with their values before. Source: Canal's `FlatMessage`, and its guide on
messages for Kafka.
"""

from maintenance.operations.ingestion.cdc.form import Leaf, ZonedForm
from maintenance.operations.ingestion.cdc.values import is_bytes, latin1_values

_QUERY = """
WITH messages AS (
    SELECT line, upper(message->>'type') AS type, coalesce(message->>'isDdl', 'false') = 'true' AS is_ddl,
        CASE WHEN json_type(message, '$.data') = 'ARRAY' THEN json_extract(message, '$.data[*]') ELSE [] END AS data,
        CASE WHEN json_type(message, '$.old') = 'ARRAY' THEN json_extract(message, '$.old[*]') ELSE [] END AS old
    FROM lines
), changes AS (
    SELECT line, type, unnest(data) AS row, unnest(old) AS old, 2 * generate_subscripts(data, 1) AS position
    FROM messages WHERE type IN ('INSERT', 'UPDATE', 'DELETE') AND NOT is_ddl AND len(data) > 0
        AND (type != 'UPDATE' OR len(old) = len(data))
)
SELECT line, position, CASE type WHEN 'DELETE' THEN '-D' WHEN 'UPDATE' THEN '+U' ELSE '+I' END AS kind,
    row, CAST(NULL AS JSON) AS old, CAST(NULL AS VARCHAR) AS schema, CAST(NULL AS VARCHAR) AS passed,
    CAST(NULL AS VARCHAR) AS problem
FROM changes
UNION ALL
SELECT line, position - 1, '-U', row, old, NULL, NULL, NULL FROM changes WHERE type = 'UPDATE'
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
        return lambda texts, kind: latin1_values(texts, kind) if is_bytes(kind) else plain(texts, kind)
