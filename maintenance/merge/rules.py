"""Consistency rules for the options of a merge engine, checked when a table is created and when it is altered.

Source: data sections 4 and 12.2, Java `PartialUpdateMergeFunction`, `AggregateMergeFunction`, `SchemaValidation`. Rules
for the options of every table are in the catalog.
"""

from maintenance.errors import OptionError, SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.merge.aggregated import FUNCTION, IGNORE_RETRACT, configured_function, function_named
from maintenance.merge.aggregates.aggregate import AggregatedColumn
from maintenance.merge.aggregates.last_non_null_value import LAST_NON_NULL_VALUE
from maintenance.merge.engine import MergeEngine
from maintenance.merge.sequence_groups import sequence_groups
from maintenance.options import table as table_options

_REMOVE_ON_DELETE = table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE
_REMOVE_ON_GROUP = table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP


def check_merge_engine(schema: TableSchema, where: str) -> None:
    """Raises: OptionError, SchemaError: the first rule that is broken."""
    if not schema.primary_keys:
        return
    try:
        for column in schema.fields:
            AggregatedColumn(column, schema.options).flag(IGNORE_RETRACT)
        if schema.model.merge_engine == "partial-update":
            _check_partial_update(schema)
        MergeEngine.of(schema, schema.model)
        _check_functions(schema)
        _check_padding(schema)
    except (OptionError, SchemaError) as error:
        raise error.at(where) from error


def _check_partial_update(schema: TableSchema) -> None:
    options = schema.model
    ignores = options.ignores_deletes
    groups = sequence_groups(schema, options)
    removes = options.partial_update_removes
    if removes and ignores:
        raise _conflict(_REMOVE_ON_DELETE.key, "ignore-delete", "a -D would have to be dropped and to remove its row")
    if options.sequence_groups_that_remove and ignores:
        raise _conflict(_REMOVE_ON_GROUP.key, "ignore-delete", "a -D would have to be dropped and to remove its row")
    if removes and groups:
        raise _conflict(_REMOVE_ON_DELETE.key, "sequence-group", f"with groups '{_REMOVE_ON_GROUP.key}' removes rows")
    for group in groups:
        for name in group.order_by:
            if schema.field(name).type.is_nested or schema.field(name).type.root in ("VARIANT", "BLOB"):
                raise SchemaError(
                    f"sequence column '{name}' is {schema.field(name).type}",
                    "sequence group",
                    "Use a type with an order.",
                )
    members = {name for group in groups for name in group.members}
    apart = {*schema.primary_keys, *(name for group in groups for name in group.order_by)}
    for field in schema.fields:
        function = configured_function(field, options)
        if function in (None, LAST_NON_NULL_VALUE.name) or field.name in members or field.name in apart:
            continue
        raise OptionError(
            f"column '{field.name}' has aggregate function '{function}' and is in no sequence group",
            "options",
            "Put it into one ('fields.<sequence column>.sequence-group'), or use merge engine aggregation.",
        )


def _conflict(first: str, second: str, why: str) -> OptionError:
    return OptionError(
        f"'{first}' and '{second}' contradict each other: {why}", "options", f"Unset '{first}' or '{second}'."
    )


def _check_functions(schema: TableSchema) -> None:
    """Functions of columns that they are never used for must at least be there."""
    for field in schema.fields:
        column = AggregatedColumn(field, schema.options)
        name = column.option(FUNCTION)
        if name is not None and schema.model.merge_engine in ("aggregation", "partial-update"):
            function_named(name, column)


def _check_padding(schema: TableSchema) -> None:
    if not schema.model.sequence_auto_padding:
        return
    names = schema.model.sequence_field
    types = [schema.field(name).type for name in names]
    if len(types) != 1 or not (types[0].is_integer or types[0].is_timestamp or types[0].root == "DATE"):
        raise OptionError(
            "'sequence.auto-padding' without one 'sequence.field' of integers, dates or timestamps",
            "options",
            "Name such a column, or unset the option: newer Paimons order ties by arrival anyway.",
        )
    if schema.model.sequence_field_sort_order == "descending":
        problem = "'sequence.auto-padding' with 'sequence.field.sort-order' = 'descending'"
        raise OptionError(problem, "options", "Unset 'sequence.auto-padding' or 'sequence.field.sort-order'.")
