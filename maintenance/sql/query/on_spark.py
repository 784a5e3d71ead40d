"""Queries run by Spark, over DataFrames of our own reader."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.spark.release import arrow_of
from maintenance.spark.sail import is_sail
from maintenance.spark.types import spark_type
from maintenance.spark.variants import collected, has_variants
from maintenance.sql.expressions.kinds import NULL, VARIANT
from maintenance.sql.query.carried import uncarried
from maintenance.sql.query.relations import Relation
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.variants import with_variants
from maintenance.table.system.metadata_columns import MetadataView
from maintenance.types.arrow import arrow_type, data_type_of_arrow, has_nanos
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType, parse_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# Under this key Spark keeps what a text is declared as, and fills up what a CHAR is compared with.
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")


def run_on_spark(spark: "SparkSession", resolved: Resolved, fields: Sequence[DataField] | None = None) -> pa.Table:
    """The rows of a query. `fields`: see `run_query`."""
    with _as_errors_of_sql():
        frame = frame_of(spark, resolved)
        chosen = frame if fields is None else cast_frame(frame, fields)
        rows: pa.Table = collected(chosen) if has_variants(chosen) else arrow_of(chosen)
    rows = uncarried(rows)
    if fields is None and resolved.columns:
        rows = _in_types(rows, [kind for _, kind in resolved.columns])
    return with_variants(rows) if has_variants(chosen) else rows


def fields_of_frame(spark: "SparkSession", resolved: Resolved) -> list[DataField]:
    """The columns that a query gives. Raises: SqlError: Spark does not take it, or no table has a type."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import NullType

    with _as_errors_of_sql():
        columns = frame_of(spark, resolved).schema.fields
    kinds = []
    for column in columns:
        if isinstance(column.dataType, NullType):
            kinds.append(NULL)
        elif column.dataType.typeName() == "variant":
            kinds.append(VARIANT)
        else:
            kinds.append(
                data_type_of_arrow(to_arrow_type(column.dataType, timezone="UTC"), where=f"column {column.name}")
            )
    return [
        DataField(number, column.name, kind) for number, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    ]


def declared_on_spark(spark: "SparkSession", resolved: Resolved) -> list[DataType | None]:
    """The types of columns that are declared with a length, as Spark makes a table of a query; None for others."""
    with _as_errors_of_sql():
        return declared_columns(frame_of(spark, resolved).schema)


def declared_columns(schema: "StructType") -> list[DataType | None]:
    """The same of a DataFrame's columns, which Spark keeps as texts."""
    declared = (column.metadata.get(_DECLARED) for column in schema.fields)
    return [None if text is None else parse_type(text.upper()) for text in declared]


@contextmanager
def _as_errors_of_sql() -> Iterator[None]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        message = str(error).strip().splitlines()[0]
        raise SqlError(message, "query on Spark", "") from error
    except Py4JJavaError as error:  # PySpark leaves errors of a query with one partition as they are
        raise SqlError(_cause_of(error.java_exception), "query on Spark", "") from error


def _cause_of(error: Any) -> str:
    """What an exception of Java says is at its bottom."""
    while error.getCause() is not None:
        error = error.getCause()
    return str(error.getMessage() or error).strip().splitlines()[0]


def _in_types(rows: pa.Table, kinds: Sequence[DataType]) -> pa.Table:
    """The rows with the numbers and times of the types given, where Spark's functions give other ones."""
    for number, (column, kind) in enumerate(zip(rows.columns, kinds, strict=True)):
        of = column.type
        if kind.is_timestamp and not has_nanos(kind) and pa.types.is_timestamp(of):
            wanted = pa.timestamp(arrow_type(kind).unit, of.tz)
        elif (kind.root in _NUMBERS and (pa.types.is_integer(of) or pa.types.is_floating(of))) or (
            kind.root == "DECIMAL" and pa.types.is_decimal(of) and arrow_type(kind).scale == of.scale
        ):
            wanted = arrow_type(kind)
        else:
            continue
        if of != wanted:
            rows = rows.set_column(number, rows.field(number).with_type(wanted), column.cast(wanted, safe=False))
    return rows


