"""How many requests operations on a table make."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from tests.servers.relay import Relay
from tests.servers.s3 import S3

FIELDS = [("id", "BIGINT NOT NULL"), ("v", "STRING")]


@pytest.fixture
def table(s3: S3) -> CatalogTable:
    """A table of eleven commits, two files each."""
    catalog = open_catalog(s3.options(s3.new_bucket()))
    catalog.create_database("db")
    catalog.create_table("db.t", Schema(FIELDS, ["id"], options={"bucket": "2", "write-only": "true"}))
    actual = catalog.get_table("db.t")
    assert isinstance(actual, CatalogTable)
    for number in range(11):
        write(actual, number)
    return actual


def write(table: CatalogTable, number: int) -> None:
    rows = pa.table({"id": list(range(20)), "v": [str(number)] * 20})
    table.write_arrow(rows, commit_user="me", commit_identifier=number)


def test_operations_make_no_more_requests_than_they_may(table: CatalogTable, relay: Relay) -> None:
    def requests_of(action: Callable[[], object]) -> int:
        relay.reset()
        action()
        return relay.total

    assert requests_of(table.to_arrow) <= 22 + 6
    assert requests_of(table.to_arrow) <= 22 + 3, "what never changes is not fetched twice"
    names = [line.split(" ")[1] for line in relay.log]
    assert len(names) == len(set(names)), "nothing is fetched twice in one read"
    assert requests_of(lambda: write(table, 11)) <= 25
    assert requests_of(lambda: compact(None, table, full=True)) <= 64
    for number in range(12, 17):
        write(table, number)
    # Sixteen snapshots go; each is copied to where no reader looks.
    assert requests_of(lambda: expire_snapshots(table, retain_max=2, retain_min=1)) <= 60 + 16
    assert relay.counts["BULK_DELETE"] <= 10
    assert table.to_arrow().num_rows == 20
