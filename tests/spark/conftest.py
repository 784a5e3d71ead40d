"""One Spark session for all tests of a process, of each kind: in this process, of a Connect server, and of Sail."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from maintenance.spark.connect_server import connect_server
from maintenance.spark.lost import stop_session
from maintenance.spark.opened import close_session, is_stopped
from maintenance.spark.sail_server import sail_server
from maintenance.spark.session import get_session
from tests.cases import wants_all

# Queries here are small: to compile one takes longer than to run it.
_SETTINGS = {"spark.sql.shuffle.partitions": "3", "spark.sql.codegen.wholeStage": "false"}
_CLASSIC, _CONNECT, _SAIL = "classic", "connect", "sail"
# The session of this process, and one of a server beside it.
_STARTED: dict[str, SparkSession] = {}
# How Spark marks a process whose functions are those of a server's sessions.
_CONNECT_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"
# What takes long, as a stream does, which starts many processes of Python. It is run on Connect by `make test-slow`.
_LONG_ON_CONNECT = (
    "test_commit_order", "test_documented_examples", "test_documents_on_engines", "test_expressions", "test_functions",
    "test_generated_expressions", "test_stream_writer",
    "test_streams", "test_tpch", "test_untouched_columns",
)  # fmt: skip
# What asks Spark for the most different things; the other files are run on Sail by `make test-nightly`.
_ALWAYS_ON_SAIL = ("test_sessions", "test_operations", "test_documents_on_engines")
# An interrupt reaches the call of a session of this process that has begun after all of servers.
_ALONE = ("test_tasks",)
# Sail has values of its own, which are compared in test_sail, writes none of them, and has no streams.
_NOT_ON_SAIL = (
    "test_documented_examples", "test_expressions", "test_functions", "test_generated_expressions", "test_row_changes",
    "test_sql", "test_streams",
    "test_stream_writer", "test_tpch", "test_untouched_columns",
)  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that takes a session takes one of each kind."""
    if "spark" in metafunc.fixturenames:
        file = metafunc.module.__name__.rpartition(".")[2]
        is_stream = "stream" in metafunc.function.__name__
        is_long = is_stream or file in _LONG_ON_CONNECT
        kinds: list[Any] = [_CLASSIC, pytest.param(_CONNECT, marks=pytest.mark.slow) if is_long else _CONNECT]
        marked = metafunc.definition.get_closest_marker("not_on_sail")
        if not (is_stream or file in _NOT_ON_SAIL or marked) and (wants_all() or file in _ALWAYS_ON_SAIL):
            kinds.append(_SAIL)
        metafunc.parametrize("spark", kinds, indirect=True, scope="module")


@pytest.fixture(scope="session")
def connect_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server of this test run."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with connect_server(_SETTINGS, log=log, master="local[2]") as server:
        yield server.remote
        # Behind the server's end a session would try to say goodbye for a long time.
        _stop(_CONNECT)


@pytest.fixture(scope="session")
def sail_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Sail server of this test run."""
    with sail_server(log=tmp_path_factory.mktemp("sail") / "server.log") as server:
        yield server.remote
        _stop(_SAIL)


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session of the kind that is asked for: the one of the modules before, if it has not been stopped since."""
    kind: str = getattr(request, "param", _CLASSIC)
    remote = request.getfixturevalue(f"{kind}_remote") if kind != _CLASSIC else None
    if request.module.__name__.rpartition(".")[2] in _ALONE:
        without_sessions()
    if kind not in _STARTED or is_stopped(_STARTED[kind]):
        os.environ.pop(_CONNECT_VARIABLE, None)
        if remote is None:
            close_session()
            _STARTED[kind] = get_session(master="local[2]", config=_SETTINGS)
        else:
            # Of servers PySpark knows one at a time.
            _stop(_SAIL if kind == _CONNECT else _CONNECT)
            with _classic_hidden():
                _STARTED[kind] = get_session(remote=remote, config=_SETTINGS)
    if remote is not None:
        os.environ[_CONNECT_VARIABLE] = "1"
    yield _STARTED[kind]
    # Tests elsewhere in this process start sessions of their own.
    os.environ.pop(_CONNECT_VARIABLE, None)


@contextmanager
def _classic_hidden() -> Iterator[None]:
    """PySpark starts no session of a server beside one of this process, though they do not disturb each other."""
    context, session = SparkContext._active_spark_context, SparkSession._instantiatedSession
    SparkContext._active_spark_context = SparkSession._instantiatedSession = None
    try:
        yield
    finally:
        SparkContext._active_spark_context, SparkSession._instantiatedSession = context, session


@pytest.fixture
def no_session() -> Iterator[None]:
    """For tests that open a session by themselves: there is none before, and none after."""
    without_sessions()
    yield
    close_session()


def without_sessions() -> None:
    """Stop what runs."""
    close_session()
    for kind in [*_STARTED]:
        _stop(kind)
    session = SparkSession.getActiveSession()
    if session is not None and not is_stopped(session):
        stop_session(session)
    os.environ.pop(_CONNECT_VARIABLE, None)


def _stop(kind: str) -> None:
    session = _STARTED.pop(kind, None)
    if session is not None and not is_stopped(session):
        stop_session(session)
