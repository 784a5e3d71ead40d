"""A run's process loads the tables of that run alone, whether it was launched as a job or from an asset's page."""

from collections.abc import Iterable
from pathlib import Path

import dagster as dg
import pytest

from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.scope import scoped, tables_of, within_run
from paimon_maintenance.definitions import build_definitions
from tests.tables import create_table

ASSETS = "__ASSET_JOB"


def run(
    job: str, table: str | None = None, assets: Iterable[dg.AssetKey] = (), checks: Iterable[dg.AssetCheckKey] = ()
) -> dg.DagsterRun:
    return dg.DagsterRun(
        job,
        tags={"paimon/table": table} if table else {},
        asset_selection=frozenset(assets) or None,
        asset_check_selection=frozenset(checks) or None,
    )


@pytest.mark.parametrize(
    ("launched", "tables"),
    [
        (run("compact_db_t", "db.t"), {"db.t"}),
        (run("fsck_db_t", "db.t"), {"db.t"}),
        (run("compact_db_t", "db.other"), set()),
        (run("expire_all"), set()),
        (run("expire", "db.t"), set()),
        (run("compact_database"), set()),
        (run(ASSETS, assets=[keys.asset_key("db.t")]), {"db.t"}),
        (run(ASSETS, assets=[keys.compaction("db.t"), keys.changelog("db.u")]), {"db.t", "db.u"}),
        (run(ASSETS, checks=[dg.AssetCheckKey(keys.asset_key("db.t"), "fsck")]), {"db.t"}),
        (run(ASSETS, assets=[keys.asset_key("db.t"), dg.AssetKey("alone")]), set()),
        (run("tags_daily", assets=[keys.tags("db.t")]), set()),
    ],
)
def test_the_tables_of_a_run(launched: dg.DagsterRun, tables: set[str]) -> None:
    """No name stands for all tables."""
    assert tables_of(launched) == tables


@pytest.fixture
def many(tmp_path: Path) -> Project:
    for name in ("db.a", "db.b", "db.c"):
        create_table(tmp_path, name=name, options={"file.format": "orc"})
    described = [{"identifier": "db.b", "lineage": {"db.a": {}}, "compaction": {"trigger": 7}}]
    patterns = [{"pattern": "db.*", "owners": ["team:all"]}]
    return Project.model_validate({"warehouse": str(tmp_path), "patterns": patterns, "tables": described})


def test_within_a_run_there_are_its_tables_and_what_they_are_made_from(many: Project) -> None:
    whole = build_definitions(many).resolve_job_def("compact_db_b")
    with within_run(run("compact_db_b", "db.b")):
        narrow = scoped(many)
    assert [table.identifier for table in narrow.tables] == ["db.b", "db.a"]
    assert narrow.tables[0].owners == ("team:all",)
    assert narrow.tables[0].compaction.trigger == 7
    definitions = build_definitions(narrow)
    names = {job.name for job in definitions.resolve_all_job_defs()}
    assert {"compact_db_a", "compact_db_b"} <= names
    assert "compact_db_c" not in names
    job = definitions.resolve_job_def("compact_db_b")
    assert job.get_job_snapshot_id() == whole.get_job_snapshot_id()


def test_outside_of_a_run_and_for_a_table_that_is_not_known_there_are_all(many: Project) -> None:
    assert scoped(many) is many
    with within_run(run("compact_other_t", "other.t")):
        assert scoped(many) is many


def test_a_single_asset_of_a_partial_project_is_as_in_the_whole(many: Project) -> None:
    key = keys.asset_key("db.b")
    whole = build_definitions(many).resolve_asset_graph().get(key)
    with within_run(run(ASSETS, assets=[key])):
        graph = build_definitions(scoped(many)).resolve_asset_graph()
    assert graph.get(key).metadata == whole.metadata
    assert graph.get(key).parent_keys == whole.parent_keys == {keys.asset_key("db.a")}
    assert graph.get(keys.asset_key("db.a")).metadata["dagster/uri"]
