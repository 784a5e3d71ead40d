"""Rows whose partitions were chosen by the keys of one snapshot, and what others commit before they are committed."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import ConflictError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows
from tests.tables import create_table, get_table

FIELDS = (("k", "INT NOT NULL"), ("p", "STRING"))


def rows(keys: dict[int, str]) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int32()), "p": list(keys.values())})


def compacted(table: CatalogTable) -> None:
    compact(None, table, full=True)


def expired(table: CatalogTable) -> None:
    compacted(table)
    table.write_arrow(rows({7: "z"}))
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)


@pytest.mark.parametrize(
    ("meanwhile", "is_committed"),
    [
        (lambda table: None, True),
        (compacted, True),
        (lambda table: table.write_arrow(rows({7: "z"})), False),
        (expired, False),
    ],
    ids=["nothing", "compaction", "rows", "unknown"],
)
@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
def test_only_compactions_may_have_come(
    tmp_path: Path, meanwhile: Callable[[CatalogTable], object], is_committed: bool, first: bool
) -> None:
    table = create_table(tmp_path, FIELDS, ("k",), {"bucket": "-1"}, partition_keys=("p",))
    if not first:
        table.write_arrow(rows({1: "x"}))
        table.write_arrow(rows({2: "x"}))
    context, state = table.write_context(), table.write_state("slow")
    messages = write_rows(context, state, conform(rows({1: "y"}), None, context))
    meanwhile(get_table(tmp_path))
    identity = CommitIdentity("slow")
    if is_committed:
        append_or_abort(table.commit_target(), messages, identity, state=state)
    else:
        with pytest.raises(ConflictError, match="keys"):
            append_or_abort(table.commit_target(), messages, identity, state=state)
    actual = {row["k"]: row["p"] for row in get_table(tmp_path).to_arrow().to_pylist()}
    before = {} if first else {1: "x", 2: "x"}
    assert actual == before | ({1: "y"} if is_committed else {7: "z"})
