"""One Spark session for all tests here, of each kind: in this process, and of a Connect server."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from maintenance.spark.application import is_connect
from maintenance.spark.connect_server import connect_server
from maintenance.spark.session import get_session
from tests.cases import wants_all

# Queries here are small: to compile one takes longer than to run it.
_SETTINGS = {"spark.sql.shuffle.partitions": "3", "spark.sql.codegen.wholeStage": "false"}
_STARTED: list[SparkSession] = []
# How Spark marks a process all of whose sessions are of a server.
_CONNECT_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"
# What asks Spark for the most different things; the other files are run on Connect by `make test-nightly`.
_ALWAYS_ON_BOTH = ("test_sessions", "test_sql")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test that takes a session takes one of each kind."""
    if "spark" in metafunc.fixturenames:
        # A stream starts many processes.
        is_stream = "stream" in metafunc.function.__name__
        always = metafunc.module.__name__.rpartition(".")[2] in _ALWAYS_ON_BOTH and not is_stream
        kinds = ["classic", "connect"] if always or wants_all() else ["classic"]
        metafunc.parametrize("spark", kinds, indirect=True, scope="module")


@pytest.fixture(scope="session")
def connect_remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server of this test run."""
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with connect_server(_SETTINGS, log=log, master="local[2]") as server:
        yield server.remote
        # Behind the server's end it would try to say goodbye for a long time.
        if _STARTED and is_connect(_STARTED[-1]):
            _STARTED.pop().stop()


@pytest.fixture(scope="module")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session of the kind that is asked for: the one of the module before, if it has not been stopped since."""
    kind: str = getattr(request, "param", "classic")
    remote = request.getfixturevalue("connect_remote") if kind == "connect" else None
    if not (_STARTED and is_connect(_STARTED[-1]) == (remote is not None) and _lives(_STARTED[-1])):
        # A process has sessions of one kind at a time.
        for session in (*_STARTED[-1:], SparkSession.getActiveSession()):
            if session is not None:
                session.stop()
        os.environ.pop(_CONNECT_VARIABLE, None)
        if remote is not None:
            _STARTED.append(get_session(remote=remote, config=_SETTINGS))
        else:
            _STARTED.append(get_session(master="local[2]", config=_SETTINGS))
    elif remote is not None:
        os.environ[_CONNECT_VARIABLE] = "1"
    yield _STARTED[-1]
    # Tests elsewhere in this process start sessions of their own.
    os.environ.pop(_CONNECT_VARIABLE, None)


def _lives(session: Any) -> bool:
    return not session.is_stopped if is_connect(session) else session.sparkContext._jsc is not None
