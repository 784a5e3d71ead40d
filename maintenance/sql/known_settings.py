"""Which settings a session takes: those that it honours, and those that only say how much another engine uses.

A setting that would change what statements mean or give is honoured, or refused by its name; so is one that nobody
knows. Settings of Spark go to the Spark session, if there is one. Source: the configuration pages of Flink and Spark.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from maintenance.errors import SqlError
from maintenance.spelling import suggestion
from maintenance.sql.settings import OF_STATEMENTS, check_option, is_of_tables
from maintenance.sql.zones import SETTINGS, named_zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FLINK_ZONE, _SPARK_ZONE = SETTINGS["flink"], SETTINGS["spark"]
# Honoured, with the values that they may have; none: others look at the value.
_HONOURED: Mapping[str, tuple[str, ...]] = {
    "execution.runtime-mode": ("batch", "streaming"),
    "execution.checkpointing.dir": (),
    "state.checkpoints.dir": (),
    "spark.sql.streaming.checkpointLocation": (),
    "pipeline.name": (),
    "materialized-table.refresh-mode.freshness-threshold": (),
    "spark.sql.sources.partitionOverwriteMode": ("static", "dynamic"),
    "spark.sql.ansi.enabled": ("true",),
    "spark.sql.storeAssignmentPolicy": ("ansi",),
    "spark.sql.caseSensitive": ("false",),
    "spark.sql.timestampType": ("timestamp_ltz",),
    "table.sql-dialect": ("default",),
    "table.exec.legacy-cast-behaviour": ("disabled",),
    "table.exec.sink.not-null-enforcer": ("error",),
    "table.exec.sink.type-length-enforcer": ("error",),
    **dict.fromkeys(OF_STATEMENTS, ("true", "false")),
}
# How much of a cluster is used, how results are drawn, and what only streams of Flink have: nothing here depends on it.
_HARMLESS = (
    "client.", "cluster.", "execution.attached", "execution.batch.", "execution.buffer", "execution.checkpointing.",
    "execution.savepoint.", "execution.shutdown", "execution.target", "high-availability", "jobmanager.", "kubernetes.",
    "metrics.", "parallelism.default", "pipeline.", "rest.", "restart-strategy", "scheduler.", "sql-client.", "state.",
    "table.dml-", "table.exec.async-", "table.exec.disabled-operators", "table.exec.mini-batch.",
    "table.exec.operator-fusion", "table.exec.resource.", "table.exec.sink.upsert-materialize", "table.exec.sort.",
    "table.exec.source.idle-timeout", "table.exec.spill-", "table.exec.state.", "table.optimizer.", "taskmanager.",
    "web.", "yarn.",
    "spark.cores.", "spark.default.parallelism", "spark.driver.", "spark.dynamicAllocation.", "spark.executor.",
    "spark.io.", "spark.kryo", "spark.locality.", "spark.memory.", "spark.network.", "spark.reducer.", "spark.rpc.",
    "spark.scheduler.", "spark.serializer", "spark.shuffle.", "spark.speculation", "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold", "spark.sql.broadcastTimeout", "spark.sql.cbo.",
    "spark.sql.execution.arrow.", "spark.sql.files.", "spark.sql.join.", "spark.sql.shuffle.partitions",
    "spark.sql.statistics.", "spark.task.", "spark.ui.",
)  # fmt: skip


def check_setting(key: str, value: str, dialect: str, spark: "SparkSession | None") -> None:
    """Raises: SqlError: the setting is not known, or this value of it is not honoured; as `check_option`."""
    if key in SETTINGS.values():
        named_zone(value, key)
    elif is_of_tables(key, dialect):
        check_option(key, value)
    elif key in _HONOURED:
        if _HONOURED[key] and value.lower() not in _HONOURED[key] and not _is_of_spark(key, spark):
            raise SqlError(
                f"'{key}' = '{value}' is not honoured", "settings", f"Leave it at '{' or '.join(_HONOURED[key])}'."
            )
    elif not key.startswith(_HARMLESS) and not _is_of_spark(key, spark):
        near = suggestion(key, [*SETTINGS.values(), *_HONOURED])
        raise SqlError(
            f"'{key}' is not a setting that this engine honours", "settings", f"Leave the setting out.{near}"
        )


def hand_to_spark(key: str, value: str | None, spark: "SparkSession | None") -> None:
    """Set what Spark honours in the Spark session; None: as it was. Raises: SqlError: Spark does not take it."""
    name = _SPARK_ZONE if key == _FLINK_ZONE else key
    if spark is None or is_of_tables(name, "spark") or not _is_of_spark(name, spark):
        return
    from pyspark.errors import PySparkException

    try:
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
    except PySparkException as error:
        raise SqlError(str(error).splitlines()[0], f"setting '{key}'", "") from error


def _is_of_spark(key: str, spark: "SparkSession | None") -> bool:
    """Whether the Spark session honours a setting, and lets it change."""
    return spark is not None and key.startswith("spark.") and bool(spark.conf.isModifiable(key))
