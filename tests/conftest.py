"""Settings of all tests, and which files take the time."""

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from heapq import nlargest
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn, TypeVar

import pytest
from xdist.remote import Producer

from maintenance.fs import file_io
from tests.cases import left_out, may_be_slow, wants_all
from tests.examples import load_profile
from tests.flushing import with_flushing, without_flushing
from tests.schedule import NOTED, LongestFirst, note_seconds, work_of
from tests.servers import azure as azure_server
from tests.servers import gcs as gcs_server
from tests.servers import hdfs as hdfs_server
from tests.servers import hive as hive_server
from tests.servers import mariadb as mariadb_server
from tests.servers import postgresql as postgresql_server
from tests.servers import s3 as s3_server
from tests.servers.relay import Relay, relaying
from tests.spark_archive import java_options

load_profile()
without_flushing()
# A file that a test cuts off is never written on, so nobody has to wait for that.
file_io._SETTLED_SECONDS = 0.3
# Until all tests are loaded: hardly any of what that makes is garbage. `pytest_collection_finish` allows it again.
gc.disable()

os.environ.setdefault("JAVA_TOOL_OPTIONS", java_options())

_SLOWEST = 12
_SECONDS: defaultdict[str, float] = defaultdict(float)

Server = TypeVar("Server")


@pytest.fixture
def flushing() -> Iterator[None]:
    """For tests of flushing: the disk is waited for."""
    with with_flushing():
        yield


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgresql_server.PostgreSQL]:
    """A PostgreSQL server of this test run; without one its tests are skipped, but not in CI."""
    with _folder() as folder:
        yield from _started(postgresql_server.running(folder / "postgresql"), "psycopg")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[mariadb_server.MariaDB]:
    """A MariaDB server of this test run; without one its tests are skipped, but not in CI."""
    with _folder() as folder:
        yield from _started(mariadb_server.running(folder / "mariadb"), "pymysql")


@pytest.fixture(scope="session")
def hive() -> Iterator[hive_server.Hive]:
    """A Hive metastore of this test run; without one its tests are skipped, but not in CI."""
    with _folder() as folder:
        yield from _started(hive_server.running(folder / "hive"), "thriftpy2")


@pytest.fixture(scope="session")
def azure() -> Iterator[azure_server.Azure]:
    """An Azure Blob server of this test run; without one its tests are skipped, but not in CI."""
    yield from _started(azure_server.running(), "obstore")


@pytest.fixture(scope="session")
def gcs() -> Iterator[gcs_server.GCS]:
    """A Google Cloud Storage server of this test run; without one its tests are skipped, but not in CI."""
    with _folder() as folder:
        yield from _started(gcs_server.running(folder), "obstore")


@pytest.fixture(scope="session")
def hdfs() -> Iterator[hdfs_server.Hdfs]:
    """An HDFS cluster of this test run; without one its tests are skipped, but not in CI."""
    with _folder() as folder:
        yield from _started(hdfs_server.running(folder), "urllib3")


@pytest.fixture(scope="session")
def relay() -> Iterator[Relay]:
    """A relay in front of an S3 server of this test run: tests count requests there, and let them fail."""
    with s3_server.running() as server, relaying(server.url) as actual:
        actual.server = server
        yield actual


@pytest.fixture
def s3(relay: Relay) -> s3_server.S3:
    """An S3 server of this test run, reached through the relay."""
    return s3_server.S3(relay.url, relay.server.url)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder that a server's own user can reach, which pytest's are not."""
    with TemporaryDirectory(prefix="paimon-server-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _started(server: AbstractContextManager[Server], driver: str) -> Iterator[Server]:
    if find_spec(driver) is None:
        _skip_outside_ci(f"{driver} is not installed: run scripts/install test.")
    try:
        running = server.__enter__()
    except FileNotFoundError as error:
        _skip_outside_ci(str(error))
    try:
        yield running
    finally:
        server.__exit__(None, None, None)


def _skip_outside_ci(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--note-seconds", action="store_true", help=f"note in {NOTED.name} how long the tests took")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of slow tests alone, load only the files that have some."""
    is_file = collection_path.match("test_*.py")
    return (config.option.markexpr == "slow" and is_file and not may_be_slow(collection_path)) or None


@pytest.hookimpl(tryfirst=True)  # before those that are not wanted are gone
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only a run of all cases has, except where a test is named."""
    hidden = {item.path.name for item in items if item.get_closest_marker("slow") and not may_be_slow(item.path)}
    if hidden:
        raise pytest.UsageError(f"`make test-slow` does not find the slow tests of {sorted(hidden)}: see may_be_slow.")
    if not wants_all() and not any("::" in argument for argument in config.args):
        left = left_out([item.nodeid for item in items])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left])
        items[:] = [item for item in items if item.nodeid not in left]


def pytest_collection_finish() -> None:
    """Leave what is loaded by now, all tests among it, out of every search for garbage."""
    gc.freeze()
    gc.enable()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LongestFirst | None:
    return LongestFirst(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each file or test that is taken up by itself, set-up of fixtures included."""
    _SECONDS[work_of(report.nodeid)] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the slowest files of a long run, and note all if that is wanted."""
    if config.getoption("--note-seconds"):
        note_seconds(NOTED, config.option.markexpr, _SECONDS)
    if sum(_SECONDS.values()) < 60:
        return
    terminalreporter.section("slowest files")
    files: defaultdict[str, float] = defaultdict(float)
    for work, seconds in _SECONDS.items():
        files[work.partition("::")[0]] += seconds
    for name, seconds in nlargest(_SLOWEST, files.items(), itemgetter(1)):
        terminalreporter.line(f"{seconds:7.1f} s  {Path(name)}")
