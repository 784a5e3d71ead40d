"""For each operation that has plans: a small warehouse in which there is something for it to do."""

import os
from pathlib import Path

from maintenance.sql import Session
from maintenance.table.table import Table
from tests.small_tables import set_commit_time, set_watermark

SCRIPT = """
CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p)
TBLPROPERTIES ('write-only' = 'true', 'compaction.min.file-num' = '2');
INSERT INTO t VALUES (1, '20200101');
INSERT INTO t VALUES (2, '20200101');
CALL sys.create_branch('default.t', 'b');
CALL sys.create_tag('default.t', 'old');
"""
# For each operation that has plans: arguments for which there is something to do.
WORK = {
    "clear-consumers": ["default.t"],
    "clone": ["--database", "default"],
    "compact": ["default.t"],
    "compact-manifest": ["default.t"],
    "delete-tag": ["default.t", "old"],
    "drop-partition": ["default.t", "p=20200101"],
    "expire-changelogs": ["default.c", "--delete-all"],
    "purge-files": ["default.t"],
    "remove-unexisting-files": ["default.t"],
    "remove-unexisting-manifests": ["default.t"],
    "rescale": ["default.k", "--bucket-num", "2"],
    "rollback": ["default.t", "--snapshot-id", "1"],
    "rollback-to-as-latest": ["default.t", "--snapshot-id", "1"],
    "rollback-to-timestamp": ["default.t", "1000"],
    "rollback-to-watermark": ["default.t", "1"],
    "compact-database": ["--including-tables", "default.t", "--compact-strategy", "full"],
    "create-tag": ["default.t", "x"],
    "delete-branch": ["default.t", "b"],
    "drop-global-index": ["default.g", "a", "btree"],
    "empty-bin": ["--window", "0 s"],
    "expire-partitions": ["default.t", "--expiration-time", "1 d", "--timestamp-formatter", "yyyyMMdd"],
    "expire-snapshots": ["default.t", "--retain-max", "1", "--retain-min", "1"],
    "expire-tags": ["default.t", "--older-than", "2999-01-01T00:00:00"],
    "fast-forward": ["default.t", "b"],
    "ingest-landed": ["default.t", "{warehouse}/landing", "feed", "--format", "json"],
    "merge-branch": ["default.t", "b"],
    "merge-into": [
        "default.t",
        "--source-table=default.s",
        "--merge-condition=t.a=s.a",
        "--matched-upsert-setting=a=s.b",
    ],
    "produce-changelog": ["default.k"],
    "refresh-materialized-table": ["default.m"],
    "remove-orphan-files": ["default.t"],
    "rename-branch": ["default.t", "b", "b2"],
    "rename-tag": ["default.t", "old", "older"],
    "repair-earliest-snapshot": ["default.t", "3"],
    "replace-tag": ["default.t", "old", "--snapshot-id", "1"],
    "reset-consumer": ["default.t", "job", "--next-snapshot-id", "2"],
    "restore": ["default.t"],
    "restore-partitions": ["default.t", "--partition", "p=20200101", "--snapshot-id", "1"],
    "rewrite-file-index": ["default.i"],
    "trigger-tag-automatic-creation": ["default.a"],
}


