"""What a tick of the sensor asks a store for a table without a new commit."""

import pytest

from maintenance.catalog import Schema
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from paimon_maintenance.assets.project.config import TableConfig
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
