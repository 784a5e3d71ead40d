"""Settings of a session that are options of tables.

Flink: ``paimon.<catalog>.<database>.<table>.<key>``, each of the names may be ``*``. Spark: ``spark.paimon.<key>`` for
all tables, ``spark.paimon.<catalog>.<database>.<table>.<key>`` for some. Source: Java `FlinkConnectorOptions`,
`OptionUtils`.
"""

from collections.abc import Mapping

from maintenance.errors import SqlError
from maintenance.options.known import check_set, known_options, state_of
from maintenance.spelling import suggestion
from maintenance.sql.names import TableName

READ_SETTINGS = ("paimon.", "spark.paimon.")
"""What they begin with."""
MERGES_SCHEMA = "spark.paimon.write.merge-schema"
WIDENS_TYPES = f"{MERGES_SCHEMA}.type-widening"
WIDENS_WITH_LOSS = f"{MERGES_SCHEMA}.explicit-cast"
OF_STATEMENTS = (MERGES_SCHEMA, WIDENS_TYPES, WIDENS_WITH_LOSS)
"""What they say of statements that write, and of no table. Source: Java `OptionUtils` of Spark's connector."""


def table_settings(settings: Mapping[str, str], name: TableName) -> dict[str, str]:
    """The options that settings give a table; one that names it by more of its names wins."""
    weighted: dict[str, tuple[int, str]] = {}
    for setting, value in settings.items():
        prefix = next((p for p in READ_SETTINGS if setting.startswith(p)), None)
        if prefix is None or setting in OF_STATEMENTS:
            continue
        for key, weight in _keys(setting.removeprefix(prefix), name.plain, everywhere=prefix == READ_SETTINGS[1]):
            if key not in weighted or weighted[key][0] <= weight:
                weighted[key] = weight, value
    return {key: value for key, (_, value) in weighted.items()}


def check_option(setting: str, value: str) -> None:
    """Check a setting that is an option of tables, as such an option is checked everywhere.

    Args: `setting`: begins with one of `READ_SETTINGS`.
    Raises: SqlError: it names no option, or no table where it must; OptionError: its name is probably a mistake, or its
        value is wrong; UnsupportedError: the value is refused.
    """
    prefix = next(p for p in READ_SETTINGS if setting.startswith(p))
    rest, where = setting.removeprefix(prefix), f"SET '{setting}'"
    parts = rest.split(".", 3)
    for_all = state_of(rest) is not None
    if len(parts) == 4 and not for_all:
        check_set({parts[3]: value}, {}, where)
    elif prefix == READ_SETTINGS[1]:
        if not for_all:
            fix = f"Leave it out.{suggestion(rest, known_options())}"
            raise SqlError(f"'{setting}' names no option of tables", "settings", fix)
        check_set({rest: value}, {}, where)
    else:
        fix = f"Write '{prefix}*.*.*.{rest}', or names of a table for the stars."
        raise SqlError(f"'{setting}' names no table", "settings", fix)


def _keys(rest: str, name: TableName, *, everywhere: bool) -> list[tuple[str, int]]:
    """The key of a setting that is for the table, and how many of its names it gives."""
    parts = rest.split(".", 3)
    own = (name.catalog, name.database, name.table)
    if len(parts) == 4 and all(part in ("*", mine) for part, mine in zip(parts[:3], own, strict=True)):
        return [(parts[3], 1 + sum(part != "*" for part in parts[:3]))]
    return [(rest, 0)] if everywhere and state_of(rest) is not None else []
