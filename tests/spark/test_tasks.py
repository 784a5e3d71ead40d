"""The same function over payloads, in Spark's tasks and in this process."""

import os
import pickle
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from maintenance.errors import DataError, PaimonError
from maintenance.spark.tasks import TaskError, packed, portable, run_tasks, unpacked


class StubbornError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


def work(payload: int) -> tuple[int, int]:
    """Twice the payload, and the process that did it."""
    if payload == 3:
        raise DataError("three", "a payload", "Take another one.")
    if payload == 4:
        raise StubbornError("a", "b")
    return 2 * payload, os.getpid()


@pytest.fixture(params=["spark", "here"])
def session(request: pytest.FixtureRequest) -> SparkSession | None:
    return request.getfixturevalue("spark") if request.param == "spark" else None


@pytest.mark.slow
def test_outcomes_in_the_order_of_the_payloads(session: SparkSession | None) -> None:
    outcomes = run_tasks(session, work, [7, 5, 9, 7])
    assert [o[0] for o in outcomes if not isinstance(o, TaskError)] == [14, 10, 18, 14]
    processes = {o[1] for o in outcomes if not isinstance(o, TaskError)}
    assert (os.getpid() in processes) == (session is None)


def test_one_error_does_not_stop_the_others(session: SparkSession | None) -> None:
    first, second, third = run_tasks(session, work, [1, 3, 2])
    assert not isinstance(first, TaskError)
    assert not isinstance(third, TaskError)
    assert isinstance(second, TaskError)
    assert isinstance(second.error, DataError)
    assert (second.error.found, second.error.where) == ("three", "a payload")


def test_an_error_that_cannot_travel_says_the_same(session: SparkSession | None) -> None:
    (outcome,) = run_tasks(session, work, [4])
    assert isinstance(outcome, TaskError)
    assert "StubbornError: a" in str(outcome.error)


def measured(payload: bytes) -> tuple[int, int]:
    """First byte and size."""
    return payload[0], len(payload)


@pytest.mark.slow
def test_large_payloads_are_sent_one_by_one(spark: SparkSession) -> None:
    payloads = [bytes([number]) * 150_000 for number in range(7)]
    assert run_tasks(spark, measured, payloads) == [(number, 150_000) for number in range(7)]


def place(payload: int) -> tuple[int, int]:
    """The payload, and the Spark partition that took it."""
    context = TaskContext.get()
    assert context is not None
    if payload == 3:
        raise DataError("three", "a payload", "Take another one.")
    return payload, context.partitionId()


@pytest.mark.not_on_sail("its tasks have no numbers")
def test_small_payloads_share_a_task_and_large_ones_do_not(spark: SparkSession) -> None:
    small, large = 1 << 10, 1 << 30
    sizes = [small] * 9 + [large, small, large] + [small] * 3
    outcomes = run_tasks(spark, place, range(15), sizes=sizes)
    assert [number for number, outcome in enumerate(outcomes) if isinstance(outcome, TaskError)] == [3]
    taken = [outcome for outcome in outcomes if not isinstance(outcome, TaskError)]
    assert [payload for payload, _ in taken] == [number for number in range(15) if number != 3]
    shares: dict[int, list[int]] = {}
    for payload, partition in taken:
        shares.setdefault(partition, []).append(payload)
    assert sorted(shares.values()) == [[0, 1, 2, 4, 5, 6, 7], [8], [9], [10], [11], [12, 13, 14]]


@pytest.mark.not_on_sail("its tasks have no numbers")
def test_payloads_share_a_task_as_long_as_all_slots_have_work(spark: SparkSession) -> None:
    for size, tasks in ((1000, 1), (1 << 20, 2)):
        outcomes = run_tasks(spark, place, range(4, 8), sizes=[size] * 4)
        assert len({outcome[1] for outcome in outcomes if not isinstance(outcome, TaskError)}) == tasks


def test_without_payloads_there_are_no_outcomes(session: SparkSession | None) -> None:
    assert run_tasks(session, work, []) == []


def test_progress_is_reported_after_each_wave() -> None:
    reported: list[int] = []
    assert len(run_tasks(None, work, [1] * 1100, on_done=reported.append)) == 1100
    assert reported == [512, 512, 76]


def test_errors_that_travel_stay_themselves() -> None:
    error = DataError("a", "b", "c")
    assert portable(error) is error
    assert isinstance(portable(StubbornError("a", "b")), PaimonError)


def write_without_end(folder: str) -> None:
    """Note which process it is, then work on."""
    (Path(folder) / str(os.getpid())).touch()
    while True:
        time.sleep(0.01)


@pytest.mark.not_on_sail("its tasks are threads: see test_sail")
def test_no_task_is_at_work_once_its_caller_was_interrupted(spark: SparkSession, tmp_path: Path) -> None:
    def interrupt_when_both_are_at_work() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt_when_both_are_at_work)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(spark, write_without_end, [str(tmp_path)] * 2)
    thread.join()
    workers = [path.name for path in tmp_path.iterdir()]
    assert len(workers) == 2
    until = time.monotonic() + 120  # Spark has told them to end; without that they go on for good
    while any((Path("/proc") / worker).exists() for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.01)
    (outcome,) = run_tasks(spark, work, [7])
    assert not isinstance(outcome, TaskError), "the session is as good as before"
    assert outcome[0] == 14


def test_the_end_of_a_worker_tells_of_no_leaks() -> None:
    lines = (
        "import duckdb; from maintenance.spark.tasks import enter_task; types = [duckdb.sqltypes.BIGINT]; enter_task()"
    )
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert run.stderr == ""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another library for memory")
def test_arrays_that_come_and_go_in_a_task_get_no_new_pages() -> None:
    lines = """
import resource
import numpy as np
from maintenance.spark.tasks import enter_task

def come_and_go():
    for _ in range(20):
        arrays = [np.ones(1 << 19) for _ in range(4)]
        del arrays

enter_task()
come_and_go()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
come_and_go()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 4096, "pages of a single array"


def test_large_payloads_and_results_shrink_on_their_way() -> None:
    paths = [f"/lake/db.db/t/bucket-0/data-{number}-0.parquet" for number in range(20_000)]
    assert unpacked(packed(paths)) == paths
    assert len(packed(paths)) < len(pickle.dumps(paths)) / 4
    # Of a share of a hundred, too: many such travel with the function, without a shuffle.
    assert len(packed(paths[:100])) < len(pickle.dumps(paths[:100])) / 4
    assert unpacked(packed([])) == []
