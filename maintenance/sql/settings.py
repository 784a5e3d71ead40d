"""Settings of a session that are options of tables.

Flink: ``paimon.<catalog>.<database>.<table>.<key>``, each of the names may be ``*``. Spark: ``spark.paimon.<key>`` for
all tables, ``spark.paimon.<catalog>.<database>.<table>.<key>`` for some. Source: Java `FlinkConnectorOptions`,
`OptionUtils`.
"""

from collections.abc import Mapping

from maintenance.options.known import known_options
from maintenance.sql.names import TableName

READ_SETTINGS = ("paimon.", "spark.paimon.")
"""What they begin with."""


def table_settings(settings: Mapping[str, str], name: TableName) -> dict[str, str]:
    """The options that settings give a table; one that names it by more of its names wins."""
    weighted: dict[str, tuple[int, str]] = {}
    for setting, value in settings.items():
        prefix = next((p for p in READ_SETTINGS if setting.startswith(p)), None)
        if prefix is None:
            continue
        for key, weight in _keys(setting.removeprefix(prefix), name.plain, everywhere=prefix == READ_SETTINGS[1]):
            if key not in weighted or weighted[key][0] <= weight:
                weighted[key] = weight, value
    return {key: value for key, (_, value) in weighted.items()}


def _keys(rest: str, name: TableName, *, everywhere: bool) -> list[tuple[str, int]]:
    """The key of a setting that is for the table, and how many of its names it gives."""
    parts = rest.split(".", 3)
    own = (name.catalog, name.database, name.table)
    if len(parts) == 4 and all(part in ("*", mine) for part, mine in zip(parts[:3], own, strict=True)):
        return [(parts[3], 1 + sum(part != "*" for part in parts[:3]))]
    return [(rest, 0)] if everywhere and rest in known_options() else []
