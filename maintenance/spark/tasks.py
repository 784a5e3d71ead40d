"""Run the same function over payloads: in Spark tasks, or in this process when there is no session.

Spark carries payloads and results (plans and commit messages) as pickled bytes; the bytes of tables are read and
written inside the function. One task takes one payload. A task that fails does not fail the others: its error is
returned instead of its result, so that finished work can be committed.
"""

import atexit
import ctypes
import gc
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import pyarrow as pa

from maintenance.errors import PaimonError
from maintenance.spark.application import is_connect
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.errors import as_paimon_error, errors_marked
from maintenance.spark.sail import is_sail
from maintenance.threads import map_in_threads
from maintenance.write.renumber import Runner

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_WAVE, _WAVES_OF_SLOT = 512, 8
_TASK_PAYLOADS = 8
_TASK_BYTES = 16 << 20
# What is smaller is not divided among idle slots. Bytes tell little of the work: a file of repeated values is small.
_LEAST_BYTES = 512 << 10
_BYTES_WITH_FUNCTION = 1 << 18
_WORTH_COMPRESSING = 1 << 11
_CODEC = "zstd"
# In the place of the size, of what is not compressed.
_PLAIN = bytes(8)
# How many modules were loaded when this process last froze what is loaded.
_FROZEN = {"modules": 0}
# Of glibc: which of its settings, and bytes.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = (-1, 1 << 26), (-3, 1 << 25)


@dataclass(frozen=True, slots=True)
class TaskError:
    """A task that failed. `error`: as text if it could not travel."""

    error: Exception

    def error_at(self, where: str) -> PaimonError:
        """The error as one of this engine. `where`: the place, for an error that does not name one."""
        return as_paimon_error(self.error, where)

    def raise_at(self, where: str) -> NoReturn:
        """Raise it as one of this engine, with one of another library as its cause."""
        error = self.error_at(where)
        raise error from (None if error is self.error else self.error)


def packed(value: Any) -> bytes:
    """A value as bytes for Spark to carry, which moves many of them slowly: paths of files shrink to a fifth."""
    data = pickle.dumps(value)
    if len(data) < _WORTH_COMPRESSING:
        return _PLAIN + data
    return len(data).to_bytes(8, "little") + bytes(pa.compress(data, codec=_CODEC, asbytes=True))


def unpacked(data: bytes) -> Any:
    """The value of `packed` bytes."""
    if data.startswith(_PLAIN):
        return pickle.loads(memoryview(data)[len(_PLAIN) :])
    size = int.from_bytes(data[:8], "little")
    return pickle.loads(pa.decompress(memoryview(data)[8:], decompressed_size=size, codec=_CODEC))


@dataclass(frozen=True, slots=True)
class _Indexed(Generic[R]):
    index: int
    outcome: "R | TaskError"


def run_tasks(
    spark: "SparkSession | None",
    function: Callable[[P], R],
    payloads: Sequence[P],
    *,
    sizes: Sequence[int] | None = None,
    on_done: Callable[[int], None] | None = None,
) -> "list[R | TaskError]":
    """Outcomes in the order of the payloads.

    Args: `function`: importable, gets one payload; `sizes`: bytes that each payload has to do with, where small ones
        may share a task; `on_done`: called with the number of payloads that were done since the last call.
    """
    outcomes: list[R | TaskError] = []
    weights = sizes or [_TASK_BYTES] * len(payloads)
    # A Connect server is asked for them: only where they matter.
    among = slots(spark) if len(payloads) > (1 if sizes else _WAVE) else 1
    step = wave_of(among)
    for start in range(0, len(payloads), step):
        wave = payloads[start : start + step]
        shares = _shares(weights[start : start + step], among)
        done = _in_process(function, wave) if spark is None else _on_spark(spark, function, wave, shares)
        outcomes.extend(done)
        if on_done is not None:
            on_done(len(wave))
    return outcomes


def wave_of(slots: int) -> int:
    """How many payloads are handed out at once, where so many tasks run at a time: the last ones leave slots free."""
    return max(_WAVE, _WAVES_OF_SLOT * slots)


def slots(spark: "SparkSession | None") -> int:
    """How many tasks run at a time, as far as it can be known; at least 1. `spark`: None = threads of this process.

    A Connect server tells its settings alone.
    """
    if spark is None or is_sail(spark):
        return os.cpu_count() or 1
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    local = re.fullmatch(r"local\[(\d+|\*)(,.*)?\]", spark.conf.get("spark.master", None) or "local")
    if local is not None:
        return (os.cpu_count() or 1) if local[1] == "*" else int(local[1])
    names = ("spark.cores.max", "spark.default.parallelism", "spark.executor.instances", "spark.executor.cores")
    most, default, executors, cores = (int(spark.conf.get(name, None) or 0) for name in names)
    return most or default or executors * cores or 1


