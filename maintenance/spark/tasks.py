"""Run the same function over payloads: in Spark tasks, or in this process when there is no session.

Spark carries payloads and results (plans and commit messages) as pickled bytes; the bytes of tables are read and
written inside the function. One task takes one payload. A task that fails does not fail the others: its error comes
back in the place of its result, so that finished work can be committed.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from maintenance.errors import PaimonError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

P = TypeVar("P")
R = TypeVar("R")

_WAVE = 512


@dataclass(frozen=True, slots=True)
class TaskError:
    """A task that failed. `error`: as text if it could not travel."""

    error: Exception


@dataclass(frozen=True, slots=True)
class _Indexed(Generic[R]):
    index: int
    outcome: "R | TaskError"


def run_tasks(
    spark: "SparkSession | None",
    function: Callable[[P], R],
    payloads: Sequence[P],
    *,
    on_done: Callable[[int], None] | None = None,
) -> "list[R | TaskError]":
    """Outcomes in the order of the payloads.

    Args: `function`: importable, gets one payload; `on_done`: told how many more payloads are done.
    """
    outcomes: list[R | TaskError] = []
    for start in range(0, len(payloads), _WAVE):
        wave = payloads[start : start + _WAVE]
        done = _in_process(function, wave) if spark is None else _on_spark(spark, function, wave)
        outcomes.extend(done)
        if on_done is not None:
            on_done(len(wave))
    return outcomes


def _in_process(function: Callable[[P], R], payloads: Sequence[P]) -> "list[R | TaskError]":
    def guarded(payload: P) -> "R | TaskError":
        return _guarded(function, payload)

    with ThreadPoolExecutor(min(len(payloads), os.cpu_count() or 1)) as pool:
        return list(pool.map(guarded, payloads))


def _guarded(function: Callable[[P], R], payload: P) -> "R | TaskError":
    try:
        return function(payload)
    except Exception as error:  # noqa: BLE001 - the edge of a task: the caller decides what an error means
        return TaskError(portable(error))


def portable(error: Exception) -> Exception:
    """The error if it survives pickling, else one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:  # noqa: BLE001 - whatever an exception does when it is pickled
        return PaimonError(f"{type(error).__name__}: {error}", "a task", "See the log of the task.")


def _on_spark(spark: "SparkSession", function: Callable[[P], R], payloads: Sequence[P]) -> "list[R | TaskError]":
    pickled = [pickle.dumps(payload) for payload in payloads]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark runs as many tasks as there are cores: each must stay on its own.
        pa.set_cpu_count(1)
        for batch in batches:
            for index in batch.column(0).to_pylist():
                outcome = _guarded(function, pickle.loads(pickled[index]))
                data = pickle.dumps(_Indexed(index, outcome))
                yield pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], names=["outcome"])

    # A range has exactly one row in each of its partitions, so each payload gets a task.
    frame = spark.range(0, len(payloads), 1, len(payloads)).mapInArrow(run, "outcome binary")
    indexed = [pickle.loads(bytes(row[0])) for row in frame.collect()]
    return [item.outcome for item in sorted(indexed, key=lambda item: item.index)]


def all_done(outcomes: "Sequence[R | TaskError]", where: str) -> list[R]:
    """Results of tasks. Raises: the error of the first that failed; one of another library names `where`."""
    found: list[R] = []
    for outcome in outcomes:
        if isinstance(outcome, TaskError):
            if isinstance(outcome.error, PaimonError):
                raise outcome.error
            raise PaimonError(f"a task failed: {outcome.error}", where, "See the log of the task.") from outcome.error
        found.append(outcome)
    return found
