"""One Spark session for all tests here, of each kind: in this process, of a Connect server, and of Sail."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from maintenance.spark.application import is_connect
from maintenance.spark.connect_server import connect_server
from maintenance.spark.opened import close_session, is_stopped
from maintenance.spark.sail import is_sail
from maintenance.spark.sail_server import sail_server
from maintenance.spark.session import get_session
from tests.cases import wants_all

# Queries here are small: to compile one takes longer than to run it.
_SETTINGS = {"spark.sql.shuffle.partitions": "3", "spark.sql.codegen.wholeStage": "false"}
_STARTED: list[SparkSession] = []
# How Spark marks a process all of whose sessions are of a server.
_CONNECT_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"
# What asks Spark for the most different things; the other files are run on the others by `make test-nightly`.
_ALWAYS_ON = {"connect": ("test_sessions", "test_sql"), "sail": ("test_sessions",)}
# Sail has values of its own, which are compared in test_sail, writes none of them, and has no streams.
_NOT_ON_SAIL = (
    "test_functions", "test_row_changes", "test_sql", "test_streams", "test_stream_writer", "test_tpch",
)  # fmt: skip


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that takes a session takes one of each kind."""
    if "spark" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        # A stream starts many processes.
        is_stream = "stream" in metafunc.function.__name__
        marked = metafunc.definition.get_closest_marker("not_on_sail")
        more = [
            kind
            for kind, modules in _ALWAYS_ON.items()
            if wants_all() or (module in modules and not is_stream)
            if kind != "sail" or not (is_stream or module in _NOT_ON_SAIL or marked)
        ]
        metafunc.parametrize("spark", ["classic", *more], indirect=True, scope="module")


@pytest.fixture(scope="session")
def connect_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server of this test run."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with connect_server(_SETTINGS, log=log, master="local[2]") as server:
        yield server.remote
        _say_goodbye()


@pytest.fixture(scope="session")
def sail_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Sail server of this test run."""
    with sail_server(log=tmp_path_factory.mktemp("sail") / "server.log") as server:
        yield server.remote
        _say_goodbye()


def _say_goodbye() -> None:
    """Behind the server's end a session would try to do it for a long time."""
    if _STARTED and is_connect(_STARTED[-1]):
        _STARTED.pop().stop()


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session of the kind that is asked for: the one of the module before, if it has not been stopped since."""
    kind: str = getattr(request, "param", "classic")
    remote = request.getfixturevalue(f"{kind}_remote") if kind != "classic" else None
    if not (_STARTED and _kind(_STARTED[-1]) == kind and _lives(_STARTED[-1])):
        without_sessions()
        if remote is not None:
            _STARTED.append(get_session(remote=remote, config=_SETTINGS))
        else:
            _STARTED.append(get_session(master="local[2]", config=_SETTINGS))
    elif remote is not None:
        os.environ[_CONNECT_VARIABLE] = "1"
    yield _STARTED[-1]
    # Tests elsewhere in this process start sessions of their own.
    os.environ.pop(_CONNECT_VARIABLE, None)


@pytest.fixture
def no_session() -> Iterator[None]:
    """For tests that open a session by themselves: there is none before, and none after."""
    without_sessions()
    yield
    close_session()


def without_sessions() -> None:
    """Stop what runs: a process has sessions of one kind at a time."""
    close_session()
    for session in (*_STARTED[-1:], SparkSession.getActiveSession()):
        if session is not None and _lives(session):
            session.stop()
    os.environ.pop(_CONNECT_VARIABLE, None)


def _kind(session: SparkSession) -> str:
    if not is_connect(session):
        return "classic"
    return "sail" if is_sail(session) else "connect"


def _lives(session: Any) -> bool:
    return not is_stopped(session)