def runner(spark: "SparkSession") -> Runner:
    """Runs a function in tasks; the error of a task replaces its result."""

    def run(function: Callable[[P], R], payloads: Sequence[P]) -> "list[R | Exception]":
        done = run_tasks(spark, function, payloads)
        return [outcome.error if isinstance(outcome, TaskError) else outcome for outcome in done]

    return run


def _shares(sizes: Sequence[int], among: int) -> list[range]:
    """Which payloads share a task: neighbours, as long as they are few and small, and all slots have work.

    `among`: how many slots there are.
    """
    most = min(_TASK_BYTES, max(_LEAST_BYTES, -(-sum(sizes) // among)))
    shares: list[range] = []
    start = size = 0
    for number, payload_size in enumerate(sizes):
        if number > start and (number - start >= _TASK_PAYLOADS or size + payload_size > most):
            shares.append(range(start, number))
            start, size = number, 0
        size += payload_size
    return [*shares, range(start, len(sizes))] if sizes else []


def _in_process(function: Callable[[P], R], payloads: Sequence[P]) -> "list[R | TaskError]":
    def guarded(payload: P) -> "R | TaskError":
        return _guarded(function, payload)

    return map_in_threads(guarded, payloads, os.cpu_count() or 1)


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
        return as_paimon_error(error, "a task")


def _on_spark(
    spark: "SparkSession", function: Callable[[P], R], payloads: Sequence[P], shares: Sequence[range]
) -> "list[R | TaskError]":
    frame, payloads_of = payload_frame(spark, [packed([(i, payloads[i]) for i in share]) for share in shares])

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        enter_task()
        for batch in batches:
            for _, share in payloads_of(batch):
                for index, payload in unpacked(share):
                    data = packed(_Indexed(index, _guarded(function, payload)))
                    yield pa.RecordBatch.from_arrays([pa.array([data], pa.binary())], names=["outcome"])

    with ended_with_caller(spark):
        indexed = [unpacked(bytes(row[0])) for row in frame.mapInArrow(run, "outcome binary").collect()]
    return [item.outcome for item in sorted(indexed, key=lambda item: item.index)]


def in_task(function: Callable[..., Iterator[T]]) -> Callable[..., Iterator[T]]:
    """Decorates the generator that a Spark task runs: it settles first, and its errors are known on the driver."""

    @wraps(function)
    def run(*arguments: Any) -> Iterator[T]:
        enter_task()
        with errors_marked():
            yield from function(*arguments)

    return run


def enter_task() -> None:
    """Settle in a Python worker of Spark. Each task calls it first.

    Arrow keeps to one thread, for Spark runs as many tasks as there are cores. What is loaded is left out of the
    garbage collection that Spark runs after each task: going through all modules takes longer than many a task.
    """
    pa.set_cpu_count(1)
    if len(sys.modules) > _FROZEN["modules"]:
        if not _FROZEN["modules"]:
            _keep_freed_memory()
            atexit.register(gc.unfreeze)  # else DuckDB tells of its types, which nobody could clear, as leaks
        _FROZEN["modules"] = len(sys.modules)
        gc.collect()
        gc.freeze()


def _keep_freed_memory() -> None:
    """Let glibc keep up to 64 MiB that are freed, which it does by itself once it has freed 32 MiB in one piece.

    Arrays of a few MiB that come and go are given back to the system each time else, and to get their pages again takes
    longer than what is done with them.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another library, which has no such options
        return
    for option, value in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        set_option(option, value)


def payload_frame(
    spark: "SparkSession", payloads: Sequence[bytes]
) -> "tuple[DataFrame, Callable[[pa.RecordBatch], Iterator[tuple[int, bytes]]]]":
    """A task for each payload: a DataFrame, and what gives the payloads of its batches with their numbers.

    Few bytes travel with the function, which every task gets; of many each task gets its own.
    """
    count = len(payloads)
    if sum(map(len, payloads)) <= _BYTES_WITH_FUNCTION:

        def carried(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
            for index in batch.column(0).to_pylist():
                yield index, payloads[index]

        # A range has exactly one row in each of its partitions.
        return spark.range(0, count, 1, count), carried

    def sent(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
        yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    numbers = pa.array(range(count), pa.int32())
    frame = spark.createDataFrame(pa.table({"id": numbers, "payload": pa.array(payloads, pa.binary())}))
    # Before Spark 4.1 and on Sail a task may get none, and another one two.
    by_number = hasattr(frame, "repartitionById") and not is_sail(spark)
    return (frame.repartitionById(count, "id") if by_number else frame.repartition(count)), sent


def all_done(outcomes: "Sequence[R | TaskError]", where: str) -> list[R]:
    """Results of tasks. Raises: PaimonError of the first that failed; one of another library names `where`."""
    results: list[R] = []
    for outcome in outcomes:
        if isinstance(outcome, TaskError):
            outcome.raise_at(where)
        results.append(outcome)
    return results
