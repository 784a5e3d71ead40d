"""Spark's tasks end with the caller that waits for them, and on a Spark of its own the caller waits until they have.

Spark keeps the tags of a session by thread, and an interrupt that reaches Python while it waits for the JVM loses that
thread: `SparkSession.interruptTag` finds nothing then. Tags of jobs are known to the whole context. Over Connect the
client sends its tags, so the session's own way works.

A cancelled job has ended for Spark before its tasks have: Python workers are killed some seconds later. What a task
writes until then would be missed by whoever clears up behind it.
"""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from maintenance.spark.application import is_connect
from maintenance.spark.errors import errors_of_tasks
from maintenance.spark.sail import is_sail

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE_SECONDS = 0.1
# Spark looks every two seconds for tasks to kill, and gives them two more. One that does not end is not waited for.
_LONGEST_SECONDS = 60.0
# From the call until its job is known.
_START_SECONDS = 2.0


@contextmanager
def ended_with_caller(spark: "SparkSession") -> Iterator[None]:
    """What Spark is asked for inside ends if the caller is interrupted: its tasks must not write on unseen.

    An error of this engine that a task raised is raised as itself.
    """
    jobs = _jobs_of(spark)
    jobs.begin()
    try:
        with errors_of_tasks():
            yield
    except BaseException as error:
        jobs.cancel(interrupted=not isinstance(error, Exception))
        raise
    finally:
        with suppress(Exception):  # a Spark that is lost: what happened before is what has to be reported
            jobs.end()


def _jobs_of(spark: "SparkSession") -> "_SessionJobs | _ContextJobs":
    if not is_connect(spark):
        return _ContextJobs(spark)
    return _SailJobs(spark) if is_sail(spark) else _SessionJobs(spark)


class _SessionJobs:
    """The jobs of a Connect session that are started from here on. When their tasks have ended, nobody can tell."""

    def __init__(self, spark: Any) -> None:
        self._spark, self._tag = spark, _new_tag()

    def begin(self) -> None:
        self._spark.addTag(self._tag)

    def cancel(self, *, interrupted: bool) -> None:
        """End them. Spark interrupts what it has not begun, too."""
        self._spark.interruptTag(self._tag)

    def end(self) -> None:
        self._spark.removeTag(self._tag)


class _SailJobs(_SessionJobs):
    """The same of Sail, whose tasks are threads that nobody can end but their server.

    It hears of an interrupt when they are done. A server of this process ends with the interrupted call instead.
    """

    def cancel(self, *, interrupted: bool) -> None:
        from maintenance.spark.sail_server import end_own_server

        if not (interrupted and end_own_server(self._spark)):
            super().cancel(interrupted=interrupted)


class _ContextJobs:
    """The jobs that this thread starts in a Spark of this process."""

    def __init__(self, spark: Any) -> None:
        self._context, self._tag = spark.sparkContext, _new_tag()

    def begin(self) -> None:
        self._context.addJobTag(self._tag)

    def cancel(self, *, interrupted: bool) -> None:
        """Cancel the jobs, and wait until none of their tasks is at work.

        `interrupted`: the call that starts a job may still be under way in the JVM, so the job may be yet to come.
        """
        begun = time.monotonic()
        with suppress(Exception):  # a Spark that is lost has no tasks left
            while time.monotonic() - begun < _LONGEST_SECONDS:
                self._context.cancelJobsWithTag(self._tag)
                stages = self._stages()
                is_to_come = interrupted and not stages and time.monotonic() - begun < _START_SECONDS
                if not is_to_come and not any(stage.numActiveTasks for stage in stages):
                    return
                time.sleep(_PAUSE_SECONDS)

    def _stages(self) -> list[Any]:
        """What Spark knows of the stages of these jobs, also of those that have ended."""
        tracker = self._context.statusTracker()
        numbers = self._context._jsc.sc().statusTracker().getJobIdsForTag(self._tag)
        jobs = [job for number in numbers if (job := tracker.getJobInfo(number)) is not None]
        stages = [tracker.getStageInfo(stage) for stage in {stage for job in jobs for stage in job.stageIds}]
        return [stage for stage in stages if stage is not None]

    def end(self) -> None:
        self._context.removeJobTag(self._tag)


def _new_tag() -> str:
    return f"paimon-{uuid.uuid4().hex}"