def cast_frame(frame: "DataFrame", fields: Sequence[DataField], last: str | None = None) -> "DataFrame":
    """The columns by position, with the names and types of a table's. `last`: name of one more column, as it is.

    Raises: SqlError: there are more or fewer.
    """
    from pyspark.sql import functions

    if len(frame.columns) - (last is not None) != len(fields):
        names = ", ".join(field.name for field in fields)
        problem = f"{len(frame.columns) - (last is not None)} columns are given where {len(fields)} are needed"
        raise SqlError(problem, "query", f"Give {names}.")
    numbered = frame.toDF(*(f"column_{number}" for number in range(len(frame.columns))))
    kept = [] if last is None else [functions.col(f"column_{len(fields)}").alias(last)]
    return numbered.select(
        *(
            functions.col(f"column_{number}").cast(spark_type(field.type, f"column {field.name}")).alias(field.name)
            for number, field in enumerate(fields)
        ),
        *kept,
    )


def frame_of(spark: "SparkSession", resolved: Resolved) -> "DataFrame":
    """The DataFrame of a query."""
    frames = {name: _frame_of(spark, relation) for name, relation in resolved.relations.items()}
    return frame_over(spark, resolved.tree, frames)


def _frame_of(spark: "SparkSession", relation: Relation) -> "DataFrame":
    view = relation.opened()
    # Not all rows have all metadata columns.
    columns = [column.name for column in relation.needed()] if isinstance(view, MetadataView) else None
    return _filled(view.to_spark(spark, columns, relation.condition), relation)


def _filled(frame: "DataFrame", relation: Relation) -> "DataFrame":
    """The rows with each CHAR filled up with blanks, and with what Spark keeps of lengths, as of tables of its own."""
    from pyspark.sql import functions

    declared = {column.name: column.type for column in relation.fields()
                if relation.fills_chars and column.type.is_string and column.type.length != MAX_LENGTH}  # fmt: skip
    columns = []
    for name in frame.columns:
        column = functions.col("`" + name.replace("`", "``") + "`")
        kind = declared.get(name)
        if kind is not None:
            length = kind.length or 1
            filled = functions.rpad(column, length, " ") if kind.root == "CHAR" else column
            column = filled.alias(name, metadata={_DECLARED: f"{kind.root.lower()}({length})"})
        columns.append(column)
    return frame.select(*columns) if declared else frame


def frame_over(spark: "SparkSession", tree: exp.Expr, frames: "Mapping[str, DataFrame]") -> "DataFrame":
    """The DataFrame of a query over others, by the names that its tables have in it.

    They go to Spark as arguments of the query: on Connect, where it is analysed each time that it is used, they stay
    with it. Names that this engine gave them in the session's catalog would be gone by then, or stay for ever.
    """
    mark = uuid.uuid4().hex
    tree, frames = tree.copy(), dict(frames)
    if is_sail(spark):
        _without_excepts(spark, tree, frames)
    for node in tree.find_all(exp.Table):
        if node.name in frames:
            node.set("this", exp.to_identifier(f"{node.name}_{mark}", quoted=True))
    text = tree.sql("spark", comments=False)
    if not frames:
        return spark.sql(text)
    # Braces mean arguments now.
    text = text.replace("{", "{{").replace("}", "}}")
    for name in frames:
        text = text.replace(f"`{name}_{mark}`", f"{{{name}}}")
    arguments: dict[str, Any] = frames
    return spark.sql(text, **arguments)


def _without_excepts(spark: "SparkSession", tree: exp.Expr, frames: "dict[str, DataFrame]") -> None:
    """Let DataFrames drop what ``SELECT * EXCEPT (a)`` leaves out, which Sail does not read.

    Raises: SqlError: the SELECT is more than that, of one query.
    """
    # From the inside out.
    for star in reversed([node for node in tree.find_all(exp.Star) if node.args.get("except_")]):
        select, names = star.parent, [name.name for name in star.args["except_"]]
        from_ = select.args.get("from_") if isinstance(select, exp.Select) else None
        if select is None or from_ is None or _parts(select) != {"expressions", "from_"} or len(select.expressions) > 1:
            raise SqlError(
                "Sail does not read '* EXCEPT' beside other columns, conditions or joins",
                "query on Sail",
                "Put it into a query of its own, name the columns, or use the engine 'spark'.",
            )
        rows = frame_over(spark, exp.select("*").from_(from_.this.copy()), frames).drop(*names)
        name = f"paimon_less_{len(frames)}"
        frames[name] = rows
        select.set("expressions", [exp.Star()])
        from_.set("this", exp.Table(this=exp.to_identifier(name, quoted=True)))


def _parts(select: exp.Expr) -> set[str]:
    return {key for key, part in select.args.items() if part}
