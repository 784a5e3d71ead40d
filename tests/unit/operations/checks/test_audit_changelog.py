"""The auditor finds nothing wrong with our changelogs, and finds what is wrong with others."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.merge.changelog_proof import Break
from maintenance.metadata.manifests import ManifestWriter
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from tests.examples import examples
from tests.small_tables import put, small_table

ENGINES = {
    "deduplicate": {},
    "ignoring what is the same": {"changelog-producer.row-deduplicate": "true"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"},
}
Rows = list[tuple[int, str, str]]
KEYS = st.integers(0, 6)
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("write"),
            st.lists(st.tuples(KEYS, st.sampled_from("ab"), st.sampled_from(["+I", "+U", "-D"])), min_size=1),
        ),
        st.tuples(st.just("produce"), st.none()),
        st.tuples(st.just("full"), st.none()),
    ),
    min_size=2,
    max_size=8,
)


def written(table: CatalogTable, rows: Rows) -> None:
    keys, texts, kinds = zip(*rows, strict=True)
    data = pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(texts, pa.string())})
    table.write_arrow(data, list(kinds))


@settings(max_examples=examples(20))
@given(STEPS, st.sampled_from(["input", "lookup", "full-compaction"]), st.sampled_from(sorted(ENGINES)), st.data())
def test_changelogs_that_we_make_of_any_history_hold(
    steps: list[tuple[str, Rows | None]], producer: str, engine: str, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = small_table(Path(folder), {"changelog-producer": producer, **ENGINES[engine]})
        put(table, dict.fromkeys(range(3), "a"))
        for what, rows in steps:
            if rows is not None:
                written(table, rows)
            elif what == "full":
                compact(None, table, full=True)
            elif producer != "input":
                produce_changelog(None, table)
        latest = table.snapshots.latest_id() or 0
        start = data.draw(st.integers(0, latest))
        end = data.draw(st.integers(start, latest))
        for span in ((0, latest), (start, end)):
            report = audit_changelog(None, table, *span)
            assert report.holds, report
            assert report.images or producer == "input"


def produced(folder: Path, options: Mapping[str, str] | None = None) -> CatalogTable:
    """Snapshots 2, 4, 6 and 8 have changelog, the third one a deletion."""
    table = small_table(folder, {"changelog-producer": "lookup", "bucket": "1", **(options or {})})
    for i in range(4):
        put(table, {1: f"{i}", 10 + i: "x"}, deleted=[11] if i == 2 else [])
        produce_changelog(None, table)
    return table


def change_file(table: CatalogTable, snapshot_id: int, change: Callable[[pa.Table], pa.Table]) -> None:
    """Let the changelog file of a snapshot hold other rows."""
    import pyarrow.parquet as pq

    snapshot = table.snapshots.get(snapshot_id)
    (entry,) = table.manifests.changelog_entries(snapshot)
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    rows = pq.read_table(path, partitioning=None)
    changed = change(rows)
    pq.write_table(changed, path)
    # The manifest knows the number of rows, so it has to be told.
    (meta,) = table.manifests.read_list(snapshot.changelog_manifest_list or "")
    writer = _manifest_writer(table)
    file = replace(entry.file, row_count=changed.num_rows, file_size=Path(path).stat().st_size)
    (new,) = writer.write([replace(entry, file=file)], table.schema.id)
    name, size = writer.write_list([new])
    assert meta.file_name != new.file_name
    snapshot = replace(snapshot, changelog_manifest_list=name, changelog_manifest_list_size=size)
    table.file_io.overwrite(table.paths.snapshot(snapshot_id), serialize_snapshot(snapshot))


def _manifest_writer(table: CatalogTable) -> ManifestWriter:
    from maintenance.commit.staging import manifest_writer as writer

    return writer(table.commit_target())


def without(kind: int) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: rows.filter(pa.compute.not_equal(rows["_VALUE_KIND"], kind))


def doubled(kind: int) -> Callable[[pa.Table], pa.Table]:
    return lambda rows: pa.concat_tables([rows, rows.filter(pa.compute.equal(rows["_VALUE_KIND"], kind))])


def with_value(kind: int, value: str) -> Callable[[pa.Table], pa.Table]:
    def change(rows: pa.Table) -> pa.Table:
        hit = pa.compute.equal(rows["_VALUE_KIND"], kind)
        at = rows.schema.get_field_index("v")
        return rows.set_column(at, rows.schema.field(at), pa.compute.if_else(hit, value, rows["v"]))

    return change


@pytest.mark.parametrize(
    ("change", "what", "key"),
    [
        (without(3), Break.NOT_THERE, "k=11"),
        (doubled(0), Break.THERE_ALREADY, "k=12"),
        (with_value(0, "other"), Break.OTHER_ROW, "k=12"),
        (with_value(1, "other"), Break.OTHER_VALUES, "k=1"),
        (without(1), Break.THERE_ALREADY, "k=1"),
        (without(2), Break.NOTHING_TO_RETRACT, "k=1"),
        (without(0), Break.NOT_MADE, "k=12"),
        (doubled(3), Break.NOTHING_TO_RETRACT, "k=11"),
    ],
)
def test_what_is_wrong_is_found_and_where(
    tmp_path: Path, change: Callable[[pa.Table], pa.Table], what: Break, key: str
) -> None:
    table = produced(tmp_path)
    assert audit_changelog(None, table).holds
    change_file(table, 6, change)
    report = audit_changelog(None, table)
    assert not report.holds
    assert (report.first_bad, report.first_bad_kind) == (6, "COMPACT")
    assert report.wrong_keys == 1
    assert (report.examples[0].key, report.examples[0].what) == (key, what)
    assert "fails for 1 keys, first in snapshot 6" in str(report)
    assert audit_changelog(None, table, 0, 5).holds
    assert audit_changelog(None, table, 6, 8).holds


def test_an_input_that_was_lost_is_found(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"changelog-producer": "input", "bucket": "1"})
    put(table, {1: "a", 2: "b"})
    put(table, {1: "c"}, deleted=[2])
    put(table, {3: "d"})
    report = audit_changelog(None, table)
    assert (report.holds, report.complete, report.images) == (True, True, False)
    change_file(table, 2, without(3))
    report = audit_changelog(None, table)
    assert (report.holds, report.first_bad) == (False, 2)
    assert [(e.key, e.what) for e in report.examples] == [("k=2", Break.NOT_THERE)]


def test_it_says_whether_commits_were_merged(tmp_path: Path) -> None:
    table = produced(tmp_path)
    assert audit_changelog(None, table).complete
    put(table, {1: "in between"})
    put(table, {1: "last"})
    report = audit_changelog(None, table)
    assert (report.complete, report.pending_files) == (True, 2)
    produce_changelog(None, table)
    report = audit_changelog(None, table)
    assert (report.holds, report.complete, report.pending_files) == (True, False, 0)
    assert "is net" in str(report)


def test_columns_that_make_no_change_do_not_count(tmp_path: Path) -> None:
    ignoring = {
        "changelog-producer.row-deduplicate": "true",
        "changelog-producer.row-deduplicate-ignore-fields": "v",
    }
    table = produced(tmp_path, ignoring)
    report = audit_changelog(None, table)
    assert (report.holds, report.changes) == (True, 6)


def test_it_refuses_what_it_cannot_audit(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no changelog to audit"):
        audit_changelog(None, small_table(tmp_path / "none"))
    table = produced(tmp_path / "lookup")
    with pytest.raises(OptionError, match="Name the earlier snapshot"):
        audit_changelog(None, table, 3, 2)
    with pytest.raises(NotFoundError):
        audit_changelog(None, table, 0, 99)
    assert audit_changelog(None, small_table(tmp_path / "empty", {"changelog-producer": "input"})).holds