CHANGES = "'primary-key' = 'a', 'bucket' = '1', 'changelog-producer' = 'lookup', 'write-only' = 'true'"
EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true'"
KEPT = (
    "'primary-key' = 'a', 'bucket' = '1', 'changelog-producer' = 'input', 'snapshot.num-retained.min' = '1', "
    "'snapshot.num-retained.max' = '1', 'changelog.num-retained.max' = '9', 'changelog.num-retained.min' = '3'"
)
CONSUMER = "CALL sys.reset_consumer('default.t', 'job', 1)"
BIN = "CALL sys.delete_tag(table => 'default.t', tag => 'old', into_bin => true)"
# What some operations need beside the table.
PREPARED = {
    "expire-tags": "CALL sys.create_tag(table => 'default.t', tag => 'short', time_retained => '1 d')",
    "delete-branch": "INSERT INTO `t$branch_b` VALUES (3, 'y')",
    "fast-forward": "CALL sys.create_branch(table => 'default.t', branch => 'c', tag => 'old');"
    "INSERT INTO `t$branch_c` VALUES (3, 'y')",
    "merge-branch": "CALL sys.create_branch(table => 'default.t', branch => 'c');"
    "INSERT INTO `t$branch_c` VALUES (3, 'y')",
    "clear-consumers": CONSUMER,
    "reset-consumer": CONSUMER,
    "restore": BIN,
    "empty-bin": BIN,
    "drop-global-index": f"CREATE TABLE g (a INT) TBLPROPERTIES ({EVOLVED}); INSERT INTO g VALUES (1);"
    "CALL sys.create_global_index('default.g', 'a', 'btree')",
    "trigger-tag-automatic-creation": "CREATE TABLE a (a INT); INSERT INTO a VALUES (1);"
    "ALTER TABLE a SET TBLPROPERTIES ('tag.automatic-creation' = 'process-time')",
    "merge-into": "CREATE TABLE s (a INT, b INT); INSERT INTO s VALUES (1, 5)",
    "repair-earliest-snapshot": "INSERT INTO t VALUES (3, 'x')",
    "produce-changelog": f"CREATE TABLE k (a INT) TBLPROPERTIES ({CHANGES}); INSERT INTO k VALUES (1)",
    "rewrite-file-index": "CREATE TABLE i (a INT); INSERT INTO i VALUES (1);"
    "ALTER TABLE i SET TBLPROPERTIES ('file-index.bloom-filter.columns' = 'a')",
    "rescale": "CREATE TABLE k (a INT) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1');"
    "INSERT INTO k VALUES (1), (2)",
    "expire-changelogs": f"CREATE TABLE c (a INT) TBLPROPERTIES ({KEPT}); INSERT INTO c VALUES (0);"
    "INSERT INTO c VALUES (1); INSERT INTO c VALUES (2); CALL sys.expire_snapshots('default.c')",
}


def prepare(warehouse: str, command: str) -> None:
    session = Session({"warehouse": warehouse})
    list(session.execute(PREPARED.get(command, "")))
    if command == "remove-orphan-files":
        orphan = Path(warehouse) / "default.db/t/p=20200101/bucket-0/data-x.parquet"
        orphan.write_bytes(b"x")
        os.utime(orphan, (0, 0))
    elif command == "ingest-landed":
        (Path(warehouse) / "landing").mkdir()
        (Path(warehouse) / "landing/00001-batch-00001.json").write_text('{"a": 3, "p": "20200101"}')
    elif command == "refresh-materialized-table":
        flink = Session({"warehouse": warehouse}, dialect="flink")
        flink.sql("CREATE MATERIALIZED TABLE m FRESHNESS = INTERVAL '1' HOUR AS SELECT COUNT(*) AS c FROM t")
        flink.sql("INSERT INTO t VALUES (3, 'x')")
    elif command == "repair-earliest-snapshot":
        Path(session.table(("t",)).paths.snapshot(2)).unlink()
    elif command.startswith(("remove-unexisting", "rollback-to")):
        damage_or_date(session.table(("t",)), command)


def damage_or_date(table: Table, command: str) -> None:
    """One of two files, or of two manifests, is gone; or the snapshots have times and watermarks."""
    if command == "rollback-to-timestamp":
        set_commit_time(table, 1, 1000)
    elif command == "rollback-to-watermark":
        set_watermark(table, 1, 1)
        set_watermark(table, 2, 2)
    elif command == "remove-unexisting-files":
        next(Path(table.location).rglob("data-*")).unlink()
    elif command == "remove-unexisting-manifests":
        snapshot = table.latest_snapshot()
        assert snapshot is not None
        Path(table.paths.manifest(table.manifests.data_manifests(snapshot)[0].file_name)).unlink()


def arguments_of(warehouse: str, command: str) -> list[str]:
    """What is given to the command, once `prepare` has run."""
    if command in ("fast-forward", "merge-branch"):
        return ["default.t", "c"]
    arguments = [each.replace("{warehouse}", warehouse) for each in WORK[command]]
    if command == "clone":
        return [*arguments, "--target-catalog-conf", f"warehouse={warehouse}/../copy"]
    return ["default.t", *os.listdir(Path(warehouse) / "_maintenance/bin")] if command == "restore" else arguments
