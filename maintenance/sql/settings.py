"""Settings of a session that are options of tables.

Flink: ``<key>`` for all tables, ``paimon.<catalog>.<database>.<table>.<key>`` for some, where each of the names may be
``*``. Spark: ``spark.paimon.`` in front of the key, or of the names. Source: Java `AbstractFlinkTableFactory`,
`OptionUtils`.
"""

from collections.abc import Mapping

from maintenance.errors import SqlError
from maintenance.options.known import check_set, known_options, state_of
from maintenance.spelling import suggestion
from maintenance.sql.names import TableName

_OF_SOME, _OF_SPARK, _OF_LOG = "paimon.", "spark.paimon.", "log."
MERGES_SCHEMA = "spark.paimon.write.merge-schema"
WIDENS_TYPES = f"{MERGES_SCHEMA}.type-widening"
WIDENS_WITH_LOSS = f"{MERGES_SCHEMA}.explicit-cast"
OF_STATEMENTS = (MERGES_SCHEMA, WIDENS_TYPES, WIDENS_WITH_LOSS)
"""What they say of statements that write, and of no table. Source: Java `OptionUtils` of Spark's connector."""


def is_of_tables(setting: str, dialect: str) -> bool:
    """Whether a setting is an option of tables."""
    if setting.startswith((_OF_SOME, _OF_SPARK)):
        return setting not in OF_STATEMENTS
    return dialect == "flink" and state_of(setting) is not None


def table_settings(settings: Mapping[str, str], name: TableName) -> dict[str, str]:
    """The options that settings give a table; one that names it by more of its names wins.

    Args: `settings`: those for which `is_of_tables` holds.
    """
    weighted: dict[str, tuple[int, str]] = {}
    for setting, value in settings.items():
        for key, weight in _keys(setting, name.plain):
            if key not in weighted or weighted[key][0] <= weight:
                weighted[key] = weight, value
    return {key: value for key, (_, value) in weighted.items()}


def chooses_rows(key: str) -> bool:
    """Whether an option of a table says which of its rows a read returns, rather than how it is read or written."""
    return key.removeprefix(_OF_LOG).startswith(("scan.", "incremental-"))


def check_option(setting: str, value: str) -> None:
    """Check a setting that is an option of tables, as such an option is checked everywhere.

    Raises: SqlError: it names no option, or no table where it must; OptionError: its name is probably a mistake, or its
        value is wrong; UnsupportedError: the value is refused.
    """
    rest, where = _without_prefix(setting), f"SET '{setting}'"
    parts = rest.split(".", 3)
    for_all = state_of(rest) is not None
    if len(parts) == 4 and not for_all:
        check_set({parts[3]: value}, {}, where)
    elif setting.startswith(_OF_SOME):
        fix = f"Write '{_OF_SOME}*.*.*.{rest}', or names of a table for the stars."
        raise SqlError(f"'{setting}' names no table", "settings", fix)
    elif for_all:
        check_set({rest: value}, {}, where)
    else:
        fix = f"Leave it out.{suggestion(rest, known_options())}"
        raise SqlError(f"'{setting}' names no option of tables", "settings", fix)


def _without_prefix(setting: str) -> str:
    # One of them alone: a catalog may be called paimon, too.
    return setting.removeprefix(_OF_SPARK if setting.startswith(_OF_SPARK) else _OF_SOME)


def _keys(setting: str, name: TableName) -> list[tuple[str, int]]:
    """The key of a setting that is for the table, and how many of its names it gives."""
    rest = _without_prefix(setting)
    parts = rest.split(".", 3)
    own = (name.catalog, name.database, name.table)
    if rest != setting and len(parts) == 4 and all(p in ("*", mine) for p, mine in zip(parts[:3], own, strict=True)):
        return [(parts[3], 1 + sum(part != "*" for part in parts[:3]))]
    return [(rest, 0)] if not setting.startswith(_OF_SOME) and state_of(rest) is not None else []
