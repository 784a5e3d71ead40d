"""Snapshot files: Paimon's own, round trips, what cannot be read."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.json_object import MAX_MILLIS
from maintenance.format.metadata.snapshot import (
    CommitKind,
    Snapshot,
    json_of_snapshot,
    parse_snapshot,
    serialize_snapshot,
)

DATA = Path(__file__).parent / "data"

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(codec="utf-8"))
SNAPSHOTS = st.builds(
    Snapshot,
    version=st.integers(1, 3),
    id=LONGS,
    schema_id=LONGS,
    base_manifest_list=TEXTS,
    base_manifest_list_size=st.none() | LONGS,
    delta_manifest_list=TEXTS,
    changelog_manifest_list=st.none() | TEXTS,
    index_manifest=st.none() | TEXTS,
    commit_user=TEXTS,
    commit_identifier=LONGS,
    commit_kind=st.sampled_from(CommitKind),
    time_millis=st.integers(-(10**12), MAX_MILLIS),
    total_record_count=LONGS,
    delta_record_count=LONGS,
    changelog_record_count=st.none() | LONGS,
    watermark=st.none() | LONGS,
    statistics=st.none() | TEXTS,
    properties=st.none() | st.dictionaries(TEXTS, TEXTS),
    next_row_id=st.none() | LONGS,
    uuid=st.none() | TEXTS,
    operation=st.none() | TEXTS,
    writer_version=st.none() | TEXTS,
)


def form(**changes: Any) -> bytes:
    values = json.loads((DATA / "snapshot").read_bytes()) | changes
    return json.dumps({key: value for key, value in values.items() if value != "absent"}).encode()


def test_a_snapshot_of_paimon_is_read_and_written_the_same() -> None:
    data = (DATA / "snapshot").read_bytes()
    snapshot = parse_snapshot(data, "snapshot-12")
    assert (snapshot.id, snapshot.commit_kind, snapshot.commit_identifier) == (12, CommitKind.COMPACT, 11)
    assert (snapshot.total_record_count, snapshot.delta_record_count, snapshot.changelog_record_count) == (10, -12, 17)
    assert (snapshot.next_row_id, snapshot.index_manifest, snapshot.properties) == (0, None, None)
    assert list(json.loads(serialize_snapshot(snapshot)).items()) == list(json.loads(data).items())


@given(SNAPSHOTS)
def test_any_snapshot_reads_back_as_it_was(snapshot: Snapshot) -> None:
    assert parse_snapshot(serialize_snapshot(snapshot), "memory") == snapshot


def test_what_is_not_set_is_not_written() -> None:
    bare = parse_snapshot(form(nextRowId="absent", uuid=None, changelogManifestList=None), "memory")
    written = json.loads(serialize_snapshot(bare))
    assert None not in written.values()
    assert not {"nextRowId", "uuid", "operation"} & written.keys()


def test_unknown_keys_and_old_versions() -> None:
    old = form(version="absent", totalRecordCount="absent", deltaRecordCount="absent", logOffsets={"0": 1})
    snapshot = parse_snapshot(old, "memory")
    assert (snapshot.version, snapshot.total_record_count, snapshot.delta_record_count) == (1, 0, 0)


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(CorruptFileError, match=r"id, commitUser is missing \(snapshot-1\)"):
        parse_snapshot(form(id="absent", commitUser=None), "snapshot-1")
    with pytest.raises(CorruptFileError, match=r"timeMillis is 'x', not int \(snapshot-1\)"):
        parse_snapshot(form(timeMillis="x"), "snapshot-1")
    with pytest.raises(UnsupportedError, match=r"snapshot version 4 \(snapshot-1\)"):
        parse_snapshot(form(version=4), "snapshot-1")
    with pytest.raises(UnsupportedError, match=r"commit kind MERGE \(snapshot-1\)"):
        parse_snapshot(form(commitKind="MERGE"), "snapshot-1")
    with pytest.raises(CorruptFileError, match="snapshot-1"):
        parse_snapshot(b'{"version": 3, "i', "snapshot-1")


def test_every_attribute_has_a_key() -> None:
    full: dict[str, Any] = {**{field.name: "x" for field in fields(Snapshot)}, "properties": {}}
    assert len(json_of_snapshot(Snapshot(**full))) == len(fields(Snapshot))
