"""What is otherwise where a session is one of a Sail server: which it is, and what it does not do there."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from maintenance.errors import OptionError, PredicateError, UnsupportedError
from maintenance.spark.application import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The settings that it honours. It takes all others, and nothing follows from them. Source: its `config.rs`.
_HONOURED = frozenset(
    {
        "spark.sql.ansi.enabled",
        "spark.sql.caseSensitive",
        "spark.sql.crossJoin.enabled",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.execution.arrow.useLargeVarTypes",
        "spark.sql.mapKeyDedupPolicy",
        "spark.sql.pivotMaxValues",
        "spark.sql.session.timeZone",
        "spark.sql.storeAssignmentPolicy",
        "spark.sql.timestampType",
        "spark.sql.warehouse.dir",
    }
)
# What only says how a JVM, a cluster or a UI is used: there is none, and nothing that a task does depends on it.
_MEANINGLESS = (
    "spark.app.", "spark.cleaner.", "spark.cores.", "spark.default.parallelism", "spark.driver.",
    "spark.dynamicAllocation.", "spark.eventLog.", "spark.executor.", "spark.io.", "spark.kryo", "spark.local.dir",
    "spark.locality.", "spark.log.", "spark.memory.", "spark.network.", "spark.paimon-maintenance.",
    "spark.port.", "spark.python.", "spark.rdd.", "spark.reducer.", "spark.rpc.", "spark.scheduler.",
    "spark.serializer", "spark.shuffle.", "spark.speculation", "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold", "spark.sql.broadcastTimeout", "spark.sql.cbo.", "spark.sql.codegen.",
    "spark.sql.execution.arrow.", "spark.sql.files.", "spark.sql.join.", "spark.sql.shuffle.partitions",
    "spark.sql.statistics.", "spark.sql.timeType.", "spark.task.", "spark.ui.",
)  # fmt: skip
_KNOWN: "WeakKeyDictionary[Any, bool]" = WeakKeyDictionary()


def is_sail(session: Any) -> bool:
    """Whether a session is one of a Sail server: of Connect, and of no application, which every Spark names."""
    if session is None or not is_connect(session):
        return False
    if session not in _KNOWN:
        _KNOWN[session] = session.conf.get("spark.app.id", None) is None
    return _KNOWN[session]


def check_settings(settings: Mapping[str, str], where: str) -> None:
    """Raises: OptionError: one of them would change what Spark does, and Sail does not honour it."""
    for key, value in settings.items():
        if key.startswith("spark.") and key not in _HONOURED and not key.startswith(_MEANINGLESS):
            raise OptionError(
                f"Sail does not honour '{key}' = '{value}'", where, "Leave it out, or use another engine."
            )


def meaningless(settings: Mapping[str, str]) -> list[str]:
    """The settings that nothing follows from on Sail, sorted."""
    return sorted(key for key in settings if key not in _HONOURED and key.startswith(_MEANINGLESS))


def evaluator_of(session: "SparkSession | None") -> "SparkSession | None":
    """What computes values that are written: the session, but of Sail, whose values are its own, this process."""
    return None if is_sail(session) else session


def refuse_streams(session: Any, where: str) -> None:
    """Raises: UnsupportedError: the session is one of Sail."""
    if is_sail(session):
        raise streams_refused(where)


def streams_refused(where: str) -> UnsupportedError:
    return UnsupportedError(
        "a stream on Sail, which does not run Python's part of Structured Streaming",
        where,
        "Use the engine 'spark', or read and write batch by batch.",
    )


@contextmanager
def evaluated(session: "SparkSession | None") -> Iterator["SparkSession | None"]:
    """What computes the values of an operation: the session, but of Sail this process.

    Raises: PredicateError: of Sail, for what this process does not know; it says so.
    """
    try:
        yield evaluator_of(session)
    except PredicateError as error:
        if not is_sail(session):
            raise
        fix = f"{error.fix} On Sail this process evaluates what is written: use SQL, or the engine 'spark'."
        raise type(error)(error.found, error.where, fix) from error
