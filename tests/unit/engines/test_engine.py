"""The choice of what runs queries and tasks is one record, whichever place it is written in."""

from pathlib import Path

import pytest

from maintenance.cli.main import run
from maintenance.errors import OptionError
from maintenance.project.config import SparkConfig, load_project
from maintenance.spark import engine as engines
from maintenance.spark.engine import Engine, EngineKind
from maintenance.spark.java import java_found
from maintenance.sql import Session
from paimon_maintenance.assets.resources.spark import Spark


@pytest.mark.parametrize(
    ("text", "kind", "address", "shown"),
    [
        ("embedded", EngineKind.EMBEDDED, None, "embedded"),
        (" Spark ", EngineKind.SPARK, None, "spark"),
        ("sail", EngineKind.SAIL, None, "sail"),
        ("auto", EngineKind.AUTO, None, "auto"),
        ("sc://host:15002/;token=secret", EngineKind.CONNECT, "sc://host:15002/;token=secret", "sc://host:15002"),
        ("spark://host:7077", EngineKind.SPARK, "spark://host:7077", "spark://host:7077"),
        ("local[2]", EngineKind.SPARK, "local[2]", "local[2]"),
    ],
)
def test_a_word_or_address_is_an_engine(text: str, kind: EngineKind, address: str | None, shown: str) -> None:
    engine = Engine.parse(text, "here")
    assert (engine.kind, engine.address, str(engine)) == (kind, address, shown)


@pytest.mark.parametrize("text", ["", "sc://", "duckdb", "connect", "http://host"])
def test_another_word_is_refused_by_name(text: str) -> None:
    with pytest.raises(OptionError, match=rf"^engine '{text}' is not known \(here\)\. Use 'embedded', 'spark', 'sail'"):
        Engine.parse(text, "here")


def test_a_near_word_is_suggested() -> None:
    with pytest.raises(OptionError, match=r"Did you mean 'sail'\?$"):
        Engine.parse("snail", "here")


def java(folder: Path, version: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return program


@pytest.mark.parametrize(
    ("version", "kind"), [("17.0.1", "spark"), ("25", "spark"), ("11.0.2", "sail"), ("1.8.0", "sail")]
)
def test_auto_is_spark_where_there_is_a_java_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, kind: str
) -> None:
    program = java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    settled = Engine.parse("auto", "here").settled()
    assert settled.kind == kind
    assert settled.told().endswith(f"since Java was found: {program}" if kind == "spark" else "and Sail needs none")


def test_a_java_on_the_path_tells_its_version_where_no_file_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = java(tmp_path, "8")
    (tmp_path / "release").unlink()
    program.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\" 2024-01-16' >&2\n")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    assert java_found() == str(program)


def test_auto_without_java_and_sail_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"neither a Java 17 or newer for Spark nor Sail .* install the extra 'sail'"):
        Engine.parse("auto", "here").settled()


def test_a_session_opens_no_spark_before_it_needs_one(tmp_path: Path) -> None:
    """Nothing listens there."""
    session = Session({"warehouse": str(tmp_path)}, engine="sc://127.0.0.1:1")
    session.sql("CREATE TABLE t (id INT)")
    assert session.sql("SHOW TABLES").to_arrow().num_rows == 1
    assert repr(session) == "Session(dialect='spark', engine='sc://127.0.0.1:1')"
    with pytest.raises(OptionError, match=r"engine 'duck' is not known"):
        session.sql("SET 'engine' = 'duck'")
    session.sql("SET 'engine' = 'embedded'")
    assert session.sql("SELECT count(*) AS n FROM t").to_arrow().to_pylist() == [{"n": 0}]


def test_a_session_and_an_engine_are_not_given_both(tmp_path: Path) -> None:
    class OfSomebody:
        pass

    with pytest.raises(OptionError, match="'spark' and 'engine' are both given"):
        Session({"warehouse": str(tmp_path)}, OfSomebody(), engine="spark")  # type: ignore[arg-type]


def test_the_command_line_refuses_another_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(tmp_path), "sql", "--engine", "sparc", "SELECT 1"]) == 2
    assert "engine 'sparc' is not known" in capsys.readouterr().err
    assert run(["--warehouse", str(tmp_path), "--engine", "embedded", "sql", "EXPLAIN SELECT 1"]) == 0
    assert "Engine: embedded, in this process" in capsys.readouterr().out


def test_a_profile_is_held_to_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMONCTL_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text(f'[profiles.lake]\nwarehouse = "{tmp_path}"\nengine = "sparc"\n')
    assert run(["--profile", "lake", "sql", "SELECT 1"]) == 2
    assert "engine 'sparc' is not known" in capsys.readouterr().err


def test_tables_yaml_chooses_one_engine(tmp_path: Path) -> None:
    assert SparkConfig().chosen == Engine(EngineKind.AUTO)
    assert SparkConfig(engine="spark", master="spark://h:1").chosen == Engine(EngineKind.SPARK, "spark://h:1")
    assert SparkConfig(remote="sc://h:1").chosen == Engine(EngineKind.CONNECT, "sc://h:1")
    path = tmp_path / "tables.yaml"
    path.write_text("warehouse: w\npatterns: [{ pattern: 'db.*' }]\nspark: { engine: sail, remote: 'sc://h:1' }\n")
    with pytest.raises(OptionError, match=r"'engine' = 'sail' and 'remote' = 'sc://h:1' contradict each other"):
        load_project(path, tmp_path)
    path.write_text("warehouse: w\npatterns: [{ pattern: 'db.*' }]\nspark: { engine: sparc }\n")
    with pytest.raises(OptionError, match=r"engine 'sparc' is not known"):
        load_project(path, tmp_path)


def test_steps_of_dagster_run_without_spark() -> None:
    resource = Spark(engine="embedded")
    assert resource.session() is None
    assert resource.metadata() == {"engine": "embedded, in this process: scans by this engine, the query by DuckDB"}
