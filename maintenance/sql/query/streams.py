"""INSERT INTO … SELECT as a stream: through Spark's Structured Streaming, as far as there is something, exactly once.

A statement is one where the session's `execution.runtime-mode` is ``streaming`` and a folder for checkpoints is set;
without a folder nothing would remember what has been written, and it runs in batch mode. Its own folder in that
one has the name of the pipeline, or is named after the table and the query: the same statement goes on where it ended.

It may choose columns of one table and filter its rows. Where the table has a primary key, the kinds of its changes
reach the table that is written.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.options.streams import READ_CHANGELOG
from maintenance.sql.dialects import known
from maintenance.sql.query.relations import Relation
from maintenance.sql.query.resolve import Resolved
from maintenance.table.system.audit_log import AUDIT_LOG, AuditLogView
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from maintenance.sql.session_state import SessionState

MODE = "execution.runtime-mode"
CHECKPOINTS = ("execution.checkpointing.dir", "state.checkpoints.dir", "spark.sql.streaming.checkpointLocation")
_NAME = "pipeline.name"
_KIND = "rowkind"
_TOO_MUCH = (
    exp.AggFunc,
    exp.Window,
    exp.Subquery,
    exp.Join,
    exp.Lateral,
    exp.Order,
    exp.Limit,
    exp.Group,
    exp.Distinct,
)


def checkpoint_of(settings: Mapping[str, str], table: str, query: exp.Expr) -> str | None:
    """The folder of a statement's pipeline; None = it runs in batch mode. `table`: that is written."""
    folder = next((settings[key] for key in CHECKPOINTS if settings.get(key)), None)
    if settings.get(MODE, "").lower() != "streaming" or folder is None:
        return None
    text = query.sql(comments=False)
    derived = f"{table}-{hashlib.sha256(f'{table} {text}'.encode()).hexdigest()[:16]}"
    return f"{folder.rstrip('/')}/{settings.get(_NAME) or derived}"


def run_stream(
    session: "SessionState",
    spark: "SparkSession",
    resolved: Resolved,
    table: Table,
    columns: tuple[Sequence[DataField], Mapping[str, pa.Scalar]],
    checkpoint: str,
) -> None:
    """Write what there is by now and is not written yet, and return.

    Args: `columns`: those that the query gives, in order, and those that have one value each.
    Raises: SqlError: the query does more than a stream can; errors of the batches.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions

    from maintenance.operations.ingestion.ingest_stream import ingest_stream
    from maintenance.operations.ingestion.stream_sink import Sink
    from maintenance.spark.errors import as_paimon_error
    from maintenance.sql.query.on_spark import cast_frame

    fields, fixed = columns
    relation = _only_relation(resolved)
    with_kinds = isinstance(relation.opened(), Table) and bool(_table_of(relation).schema.primary_keys)
    catalog = session.catalog_of(session.table_name(relation.path).catalog)
    stores = {key: value for key, value in catalog.options.items() if key.startswith("fs.")}
    kind = _KIND if with_kinds else None
    try:
        frame = cast_frame(_frame(spark, resolved, relation, stores, kind), fields, kind)
        for name, scalar in fixed.items():
            value = scalar.as_py()
            # Of a clock without a zone Spark would make an instant.
            is_clock = pa.types.is_timestamp(scalar.type) and scalar.type.tz is None and value is not None
            literal = functions.lit(str(value)).cast("timestamp_ntz") if is_clock else functions.lit(value)
            frame = frame.withColumn(name, literal)
        # Spark's tasks write the rows, and so they give texts their lengths.
        written = replace(table, fits_texts=session.dialect == "spark")
        sink = Sink(checkpoint, row_kind_column=kind)
        ingest_stream(spark, frame, lambda: written, sink).awaitTermination()
    except PySparkException as error:
        raise as_paimon_error(error, f"stream into {table.identifier}") from error


def _only_relation(resolved: Resolved) -> Relation:
    """The table that is followed. Raises: SqlError: there is not one, or more is asked than a stream gives."""
    tree = known(resolved.tree.copy(), is_flink=False)
    refused = tree if not isinstance(tree, exp.Select) else next(tree.find_all(*_TOO_MUCH), None)
    relations = list(resolved.relations.values())
    if refused is not None or len(relations) != 1:
        what = "more than one table" if refused is None else type(refused).__name__.upper()
        raise SqlError(
            f"a streaming INSERT chooses columns and rows of one table, and this one has {what}",
            "query",
            f"Leave it out, or SET '{MODE}' = 'batch'.",
        )
    view = relations[0].opened()
    if not isinstance(view, Table) and not (isinstance(view, AuditLogView) and view.name == AUDIT_LOG):
        raise SqlError(f"'{view.identifier}' cannot be read as a stream", "query", "Name a table, or its $audit_log.")
    return relations[0]


def _table_of(relation: Relation) -> Table:
    view = relation.opened()
    if isinstance(view, AuditLogView):
        return view.table
    assert isinstance(view, Table)
    return view


def _frame(
    spark: "SparkSession", resolved: Resolved, relation: Relation, stores: Mapping[str, str], kind: str | None
) -> "DataFrame":
    """The streaming DataFrame of the query. `stores`: options of stores; `kind`: its last column, if any."""
    from maintenance.connector import register
    from maintenance.sql.query.on_spark import frame_over

    register(spark)
    table = _table_of(relation)
    options = {**stores, **relation.options, READ_CHANGELOG.key: str(kind is not None).lower()}
    branch = "" if table.branch == "main" else f"$branch_{table.branch}"
    log = f"${AUDIT_LOG}" if isinstance(relation.opened(), AuditLogView) else ""
    tree = resolved.tree.copy()
    assert isinstance(tree, exp.Select)
    source = tree.args.get("from_") or tree.args["from"]
    outputs = [each for output in tree.expressions for each in _outputs(output, relation, source.this.alias_or_name)]
    tree.set("expressions", outputs if kind is None else [*outputs, exp.column(kind)])
    followed = spark.readStream.format("paimon").options(**options).load(table.location + branch + log)
    return frame_over(spark, tree, {relation.name: followed})


def _outputs(output: exp.Expr, relation: Relation, alias: str) -> Sequence[exp.Expr]:
    """An output, a star as the columns that it means: the stream has one more, of the kinds.

    Args: `alias`: of the table, whose star it is and not that of a row.
    """
    is_tables = isinstance(output, exp.Column) and output.table.lower() == alias.lower()
    is_star = isinstance(output, exp.Star) or (is_tables and isinstance(output.this, exp.Star))
    return [exp.column(field.name, quoted=True) for field in relation.fields()] if is_star else [output]
