"""Every command has --json, and prints with it nothing else than an object in each line."""

import json
from collections.abc import Sequence
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.cli.exits import FAILED, NOTHING_TO_DO, REFUSED
from maintenance.cli.main import cli, run
from maintenance.sql import Session

NO_ROWS = {
    "fsck",
    "history",
    "prove-compactions",
    "remove-unexisting-files",
    "restorable-partitions",
}  # of a table without a fault
# What is refused here says so on standard error alone: there is no plan, chain, watermark, other catalog, bin, view, or
# table of that kind.
REFUSED_HERE = {
    "alter-view-dialect", "apply", "approve-plan", "compact-chain-table", "create-tag-from-watermark",
    "migrate-database", "migrate-table", "refresh-materialized-table", "refresh-object-table", "repair", "restore",
    "rollback-to-watermark",
}  # fmt: skip
NOT_OF_JSON = {"completion"}  # it prints a script for a shell
FILE = "{files}/rows.parquet"
TABLE = "default.t"
_INDEX = (TABLE, "b", "bitmap")
# What each command is given, and the commands before it that make this possible.
ARGUMENTS: dict[str, tuple[Sequence[str], ...]] = {
    "alter-column-default-value": ((TABLE, "b", "x"),),
    "advise": ((TABLE,), (TABLE, "--files")),
    "alter-view-dialect": (("default.v", "drop"),),
    "acknowledge": ((TABLE, "single_compactor", "ann", "it is known"),),
    "apply": (("0123456789abcdef",),),
    "approve-plan": (("0123456789abcdef",),),
    "clear-consumers": ((TABLE,),),
    "clone": (("--database", "default", "--table", "t", "--target-database", "copy", "--target-table", "t",
               "--target-catalog-conf", "warehouse={files}/copy"),),
    "compact": ((TABLE,), (TABLE, "--compact-strategy", "full", "--dry-run"),
                (TABLE, "--compact-strategy", "full", "--dry-run", "--plan")),
    "compact-chain-table": (("default.p", "dt=x"),),
    "compact-database": (("--including-databases", "default"),),
    "compact-manifest": ((TABLE,),),
    "costs": ((),),
    "create-branch": ((TABLE, "b1"),),
    "create-global-index": (("default.e", "b", "btree"),),
    "create-tag": ((TABLE, "new"),),
    "create-tag-from-timestamp": ((TABLE, "timed", "1"),),
    "create-tag-from-watermark": ((TABLE, "marked", "1"),),
    "delete-branch": ((TABLE, "side"),),
    "delete-tag": ((TABLE, "first"),),
    "diff": ((TABLE, "1", "2"), (TABLE, "1", "2", "--summary")),
    "drop-global-index": (("default.e", "b", "btree"),),
    "drop-partition": (("default.p", "dt=x"),),
    "empty-bin": ((),),
    "expire-changelogs": ((TABLE, "--retain-max", "1"),),
    "expire-partitions": (("default.p", "--expiration-time", "1 d", "--timestamp-formatter", "yyyy-MM-dd"),),
    "expire-snapshots": ((TABLE, "--retain-max", "1", "--retain-min", "1", "--dry-run"),
                         (TABLE, "--retain-max", "1", "--retain-min", "1")),
    "expire-tags": ((TABLE, "--older-than", "2000-01-01T00:00:00"),),
    "explain": ((TABLE, "--snapshot-id", "1"),),
    "fast-forward": ((TABLE, "side"),),
    "fleet": (("--seconds", "60"), ("--dry-run",)),
    "forecast": ((TABLE,),),
    "fsck": ((TABLE,),),
    "health": ((TABLE,), ()),
    "held-bytes": ((TABLE,),),
    "history": ((),),
    "ingest-landed": ((TABLE, "{files}/landing", "feed"),),
    "inspect": (("{lake}/default.db/t/snapshot/snapshot-1",),),
    "mark-partition-done": (("default.p", "dt=x"),),
    "merge-branch": (("default.p", "side"),),
    "merge-into": ((TABLE, "--source-table", "default.e", "--merge-condition", "t.a = e.a",
                    "--matched-upsert-setting", "*"),),
    "migrate-database": (("hive", "formats"),),
    "migrate-table": (("hive", "default.format", "--target-table", "default.moved"),),
    "produce-changelog": (("default.k",),),
    "prove-compactions": ((TABLE,), (TABLE, "--own")),
    "purge-files": (("default.p",),),
    "read": ((TABLE,), (TABLE, "--limit", "1", "--output", "{files}/out.csv")),
    "refresh-materialized-table": ((TABLE,),),
    "refresh-object-table": ((TABLE,),),
    "remove-orphan-files": ((TABLE,),),
    "remove-unexisting-files": ((TABLE,),),
    "remove-unexisting-manifests": ((TABLE,),),
    "rename-branch": ((TABLE, "side", "other"),),
    "rename-tag": ((TABLE, "first", "renamed"),),
    "repair": ((),),
    "repair-earliest-snapshot": ((TABLE, "1"),),
    "replace-tag": ((TABLE, "first"),),
    "report": ((),),
    "rescale": (("default.p", "--bucket-num", "2"),),
    "reset-consumer": ((TABLE, "reader", "--next-snapshot-id", "1"),),
    "restorable-partitions": ((TABLE,), ("default.p",)),
    "restore": ((TABLE, "no-run"),),
    "restore-partitions": (("default.p", "--partition", "dt=x", "--snapshot-id", "1"),),
    "rewrite-file-index": ((TABLE,),),
    "rollback": ((TABLE, "--snapshot-id", "1"),),
    "rollback-to-as-latest": ((TABLE, "--snapshot-id", "1"),),
    "rollback-to-timestamp": ((TABLE, "99999999999999"),),
    "rollback-to-watermark": ((TABLE, "1"),),
    "show": ((TABLE,),),
    "sql": (("SELECT * FROM t",), ("SHOW TABLES; DESCRIBE t",)),
    "simulate": ((TABLE, "--try", "num-sorted-run.compaction-trigger=3", "--try", "compaction.min.file-num=3,4"),),
    "tables": ((), ("default",), ("--long",)),
    "trigger-tag-automatic-creation": ((TABLE,),),
    "tune-settings": ((TABLE, "--bounds", "snapshot.time-retained=1 h,7 d"),),
    "what-if": ((TABLE, "--options", "snapshot.num-retained.max=1,snapshot.num-retained.min=1"),),
    "write": ((TABLE, FILE),),
}  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A small table with two snapshots, a tag, a branch and a consumer; others with partitions and an index."""
    session = Session({"warehouse": str(tmp_path / "lake")}, dialect="flink")
    script = """CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, b STRING) WITH ('bucket' = '1');
    INSERT INTO t VALUES (1, 'x'), (2, 'y');
    CALL sys.create_tag('default.t', 'first', 1);
    CALL sys.create_branch('default.t', 'side', 'first');
    INSERT INTO t VALUES (3, 'z');
    CALL sys.reset_consumer('default.t', 'reader', 2);
    CREATE TABLE p (a INT, dt STRING) PARTITIONED BY (dt) WITH ('bucket' = '1', 'bucket-key' = 'a');
    INSERT INTO p VALUES (1, 'x'), (2, '2020-01-01');
    CALL sys.create_branch('default.p', 'side');
    INSERT INTO `p$branch_side` VALUES (3, 'y');
    CREATE TABLE k (a INT PRIMARY KEY NOT ENFORCED) WITH ('bucket' = '1', 'changelog-producer' = 'lookup');
    INSERT INTO k VALUES (1);
    CREATE TABLE e (a INT, b STRING) WITH ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true');
    INSERT INTO e VALUES (1, 'x')"""
    list(session.execute(script))
    pq.write_table(pa.table({"a": pa.array([7], pa.int32()), "b": ["w"]}), tmp_path / "rows.parquet")
    return tmp_path / "lake"


def test_every_command_is_tried() -> None:
    context = click.Context(cli)
    commands = set(cli.list_commands(context))
    assert commands == {*ARGUMENTS, *NOT_OF_JSON}
    for name in ARGUMENTS:
        command = cli.get_command(context, name)
        assert command is not None
        assert any("--json" in parameter.opts for parameter in command.params), name


@pytest.mark.parametrize("name", ARGUMENTS)
def test_its_output_is_json(name: str, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given in ARGUMENTS[name]:
        arguments = [each.format(files=lake.parent, lake=lake) for each in given]
        code = run(["--warehouse", str(lake), name, *arguments, "--json"])
        actual = capsys.readouterr()
        if name in REFUSED_HERE:
            assert (code, actual.out) == (REFUSED, "")
            assert actual.err.startswith("Error: ")
            continue
        assert code in (0, FAILED, NOTHING_TO_DO), actual.err
        lines = [json.loads(line) for line in actual.out.splitlines()]
        assert all(isinstance(line, dict) for line in lines), name
        assert lines or code == NOTHING_TO_DO or name in NO_ROWS
