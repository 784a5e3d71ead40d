"""Suspend and resume what keeps a materialized table fresh: its status, in the options that Paimon has for it.

A table that another engine refreshes has what that engine needs to find its job again stored in its options. It is not
touched as long as that engine is at work; once it was suspended there, RESUME takes the table over.
Source: Flink's `MaterializedTableManager`, Java `FlinkCatalog.handleMaterializedTableChange`.
"""

from collections.abc import Sequence

from maintenance.catalog import Catalog, RemoveOption, SchemaChange, SetOption
from maintenance.errors import SchemaError
from maintenance.options.materialized import (
    HANDLER_BYTES,
    HANDLER_DESCRIPTION,
    HERE,
    REFRESH_STATUS,
    Definition,
    RefreshStatus,
)
from maintenance.table.table import Table


def suspend(catalog: Catalog, table: Table) -> None:
    """Let a materialized table rest until it is resumed.

    Raises: OptionError: it is not a materialized table; SchemaError: it rests, is not complete yet, or another engine
        refreshes it.
    """
    definition = _definition(table)
    if definition.status == RefreshStatus.SUSPENDED:
        raise SchemaError("the materialized table is suspended already", _where(table), "RESUME starts it again.")
    if definition.status == RefreshStatus.INITIALIZING:
        fix = "Wait for the statement that creates it; if that died, RESUME or drop the table."
        raise SchemaError("the materialized table is not complete yet", _where(table), fix)
    if not definition.is_ours:
        raise SchemaError(
            f"another engine refreshes the materialized table: {definition.handler or 'it does not say which'}",
            _where(table),
            "Suspend it there: the job that refreshes it runs there.",
        )
    _change(catalog, table, [SetOption(REFRESH_STATUS, RefreshStatus.SUSPENDED)])


def resume(catalog: Catalog, table: Table) -> None:
    """Keep a materialized table fresh from here; one that another engine has suspended is taken over.

    Raises: OptionError: it is not a materialized table; SchemaError: it is kept fresh already.
    """
    definition = _definition(table)
    if definition.status == RefreshStatus.ACTIVATED:
        who = (
            "from here" if definition.is_ours else f"by another engine: {definition.handler or 'it does not say which'}"
        )
        fix = "Nothing to do." if definition.is_ours else "Suspend it there first."
        raise SchemaError(f"the materialized table is kept fresh {who}", _where(table), fix)
    activate(catalog, table)


def activate(catalog: Catalog, table: Table) -> None:
    """Say that a table is kept fresh from here."""
    changes: list[SchemaChange] = [
        SetOption(REFRESH_STATUS, RefreshStatus.ACTIVATED),
        SetOption(HANDLER_DESCRIPTION, HERE),
    ]
    changes += [RemoveOption(HANDLER_BYTES)] if HANDLER_BYTES in table.options else []
    _change(catalog, table, changes)


def _definition(table: Table) -> Definition:
    return Definition.of(table.options, _where(table))


def _where(table: Table) -> str:
    return f"table {table.identifier}"


def _change(catalog: Catalog, table: Table, changes: Sequence[SchemaChange]) -> None:
    catalog.alter_table(table.identifier, changes)
