"""One column's values by its aggregate function."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError, OptionError, SchemaError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, Reduced
from maintenance.merge.aggregates.registry import AGGREGATES
from maintenance.merge.inputs import Inputs, Op, scatter
from maintenance.types.data_type import DataField

FUNCTION = "aggregate-function"
DEFAULT_FUNCTION = "fields.default-aggregate-function"
IGNORE_RETRACT = "ignore-retract"


def function_named(name: str, column: AggregatedColumn) -> Aggregate:
    """The function of a column. Raises: OptionError, SchemaError: there is none of that name, or it does not fit."""
    if name not in AGGREGATES:
        raise OptionError(
            f"aggregate function '{name}' does not exist",
            column.where,
            f"Functions are {', '.join(sorted(AGGREGATES))}.",
        )
    function = AGGREGATES[name]
    if not function.accepts(column.field.type):
        raise SchemaError(
            f"aggregate function '{name}' does not take {column.field.type}",
            column.where,
            f"It takes {function.takes}.",
        )
    if function.check is not None:
        function.check(column)
    return function


def reduced(function: Aggregate, inputs: Inputs, column: AggregatedColumn) -> Reduced:
    """The value of each segment. Raises: DataError: a retraction that the function cannot do, or its own errors."""
    if not inputs.has(Op.RETRACT):
        return function.reduce(inputs, column)
    if column.flag(IGNORE_RETRACT):
        return reduced_where(function, inputs, ~inputs.is_op(Op.RETRACT), column)
    refuse_retractions(function, column)
    return function.reduce(inputs, column)


def refuse_retractions(function: Aggregate, column: AggregatedColumn) -> None:
    """Raises: DataError: a column neither retracts nor leaves retractions out."""
    if not function.retracts and not column.flag(IGNORE_RETRACT):
        raise DataError(
            f"aggregate function '{function.name}' does not support retractions (-U and -D)",
            column.where,
            f"Set '{column.key(IGNORE_RETRACT)}' = 'true' to leave retractions out of this column.",
        )


def reduced_where(function: Aggregate, inputs: Inputs, where: np.ndarray, column: AggregatedColumn) -> Reduced:
    """The same over the records for which `where` holds; a segment without any is null."""
    count = len(inputs.starts)
    if not where.any():
        return np.full(count, -1)
    kept, segments = inputs.only(where)
    values = reduced(function, kept, column)
    if isinstance(values, pa.Array):
        return scatter(values, segments, count)
    result = np.full(count, -1)
    result[segments] = values
    return result


def configured_function(field: DataField, options: Mapping[str, str]) -> str | None:
    """The name of a column's function: its own option, else the default for all columns."""
    return options.get(f"fields.{field.name}.{FUNCTION}", options.get(DEFAULT_FUNCTION))
