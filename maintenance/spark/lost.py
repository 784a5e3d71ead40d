"""Detect that Spark ended during a session: killed by the system, out of memory, or a lost Connect server.

PySpark keeps what it knew of the process that is gone, and every call fails from then on. `forget` clears it, so that
the next session starts a new Spark.
"""

from contextlib import suppress
from typing import Any

from maintenance.spark.application import is_connect
from maintenance.spark.server_process import listens

# How often a call is tried again while a Connect server does not answer, and the longest pause in milliseconds: for
# about a minute. With Spark's own defaults every call waits for ten.
_CALLS, _LONGEST_PAUSE = 8, 15_000


def is_lost(session: Any) -> bool:
    """Whether the process of a session's Spark has ended. One that another process started is not known."""
    if is_connect(session):
        return False
    process = getattr(session.sparkContext._gateway, "proc", None)
    return process is not None and process.poll() is not None


def forget(session: Any) -> None:
    """Clear what PySpark keeps of a Spark that is lost."""
    with suppress(Exception):  # it tells its Spark to stop, which is gone
        stop_session(session)
    if is_connect(session):
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def wait_a_minute(session: Any) -> None:
    """Let calls of a Connect session wait a minute, not ten, for a server that does not answer."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=_CALLS, max_backoff=_LONGEST_PAUSE)])


def expect_nothing(session: Any) -> None:
    """Let calls of a Connect session fail at once, also those under way: its server is about to end."""
    for policy in session.client.get_retry_policies():
        policy.max_retries = 0


def stop_session(session: Any) -> None:
    """Stop a session. A Connect server that is gone is not told: the call would be tried again for a minute."""
    if is_connect(session) and not listens(f"sc://{session.client._builder.endpoint}"):
        expect_nothing(session)
    session.stop()
