"""Options with values that no computer can hold: each is used, or refused by name."""

import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable, Schema
from maintenance.errors import OptionError, PaimonError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_tag import create_tag
from maintenance.table.stream import TableStream
from tests.examples import examples
from tests.tables import create_table, keyed, open_warehouse, state
from tests.unit.options.test_table_options import ALL

FIELDS = [("day", "STRING NOT NULL"), ("id", "BIGINT NOT NULL"), ("v", "STRING")]
HUGE = (
    "0", "-1", "1", "9" * 25, "9" * 5000, "-" + "9" * 25, str(2**31), str(2**63), str(2**63 - 1), "nan", "inf", "1e400",
    "9999999 d", "999999999999 d", "9" * 20 + " g", "PT9999999999999H", "", " ", "\0", "0 d", "0 b", "1 b",
    f"truncate({'9' * 20})", "0:x", "9" * 14 + ":avro",
)  # fmt: skip


@settings(max_examples=examples(120))
@given(st.sampled_from(sorted(ALL)), st.sampled_from(HUGE), st.booleans())
def test_whatever_an_option_says(key: str, value: str, has_key: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(PaimonError):
        options = {"bucket": "1" if has_key else "-1", key: value}
        keys = ["day", "id"] if has_key else []
        open_warehouse(folder).create_table("db.t", Schema(FIELDS, keys, ["day"], options))
        table = open_warehouse(folder).get_table("db.t")
        assert isinstance(table, CatalogTable)
        for number in range(2):
            table.write_arrow(pa.table({"day": ["2020-01-01"], "id": [number], "v": ["a"]}))
        for use in (
            lambda: table.to_arrow(where="v = 'a'"),
            lambda: compact(None, table),
            lambda: create_tag(table, "x"),
            lambda: expire_snapshots(table),
            lambda: expire_tags(table),
            lambda: expire_partitions(table),
            lambda: compact(None, table, full=True),
            lambda: TableStream(table).end(),
        ):
            with suppress(PaimonError):
                use()


def test_what_is_kept_for_longer_than_calendars_last_is_kept(tmp_path: Path) -> None:
    options = {
        "snapshot.time-retained": "9999999 d",
        "consumer.expiration-time": "9999999 d",
        "snapshot.num-retained.min": "1",
    }
    table = create_table(tmp_path, options=options)
    for number in range(3):
        table.write_arrow(keyed({number: "a"}))
    create_tag(table, "old", snapshot_id=1, time_retained=timedelta(days=9_999_999))
    assert expire_snapshots(table).expired == ()
    assert expire_tags(table).expired == ()
    assert state(table) == {0: "a", 1: "a", 2: "a"}


@pytest.mark.parametrize("levels", ["0", "1", "-1", str(2**31 * 2**31 * 4)])
def test_a_tree_has_two_levels(tmp_path: Path, levels: str) -> None:
    with pytest.raises(OptionError, match=r"'num-levels' = .*: expected an integer"):
        create_table(tmp_path, options={"num-levels": levels})
