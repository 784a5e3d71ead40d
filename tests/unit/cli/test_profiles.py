"""Profiles, `diff`, `health`, the prompt and completion of `paimonctl`."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from maintenance.cli.exits import FAILED, NOTHING_TO_DO, REFUSED
from maintenance.cli.main import cli, run
from maintenance.cli.prompt import completions, statements
from maintenance.sql import Session
from tests.small_tables import put, small_table

SCRIPT = """
CREATE TABLE t (a INT, b STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1');
INSERT INTO t VALUES (1, 'x'), (2, 'y');
INSERT INTO t VALUES (2, 'z'), (3, 'w');
DELETE FROM t WHERE a = 1;
"""


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("lake"))
    list(Session({"warehouse": folder}).execute(SCRIPT))
    return folder


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("PAIMONCTL_CONFIG", str(path))
    return path


def test_a_profile_names_a_catalog(
    warehouse: str, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text('[profiles.lake]\ndialect = "flink"\nwarehouse = "${LAKE}"\ncase-sensitive = true\n')
    monkeypatch.setenv("LAKE", warehouse)
    query = ["--json", "sql", "SELECT 7 / 2 AS q"]
    for arguments, quotient in ((["--profile", "lake"], 3), (["--profile", "lake", "--dialect", "spark"], 3.5)):
        assert run([*arguments, *query]) == 0
        assert json.loads(capsys.readouterr().out) == {"q": quotient}
    monkeypatch.setenv("PAIMON_PROFILE", "lake")
    assert run(["--json", "tables"]) == 0
    assert json.loads(capsys.readouterr().out) == {"database": "default", "table": "t"}


def test_profiles_that_are_wrong(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, reported in (
        ("", "Write [profiles.lake]"),
        ("[profiles.lakes]\nwarehouse = '/x'", "Did you mean 'lakes'"),
        ("[profiles.lake", "cannot be read"),
        ("[profiles]\nlake = 1", "is not a table"),
        ("[profiles.lake]\ndialect = 'hive'", "dialect 'hive'"),
        ("[profiles.lake]\nwarehouse = '${NOT_SET_ANYWHERE}'", "NOT_SET_ANYWHERE"),
    ):
        config.write_text(content)
        assert run(["--profile", "lake", "tables"]) == REFUSED, content
        assert reported in capsys.readouterr().err


def test_diff_prints_changes_between_snapshots_or_their_counts(
    warehouse: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ["--warehouse", warehouse, "--json", "diff", "default.t"]
    assert run([*start, "1", "3"]) == 0
    actual = [tuple(json.loads(line).values()) for line in capsys.readouterr().out.splitlines()]
    assert sorted(actual) == [("+I", 2, "z"), ("+I", 3, "w"), ("-D", 1, "x")]
    assert run([*start, "1", "3", "--summary"]) == 0
    counts = [tuple(json.loads(line).values()) for line in capsys.readouterr().out.splitlines()]
    assert counts == [("+I", 2), ("-D", 1)]
    assert run([*start, "1", "3", "--where", "a > 2"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rowkind": "+I", "a": 3, "b": "w"}
    assert run([*start, "1", "3", "--where", "a > 7"]) == NOTHING_TO_DO
    assert run([*start, "1", "99"]) == REFUSED


def test_health_fails_for_an_old_table_and_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(Session({"warehouse": str(tmp_path)}).execute(SCRIPT))
    command = ["--warehouse", str(tmp_path), "--json", "health", "default.t"]
    assert run(command) == 0, capsys.readouterr().out
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["healthy"] for row in rows} == {"yes"}
    assert len(rows) > 8
    assert run([*command, "--max-age", "1 ms"]) == FAILED
    capsys.readouterr()
    max(tmp_path.glob("default.db/t/bucket-0/*.parquet"), key=lambda path: path.stat().st_mtime).unlink()
    assert run(command) == FAILED
    wrong = [row for row in map(json.loads, capsys.readouterr().out.splitlines()) if row["healthy"] == "no"]
    assert any("missing" in row["found"] for row in wrong)


def test_the_parts_of_a_table_s_health(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = small_table(tmp_path, {"bucket": "1", "num-sorted-run.compaction-trigger": "2"})
    for number in range(4):
        put(table, {number: "a"})
    command = ["--warehouse", str(tmp_path), "--json", "health"]
    assert run([*command, "db.t", "--parts"]) == 0
    said = capsys.readouterr()
    parts = {row["part"]: row for row in map(json.loads, said.out.splitlines())}
    runs = parts["sorted_runs"]
    assert (runs["value"], runs["target"], runs["unit"], runs["state"]) == (4, 2, "sorted runs", "over target")
    assert (runs["points"], runs["weight"]) == (50, 15)
    points = sum(row["points"] * row["weight"] for row in parts.values())
    score = round(points / sum(row["weight"] for row in parts.values()))
    assert f"Health: {score} of 100." in said.err
    assert run(command) in (0, FAILED)
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert line["score"] == score
    assert run([*command, "--parts"]) == REFUSED
    assert run(["--warehouse", str(tmp_path), "health", "db.t", "--parts"]) == 0
    assert "4 sorted runs" in capsys.readouterr().out


def test_statements_end_with_a_semicolon_that_is_not_in_a_literal(warehouse: str) -> None:
    typed: Iterator[str | None] = iter(
        ["", "SELECT ';", "' AS x;", "SELECT 1", None, "SELECT 2 -- ;", ";", "quit", "SELECT 9;"]
    )

    def read(_: str) -> str:
        line = next(typed)
        if line is None:
            raise KeyboardInterrupt
        return line

    session = Session({"warehouse": warehouse})
    assert list(statements(read, session)) == ["SELECT ';\n' AS x;", "SELECT 2 -- ;\n;"]


def test_help_says_what_can_be_typed(warehouse: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = iter(["help", "Help;", "SELECT", "help", ";", "exit"])
    session = Session({"warehouse": warehouse})
    assert list(statements(lambda _: next(typed), session)) == ["SELECT\nhelp\n;"]
    shown = capsys.readouterr().out
    assert shown.count("A statement ends with a semicolon") == 2
    assert "exit, quit or Ctrl-D leaves." in shown


def test_the_prompt_completes_words_and_names(warehouse: str) -> None:
    session = Session({"warehouse": warehouse})
    assert "t$snapshots" in completions(session, "t")
    assert "SELECT" in completions(session, "SEL")
    assert "select" in completions(session, "sel")
    assert completions(session, "zzz") == []


def test_a_session_at_a_terminal(warehouse: str, tmp_path: Path) -> None:
    """Results and errors are shown, and what was typed is kept."""
    ours, theirs = pty.openpty()
    typed = b"SELECT a FROM t\nWHERE b = 'w';\nSELECT nothing;\nquit\n"
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TERM": "dumb"}
    command = [sys.executable, "-m", "maintenance.cli", "--warehouse", warehouse, "--format", "csv", "sql"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, close_fds=True
    )
    os.write(ours, typed)
    out, err = process.communicate(timeout=120)
    os.close(ours)
    os.close(theirs)
    assert process.returncode == 0, err
    assert b"a\n3\n" in out.replace(b"\r", b"")
    assert b"column 'nothing' does not exist" in err
    assert b"WHERE b = 'w';" in (tmp_path / "paimonctl" / "history").read_bytes()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_the_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_PAIMONCTL_COMPLETE" in capsys.readouterr().out


def test_every_command_has_an_example() -> None:
    context = cli.make_context("paimonctl", ["completion", "bash"])
    without = [
        name
        for name in cli.list_commands(context)
        if "paimonctl " not in (getattr(cli.get_command(context, name), "help", None) or "")
    ]
    assert not without
