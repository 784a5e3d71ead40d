"""The advisor proposes what leaves out files and rows, and its proposal holds when it is followed."""

from pathlib import Path

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.metastore.schema_change import SetOption
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.indexes.advise_file_index import advise_file_index, filters_of_log
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from tests.tables import create_table, get_table, open_warehouse


def readings(tmp_path: Path) -> CatalogTable:
    """Eight files over the same ranges: statistics leave out none of them."""
    table = create_table(tmp_path, (("city", "STRING"), ("degrees", "INT"), ("note", "STRING")), ())
    for file in range(8):
        rows = range(100)
        table.write_arrow(
            pa.table(
                {
                    "city": [f"town {8 * row + file:03d}" for row in rows],
                    "degrees": pa.array([8 * row + file for row in rows], pa.int32()),
                    "note": ["the same"] * 100,
                }
            )
        )
    return table


def test_the_proposal_holds_when_it_is_followed(tmp_path: Path) -> None:
    table = readings(tmp_path)
    filters = ("city = 'town 100'", "degrees BETWEEN 17 AND 20", "note = 'the same'")
    assert [explain_scan(table, where).kept for where in filters] == [8, 8, 8]
    advice = advise_file_index(table, filters)
    assert advice.sampled_files == 8
    assert {candidate.column for candidate in advice.candidates} == {"city", "degrees", "note"}
    by_name = {(actual.kind, actual.column): actual for actual in advice.candidates}
    assert by_name["bloom-filter", "city"].files_pruned >= 6
    assert by_name["bsi", "degrees"].files_pruned == 4
    assert ("bloom-filter", "degrees") not in by_name
    assert all(actual.index_bytes > 0 and actual.build_seconds > 0 for actual in advice.candidates)
    columns = {
        column for key, value in advice.options.items() if key.endswith(".columns") for column in value.split(",")
    }
    assert columns == {"city", "degrees"}
    assert advice.rewrite_files == 8
    assert advice.rewrite_bytes > 0
    assert "ALTER TABLE db.t SET" in str(advice)
    changes = [SetOption(key, value) for key, value in advice.options.items()]
    open_warehouse(tmp_path).alter_table("db.t", changes)
    table = get_table(tmp_path)
    report = rewrite_file_index(None, table)
    assert report.written_files == 8
    assert explain_scan(table, filters[0]).kept == 1
    assert explain_scan(table, filters[1]).kept == 4
    assert explain_scan(table, filters[1]).rows == 4


def test_filters_that_no_index_helps(tmp_path: Path) -> None:
    advice = advise_file_index(readings(tmp_path), ["note LIKE '%same%'", "degrees >= 0"], sample_files=2)
    assert advice.sampled_files == 2
    assert advice.options == {}
    assert "no index helps" in str(advice)


def test_a_table_without_files_or_filters(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("a", "INT"),), ())
    advice = advise_file_index(table, ["a = 1"])
    assert (advice.sampled_files, advice.options) == (0, {})
    assert advise_file_index(table, []).options == {}


def test_filters_of_a_log() -> None:
    log = """
    SELECT * FROM db.t WHERE city = 'a' ORDER BY degrees;
    select count(*) from db.t where degrees > 3 group by city;
    SELECT 1;
    SELECT * FROM db.t WHERE city = 'a' LIMIT 5
    """
    assert filters_of_log(log) == ("city = 'a'", "degrees > 3")
