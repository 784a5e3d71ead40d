"""What a snapshot is, beside its number."""

from dataclasses import replace

import pytest

from maintenance.format.metadata.snapshot import CommitKind, Snapshot, parse_snapshot, serialize_snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity

SNAPSHOT = Snapshot(
    id=7,
    schema_id=0,
    base_manifest_list="manifest-list-a-0",
    delta_manifest_list="manifest-list-a-1",
    commit_user="u",
    commit_identifier=3,
    commit_kind=CommitKind.APPEND,
    time_millis=1_700_000_000_123,
    total_record_count=5,
    delta_record_count=5,
    properties={"b": "1", "a": "2"},
)


def test_it_is_the_same_however_it_was_read() -> None:
    read = parse_snapshot(serialize_snapshot(SNAPSHOT), "snapshot-7")
    identity = SnapshotIdentity.of(read)
    assert identity == SnapshotIdentity.of(SNAPSHOT)
    assert (identity.id, identity.time_millis, identity.is_known) == (7, 1_700_000_000_123, True)


@pytest.mark.parametrize(
    "other",
    [
        replace(SNAPSHOT, delta_manifest_list="manifest-list-b-1"),
        replace(SNAPSHOT, time_millis=SNAPSHOT.time_millis + 1),
        replace(SNAPSHOT, commit_user="v"),
        replace(SNAPSHOT, properties={"a": "2"}),
    ],
)
def test_another_snapshot_of_the_same_number_is_another(other: Snapshot) -> None:
    assert SnapshotIdentity.of(other) != SnapshotIdentity.of(SNAPSHOT)


def test_it_survives_its_text() -> None:
    identity = SnapshotIdentity.of(SNAPSHOT)
    assert SnapshotIdentity.parse(str(identity)) == identity
    assert str(identity).startswith("7@1700000000123-")


@pytest.mark.parametrize("text", [None, 7, "7", "", "7@12", "7@12-xyz", "a@1-0123456789abcdef", ["7"]])
def test_anything_else_is_no_identity(text: object) -> None:
    assert SnapshotIdentity.parse(text) is None


def test_a_number_alone_is_the_same_as_no_snapshot() -> None:
    numbered = SnapshotIdentity.numbered(7)
    assert not numbered.is_known
    assert numbered != SnapshotIdentity.of(SNAPSHOT)
