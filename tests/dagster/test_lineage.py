"""Steps of runs as events of OpenLineage: what they name, and that nothing depends on who listens."""

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.project.config import Fleet, Project, SparkConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.lineage import dataset_name
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import Receiver, definitions_of, land

Sink = tuple[str, type[Receiver]]
SPECIFICATION = Path(__file__).parent / "openlineage"
EVENTS = "https://openlineage.io/spec/2-0-2/OpenLineage.json"


@pytest.fixture
def listening(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> type[Receiver]:
    url, handler = receiver
    monkeypatch.setenv("OPENLINEAGE_URL", url.removesuffix("/hook"))
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "lake")
    return handler


def filled(project: Project, commits: int = 2) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(commits):
        table.write_arrow(pa.table({"page": [f"{number}"], "seconds": pa.array([number], pa.int32())}))


def compacted(project: Project, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    job = definitions_of(project).resolve_job_def("compact_shop_visits")
    return job.execute_in_process(instance=instance, raise_on_error=False)


@cache
def specification() -> tuple[Any, Any]:
    """The schemas of OpenLineage's specification by their $id, and of an event as it is sent.

    Imported here, since their grammars of formats take seconds to build, and each worker collects all tests.
    """
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
    from referencing import Registry, Resource

    contents = [json.loads(path.read_text()) for path in SPECIFICATION.rglob("*.json")]
    registry: Any = Registry().with_resources([(one["$id"], Resource.from_contents(one)) for one in contents])
    event = {"$ref": f"{EVENTS}#/$defs/RunEvent"}
    return registry, Draft202012Validator(event, registry=registry, format_checker=Draft202012Validator.FORMAT_CHECKER)


def facets_of(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those of an event, with their names."""
    for one in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
        for name in ("facets", "inputFacets", "outputFacets"):
            yield from (one.get(name) or {}).items()


def must_fit(event: dict[str, Any]) -> None:
    """The event as the schema that it names says, and each of its facets as the one that that one names."""
    registry, validator = specification()
    assert event["schemaURL"] == validator.schema["$ref"]
    found = [str(error) for error in validator.iter_errors(event)]
    for name, facet in facets_of(event):
        held = validator.evolve(schema={"$ref": facet["_schemaURL"]})
        found += [f"{name}: {error}" for error in held.iter_errors(facet)]
        # A name that the schema's file gives to no facet would be one of our own.
        document = registry.get_or_retrieve(facet["_schemaURL"].partition("#")[0]).value.contents
        assert name in document["properties"]
        defined = document["$defs"][facet["_schemaURL"].rpartition("/")[2]]["allOf"][1]["properties"]
        assert set(facet) <= {*defined, "_producer", "_schemaURL", "_deleted"}, (
            f"{name} has what its schema does not say"
        )
    assert not found, "\n".join(found)


def broken(project: Project) -> None:
    """The manifests of shop.visits are gone."""
    table = PaimonCatalog(warehouse=project.warehouse).get_table("shop.visits")
    for path in table.file_io.list_tree(f"{table.location}/manifest"):
        table.file_io.delete_quietly([f"{table.location}/manifest/{path.path}"])


@pytest.mark.slow
def test_events_are_as_the_specification_says(
    project: Project, instance: dg.DagsterInstance, listening: type[Receiver]
) -> None:
    settings = {"fleet": Fleet(budget={"seconds": 3600}), "spark": SparkConfig(engine="embedded")}
    work: dict[str, Any] = {"ops": {"work_within_budget": {"config": {}}}}
    tables: dict[str, Any] = {"ops": {"compact_tables": {"config": {}}}}
    land(project, 1, 1, [(1, "new", "+I"), (2, "new", "+I")])
    filled(project, commits=5)
    definitions = build_definitions(project.model_copy(update=settings))

    def ran(job: str, config: dict[str, Any] | None = None) -> bool:
        made = definitions.resolve_job_def(job)
        return made.execute_in_process(run_config=config, instance=instance, raise_on_error=False).success

    assert ran("ingest_shop_orders")
    assert ran("plan_fleet", work)
    filled(project, commits=5)
    assert ran("compact_database", tables)
    assert ran("expire")
    broken(project)
    assert not ran("compact_shop_visits")
    assert not ran("compact_database", tables)
    for event in listening.received:
        must_fit(event)
    told = {(event["job"]["name"], event["eventType"]) for event in listening.received}
    begun = {(name, "START") for name, _ in told}
    assert told == begun | {
        ("ingest_shop_orders.ingest", "COMPLETE"),
        ("plan_fleet.compact", "COMPLETE"),
        ("compact_database.compact_database", "COMPLETE"),
        ("compact_database.compact_database", "FAIL"),
        ("compact_shop_visits.compact", "FAIL"),
        *((f"expire.{step}", "COMPLETE") for step in ("tag", "expire_snapshots", "expire_tags")),
    }
    facets = {name for event in listening.received for name, _ in facets_of(event)}
    # The client adds tags that name itself.
    of_tables = {"schema", "symlinks", "storage", "version", "inputStatistics", "outputStatistics"}
    assert facets == {"parent", "errorMessage", "tags", *of_tables}


def test_what_the_specification_does_not_allow_is_found(
    project: Project, instance: dg.DagsterInstance, listening: type[Receiver]
) -> None:
    filled(project)
    assert compacted(project, instance).success
    event = listening.received[-1]
    must_fit(event)
    for path, value in (
        ("run/runId", "1"),
        ("eventTime", "yesterday"),
        ("eventType", "DONE"),
        ("producer", "paimon maintenance"),
        ("run/facets/parent/job/name", None),
        ("outputs/0/facets/schema/fields/0/name", 1),
        ("outputs/0/outputFacets/outputStatistics/rowCount", "two"),
        ("outputs/0/facets/storage/_producer", None),
        ("outputs/0/facets/storage/ours", "more"),
    ):
        changed = json.loads(json.dumps(event))
        *way, last = path.split("/")
        inside = changed
        for step in way:
            inside = inside[int(step)] if step.isdigit() else inside[step]
        inside[last] = value
        if value is None:
            del inside[last]
        with pytest.raises(AssertionError):
            must_fit(changed)


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
    broken(project)
    assert not compacted(project, instance).success
    failed = [event for event in listening.received if event["eventType"] == "FAIL"]
    assert failed
    assert failed[0]["run"]["facets"]["errorMessage"]["message"]
    assert failed[0]["outputs"] == []


def test_a_run_does_not_depend_on_who_listens(
    project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nobody is there; by itself the client asks for nine seconds.
    for name, value in (("TYPE", "http"), ("URL", "http://127.0.0.1:9"), ("RETRY", '{"total": 0}')):
        monkeypatch.setenv(f"OPENLINEAGE__TRANSPORT__{name}", value)
    filled(project)
    assert compacted(project, instance).success


def test_datasets_are_named_by_their_place() -> None:
    assert dataset_name("s3://lake/w/a.db/b") == ("s3://lake", "w/a.db/b")
    assert dataset_name("hdfs://node:8020/w/a.db/b") == ("hdfs://node:8020", "w/a.db/b")
    assert dataset_name("/data/w/a.db/b") == dataset_name("file:///data/w/a.db/b") == ("file", "/data/w/a.db/b")
