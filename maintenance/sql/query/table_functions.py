"""Paimon's table functions: incremental reads, named by the table, the start and the end.

Source: Java `PaimonTableValuedFunctions` of Paimon's Spark connector.
"""

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.scan.target import Difference
from maintenance.sql.names import path_of
from maintenance.sql.query.relations import Readable
from maintenance.table.table import Table

# Function -> the option that its further arguments become, joined by commas, and how many they are.
_FUNCTIONS = {
    "paimon_incremental_query": ("incremental-between", 2),
    "paimon_incremental_between_timestamp": ("incremental-between-timestamp", 2),
    "paimon_incremental_to_auto_tag": ("incremental-to-auto-tag", 1),
}


def take_function(node: exp.Table) -> dict[str, str]:
    """Put the name of the table in the place of a function of one. Returns: the options that the function means.

    Raises: SqlError: the function does not exist, or its arguments are wrong.
    """
    function = node.this
    if not isinstance(function, exp.Anonymous):
        return {}
    name = str(function.this)
    if name.lower() not in _FUNCTIONS:
        return {}
    key, count = _FUNCTIONS[name.lower()]
    arguments = [argument.unnest() for argument in function.expressions]
    if len(arguments) != count + 1 or not all(isinstance(argument, exp.Literal) for argument in arguments):
        raise SqlError(
            f"{name} takes {count + 1} literals",
            "query",
            f"Write {name}('db.t', {', '.join(repr(str(n)) for n in range(1, count + 1))}).",
        )
    identifiers = [exp.to_identifier(part, quoted=True) for part in path_of(arguments[0].name)]
    for identifier in identifiers:
        identifier.meta.update(arguments[0].meta)
    for place, identifier in zip(("this", "db", "catalog"), reversed(identifiers), strict=False):
        node.set(place, identifier)
    return {key: ",".join(argument.name for argument in arguments[1:])}


def states_of_other_buckets(table: Readable) -> tuple[int, int] | None:
    """The snapshots that a table is asked to compare, if its number of buckets was changed between them: then the rows
    of a key are in another bucket, and buckets cannot be compared one by one.

    Source: Java `TimeTravelUtil.checkRescaleBucketForIncrementalDiffQuery`.
    """
    if not isinstance(table, Table):
        return None
    _, target = table.target()
    if not isinstance(target, Difference) or target.before.schema_id == target.after.schema_id:
        return None
    before, after = (table.schemas.get(state.schema_id).model.bucket for state in (target.before, target.after))
    return None if before == after else (target.before.id, target.after.id)
