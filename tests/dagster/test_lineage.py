"""Steps of runs as events of OpenLineage: what they name, and that nothing depends on who listens."""

import pkgutil
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit
from uuid import UUID

import attr
import dagster as dg
import pyarrow as pa
import pytest
from openlineage.client import generated
from openlineage.client.generated import base

from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.lineage import dataset_name
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import Receiver

Sink = tuple[str, type[Receiver]]


def must_fit(value: Any, schema: Any) -> None:
    """Imported here, since its grammars of formats take seconds to build, and each worker collects all tests."""
    from jsonschema import ValidationError, validate  # type: ignore[import-untyped]

    try:
        validate(value, schema)
    except ValidationError as error:
        raise AssertionError(str(error)) from error


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


def as_schema(kind: Any, inside: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The JSON schema of a class that OpenLineage's client has from the specification, or of a type in it."""
    if get_origin(kind) in (Union, UnionType):
        return {"anyOf": [as_schema(part, inside) for part in get_args(kind)]}
    if get_origin(kind) is list:
        return {"type": "array", "items": as_schema(get_args(kind)[0], inside)}
    if get_origin(kind) is dict or kind in inside:
        return {"type": "object"}
    if issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if not attr.has(kind):
        return {"type": {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}[kind]}
    hints = get_type_hints(kind)
    names = [field.name for field in attr.fields(kind)]
    required = [field.name for field in attr.fields(kind) if field.default is attr.NOTHING]
    of_all = [name for name in names if name in ("producer", "schemaURL", "_producer", "_schemaURL")]
    return {
        "type": "object",
        "properties": {name: as_schema(hints[name], (*inside, kind)) for name in names},
        "required": [*required, *of_all],
        "additionalProperties": False,
    }


FACETS = {
    kind._get_schema(): kind
    for module in pkgutil.iter_modules(generated.__path__)
    for kind in vars(import_module(f"{generated.__name__}.{module.name}")).values()
    if isinstance(kind, type) and attr.has(kind) and issubclass(kind, base.BaseFacet)
}


def valid_facets(event: dict[str, Any]) -> Iterator[str]:
    """The names of the facets of an event, each valid by the class that its schema names."""
    datasets = [*event["inputs"], *event["outputs"]]
    held = [event["run"], event["job"], *datasets]
    groups = [one.get(name) or {} for one in held for name in ("facets", "inputFacets", "outputFacets")]
    for name, facet in (pair for group in groups for pair in group.items()):
        must_fit(facet, as_schema(FACETS[facet["_schemaURL"]]))
        yield name


def test_events_are_as_the_specification_says(
    project: Project, instance: dg.DagsterInstance, listening: type[Receiver]
) -> None:
    filled(project)
    assert compacted(project, instance).success
    table = PaimonCatalog(warehouse=project.warehouse).get_table("shop.visits")
    for path in table.file_io.list_tree(f"{table.location}/manifest"):
        table.file_io.delete_quietly([f"{table.location}/manifest/{path.path}"])
    assert not compacted(project, instance).success
    facets = set()
    for event in listening.received:
        must_fit(event, as_schema(base.RunEvent))
        facets |= {*valid_facets(event)}
    assert {event["eventType"] for event in listening.received} == {"START", "COMPLETE", "FAIL"}
    assert facets >= {"parent", "errorMessage", "schema", "symlinks", "storage", "version", "outputStatistics"}
    broken = {**listening.received[0], "run": {}}
    with pytest.raises(AssertionError, match="runId"):
        must_fit(broken, as_schema(base.RunEvent))


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
