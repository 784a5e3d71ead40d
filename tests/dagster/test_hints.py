"""What a tick of the sensor asks a store for a table without a new commit."""

import os
import time
from pathlib import Path

import pytest

from maintenance.catalog import Schema
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.sensors import hints
from paimon_maintenance.sensors.latest import look
from tests.servers.relay import Relay
from tests.servers.s3 import S3
from tests.tables import KEYED, keyed


def test_a_table_without_news_costs_two_requests(s3: S3, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    options = s3.options(s3.new_bucket())
    catalog = PaimonCatalog(warehouse=options.pop("warehouse"), options=options)
    catalog.open().create_database("db")
    catalog.open().create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1"}))
    table, config = catalog.get_table("db.t"), TableConfig(identifier="db.t")
    table.write_arrow(keyed({1: "a"}))

    def looked(judged: int | None) -> tuple[int | None, int]:
        last = None if judged is None else str(SnapshotIdentity.of(table.snapshots.get(judged)))
        relay.reset()
        seen = look(catalog, config, last)
        return None if seen is None else seen.snapshot.id, relay.total

    assert looked(None)[0] == 1
    looked(1)
    assert looked(1) == (None, 2)
    table.write_arrow(keyed({2: "b"}))
    assert looked(1)[0] == 2
    assert looked(2) == (None, 2)
    # A writer that dies between its snapshot and the hint: seen once the hint is not trusted any more.
    client, bucket = s3.client(), catalog.warehouse.split("/")[2]
    client.put_object(Bucket=bucket, Key="wh/db.db/t/snapshot/LATEST", Body=b"1")
    assert looked(1)[0] == 2
    monkeypatch.setattr(hints, "TRUSTED_SECONDS", -1)
    looked(2)
    assert looked(2)[1] > 2


def test_on_a_local_disk_the_folder_of_the_snapshots_says_whether_there_is_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = PaimonCatalog(warehouse=str(tmp_path))
    catalog.open().create_database("db")
    catalog.open().create_table("db.t", Schema(KEYED, ["id"], options={"bucket": "1"}))
    table, config = catalog.get_table("db.t"), TableConfig(identifier="db.t")
    table.write_arrow(keyed({1: "a"}))
    first = str(table.snapshots.latest_identity())
    assert look(catalog, config, first) is None
    assert not hints.HINTS.nothing_new(str(tmp_path), "db.t", first), "a folder that has just changed says nothing"
    snapshots, schemas = (tmp_path / "db.db" / "t" / name for name in ("snapshot", "schema"))
    os.utime(snapshots, (time.time() - 60, time.time() - 60))
    look(catalog, config, first)
    assert not hints.HINTS.nothing_new(str(tmp_path), "db.t", first), "the folder of the schemas has just changed"
    os.utime(schemas, (time.time() - 60, time.time() - 60))
    look(catalog, config, first)
    assert hints.HINTS.nothing_new(str(tmp_path), "db.t", first)
    assert not hints.HINTS.nothing_new(str(tmp_path), "db.t", None), "one who has judged nothing yet is to look"
    table.write_arrow(keyed({2: "b"}))
    seen = look(catalog, config, first)
    assert seen is not None
    assert seen.snapshot.id == 2
    os.utime(snapshots, (time.time() - 60, time.time() - 60))
    look(catalog, config, first)
    assert not hints.HINTS.nothing_new(str(tmp_path), "db.t", first)
    assert hints.HINTS.nothing_new(str(tmp_path), "db.t", str(table.snapshots.latest_identity()))
    monkeypatch.setattr(hints, "TRUSTED_SECONDS", -1)
    os.utime(snapshots, (time.time() - 50, time.time() - 50))
    look(catalog, config, first)
    assert not hints.HINTS.nothing_new(str(tmp_path), "db.t", str(table.snapshots.latest_identity()))
