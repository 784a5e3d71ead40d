"""Steps of runs as events of OpenLineage: what they name, and that nothing depends on who listens."""

from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

import dagster as dg
import pyarrow as pa
import pytest

from paimon_maintenance.assets.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.lineage import dataset_name
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import Receiver

Sink = tuple[str, type[Receiver]]


@pytest.fixture
def listening(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> type[Receiver]:
    url, handler = receiver
    monkeypatch.setenv("OPENLINEAGE_URL", url.removesuffix("/hook"))
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "lake")
    return handler


def filled(project: Project) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(2):
        table.write_arrow(pa.table({"page": [f"{number}"], "seconds": pa.array([number], pa.int32())}))


def compacted(project: Project, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = build_definitions(project).resolve_job_def("compact_shop_visits")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def test_a_step_begins_and_ends_as_a_part_of_its_run(
    project: Project, instance: dg.DagsterInstance, listening: type[Receiver]
) -> None:
    filled(project)
    result = compacted(project, instance)
    assert result.success
    events = [event for event in listening.received if event["job"]["name"] == "compact_shop_visits.compact"]
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    begun, ended = events
    assert begun["run"]["runId"] == ended["run"]["runId"] != result.run_id
    assert UUID(begun["run"]["runId"])
    parent = ended["run"]["facets"]["parent"]
    assert (parent["run"]["runId"], parent["job"]["name"]) == (result.run_id, "compact_shop_visits")
    assert {event["job"]["namespace"] for event in events} == {"lake"}
    (table,) = ended["outputs"]
    assert (table["namespace"], table["name"]) == ("file", f"{project.warehouse}/shop.db/visits")
    facets = table["facets"]
    assert facets["symlinks"]["identifiers"][0]["name"] == "shop.visits"
    assert [field["name"] for field in facets["schema"]["fields"]] == ["page", "seconds"]
    assert facets["storage"]["storageLayer"] == "paimon"
    assert facets["version"]["datasetVersion"] == str(
        PaimonCatalog(warehouse=project.warehouse).get_table("shop.visits").snapshots.latest_id()
    )
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert begun["inputs"][0]["name"] == table["name"]
    # The specification wants URIs, and times with their zone.
    everything = [*facets.values(), *table["outputFacets"].values(), parent]
    producers = {ended["producer"], *(facet["_producer"] for facet in everything)}
    assert producers == {"urn:paimon-maintenance"}
    assert all(urlsplit(facet["_schemaURL"]).scheme for facet in everything)
    assert datetime.fromisoformat(ended["eventTime"]).tzinfo is not None


def test_a_failure_has_its_message(project: Project, instance: dg.DagsterInstance, listening: type[Receiver]) -> None:
    filled(project)
    table = PaimonCatalog(warehouse=project.warehouse).get_table("shop.visits")
    for path in table.file_io.list_tree(f"{table.location}/manifest"):
        table.file_io.delete_quietly([f"{table.location}/manifest/{path.path}"])
    assert not compacted(project, instance).success
    failed = [event for event in listening.received if event["eventType"] == "FAIL"]
    assert failed
    assert failed[0]["run"]["facets"]["errorMessage"]["message"]
    assert failed[0]["outputs"] == []


def test_a_run_does_not_depend_on_who_listens(
    project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    filled(project)
    assert compacted(project, instance).success


def test_datasets_are_named_by_their_place() -> None:
    assert dataset_name("s3://lake/w/a.db/b") == ("s3://lake", "w/a.db/b")
    assert dataset_name("hdfs://node:8020/w/a.db/b") == ("hdfs://node:8020", "w/a.db/b")
    assert dataset_name("/data/w/a.db/b") == dataset_name("file:///data/w/a.db/b") == ("file", "/data/w/a.db/b")
