"""The archive of Spark's classes: taken by every Spark that starts on this machine, and in nobody's way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from maintenance.errors import OptionError
from maintenance.spark.class_archive import archive_path, with_class_archive
from maintenance.spark.java import JAVA_KEY
from maintenance.spark.make_class_archive import make_class_archive
from tests.spark_archive import FOLDER

_PROGRAM = """
import sys
from maintenance.spark.session import get_session
config = {"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={sys.argv[1]}"}
session = get_session(master="local[1]", config=config)
print(session.range(3).count())
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, in which nothing is; the options of JVMs of tests say nothing of archives."""
    monkeypatch.delenv("JAVA_TOOL_OPTIONS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def made(content: bytes) -> Path:
    archive = archive_path()
    assert archive is not None
    archive.parent.mkdir(parents=True)
    archive.write_bytes(content)
    return archive


def test_sessions_start_with_the_archive_that_is_there(cache: Path) -> None:
    given = {JAVA_KEY: "-Xss4m", "spark.master": "local[1]"}
    assert with_class_archive(given) == given
    archive = made(b"")
    assert archive.is_relative_to(cache)
    started = with_class_archive(given)
    assert started[JAVA_KEY].startswith(f"-XX:SharedArchiveFile={archive} ")
    assert started[JAVA_KEY].endswith(" -Xss4m")  # what is given comes last, and so wins
    assert started["spark.master"] == "local[1]"


def test_what_is_said_of_archives_holds(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(b"")
    given = {JAVA_KEY: "-Xshare:off"}
    assert with_class_archive(given) == given
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:SharedArchiveFile=/elsewhere.jsa")
    assert with_class_archive({}) == {}


def test_an_archive_is_of_one_java(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = archive_path()
    other = cache / "java"
    (other / "bin").mkdir(parents=True)
    (other / "bin" / "java").write_text("")
    (other / "bin" / "java").chmod(0o755)
    (other / "release").write_text('JAVA_VERSION="21.0.8"\n')
    monkeypatch.setenv("JAVA_HOME", str(other))
    assert archive_path() not in (here, None)
    (other / "release").write_text('JAVA_VERSION="11.0.8"\n')
    assert archive_path() is None
    with pytest.raises(OptionError, match="no Java 17 or newer was found"):
        make_class_archive()


@pytest.mark.slow
@pytest.mark.parametrize("fits", [True, False])
def test_spark_starts_also_where_it_does_not_fit(cache: Path, tmp_path: Path, fits: bool) -> None:
    kept = archive_path(FOLDER)
    assert kept is not None
    assert kept.exists(), "run python -m tests.spark_archive"
    made(kept.read_bytes() if fits else b"of another Java")
    loaded = tmp_path / "classes"
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(loaded)], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert run.stdout.strip().splitlines()[-1] == "3"
    assert "archive" not in (run.stdout + run.stderr).lower()
    # Those of lambdas are made as they are needed.
    own = [line for line in loaded.read_text().splitlines() if " org.apache.spark." in line and "$Lambda$" not in line]
    from_archive = [line for line in own if "shared objects file (top)" in line]
    assert (len(from_archive) > len(own) * 0.9) if fits else not from_archive
