"""How rewrites are proved: as the table says, wherever they are carried out, unless the caller says otherwise."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import ChangelogRequest, CompactRequest
from maintenance.operations.databases.compact_database import TableChoice, compact_database
from maintenance.options.own import COMPACTION_PROOF
from tests.kept_plans import (
    apply_changelog,
    apply_compact,
    apply_compact_database,
    plan_compact,
    plan_compact_database,
    preview_changelog,
)
from tests.tables import create_table, get_table, keyed, open_warehouse

CHOICE = TableChoice(tables="db.t")


def of_database(table: CatalogTable, given: dict[str, Any]) -> CompactReport:
    catalog = open_warehouse(Path(table.location).parents[1])
    return compact_database(None, catalog, CHOICE, full=True, **given).reports["db.t"]


def of_changelog_plan(table: CatalogTable, given: dict[str, Any]) -> CompactReport:
    _, plan = preview_changelog(table, ChangelogRequest(**given))
    return apply_changelog(None, table, plan)


def of_planned_database(table: CatalogTable, given: dict[str, Any]) -> CompactReport:
    catalog = open_warehouse(Path(table.location).parents[1])
    plan = plan_compact_database(catalog, CHOICE, CompactRequest(full=True, **given))
    return apply_compact_database(None, catalog, plan).reports["db.t"]


WAYS: dict[str, Callable[[CatalogTable, Any], CompactReport]] = {
    "compact": lambda table, given: compact(None, table, full=True, **given),
    "changelog": lambda table, given: produce_changelog(None, table, **given),
    "plan": lambda table, given: apply_compact(None, table, plan_compact(table, CompactRequest(full=True, **given))),
    "changelog plan": of_changelog_plan,
    "database": of_database,
    "planned database": of_planned_database,
}


def table_in(folder: Path, options: dict[str, str]) -> CatalogTable:
    table = create_table(folder, options={"changelog-producer": "full-compaction", **options})
    for version in "ab":
        table.write_arrow(keyed(dict.fromkeys(range(64), version)))
    return table


def share(report: CompactReport) -> object:
    """One key in so many was proved."""
    assert report.snapshot_ids
    return report.proof["one key in"]


@pytest.mark.parametrize("way", WAYS)
def test_the_tables_option_holds_everywhere(tmp_path: Path, way: str) -> None:
    table = table_in(tmp_path, {COMPACTION_PROOF.key: "sampled"})
    assert share(WAYS[way](table, {})) == 16


@pytest.mark.parametrize("way", WAYS)
def test_the_callers_word_goes_before_the_tables(tmp_path: Path, way: str) -> None:
    table = table_in(tmp_path, {COMPACTION_PROOF.key: "off"})
    assert share(WAYS[way](table, {"proof": "sampled"})) == 16


@pytest.mark.parametrize("way", [way for way in WAYS if "database" not in way])
def test_a_mode_that_does_not_exist_is_refused(tmp_path: Path, way: str) -> None:
    table = table_in(tmp_path, {})
    with pytest.raises(OptionError, match="proof = 'thorough'"):
        WAYS[way](table, {"proof": "thorough"})
    assert table.snapshots.latest_id() == 2


def test_a_wrong_option_of_the_table_is_named(tmp_path: Path) -> None:
    table = table_in(tmp_path, {})
    with pytest.raises(OptionError, match=re.escape(f"'{COMPACTION_PROOF.key}' = 'ful': expected one of")):
        compact(None, table.copy({COMPACTION_PROOF.key: "ful"}), full=True)


def test_compaction_beside_writing_goes_by_the_option_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    inline = {"write-only": "false", "num-sorted-run.compaction-trigger": "2"}
    table = create_table(tmp_path, options={**inline, COMPACTION_PROOF.key: "full"})
    with pytest.raises(OptionError, match=r"'paimon-maintenance\.compaction\.proof' = 'ful'"):
        table.copy({COMPACTION_PROOF.key: "ful"})
    # As somebody else may have set it.
    path = Path(table.paths.schema(0))
    path.write_text(path.read_text().replace('"full"', '"ful"'))
    table = get_table(tmp_path)
    for version in "ab":
        table.write_arrow(keyed(dict.fromkeys(range(64), version)))
    assert "'paimon-maintenance.compaction.proof' = 'ful'" in caplog.text
    assert table.snapshots.latest_id() == 2, "the rows are there, nothing was compacted"
    assert compact(None, table, proof="full", full=True).snapshot_ids == (3,)
