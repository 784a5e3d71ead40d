"""What is stable, as one document: ``python -m tests.releases.surface > tests/releases/X.Y.Z/surface.json``.

See docs/releases.md. A function has its parameters, those that must be given marked by ``!``; a class its public names;
a command its options; a setting of tables.yaml its place.
"""

import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import dagster as dg

import maintenance as pm
from maintenance.cli.main import cli
from maintenance.operations.operation import all_operations
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.definitions import build_definitions

Surface = dict[str, dict[str, list[str]]]
_TABLES = """
warehouse: warehouse
tables:
  - identifier: shop.orders
    columns: {id: BIGINT NOT NULL, day: STRING NOT NULL, v: STRING}
    primary_keys: [id, day]
    partition_keys: [day]
    options: {bucket: 1, write-only: true, changelog-producer: lookup, file-index.bloom-filter.columns: v}
    landing: {path: landing, commit_user: shop}
    tuning: propose
    orphans: {minimum_age: 1 d}
"""


def surface() -> Surface:
    """Part -> name -> what belongs to it."""
    return {
        "python": {name: sorted(_members(getattr(pm, name))) for name in dir(pm) if name not in _modules()},
        **{f"maintenance.{name}": _of_module(getattr(pm, name)) for name in _modules()},
        "CALL": {name: sorted(_parameters(each.request)) for name, each in all_operations().items()},
        "paimonctl": _of_commands(),
        "tables.yaml": {"settings": sorted(_settings(Project.model_json_schema()))},
        "dagster": _of_dagster(),
    }


def missing(released: Surface, now: Surface) -> list[str]:
    """What a release had and is gone, or must be given now and had not to be."""
    gone = []
    for part, names in released.items():
        for name, members in names.items():
            present = now.get(part, {}).get(name)
            if present is None:
                gone.append(f"{part}: {name}")
                continue
            bare = {each.removesuffix("!") for each in present}
            gone += [f"{part}: {name}: {each}" for each in members if each.removesuffix("!") not in bare]
            new = {each for each in present if each.endswith("!")} - set(members)
            gone += [f"{part}: {name}: {each.removesuffix('!')} must be given" for each in sorted(new)]
    return gone


def _modules() -> tuple[str, ...]:
    return ("catalog", "errors", "operations", "sql")


def _of_module(module: Any) -> dict[str, list[str]]:
    own = [name for name, each in vars(module).items() if getattr(each, "__module__", None) == module.__name__]
    names = getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]
    return {name: sorted(_members(getattr(module, name))) for name in names}


def _members(what: Any) -> Iterator[str]:
    if inspect.isclass(what):
        for name, member in inspect.getmembers(what):
            if not name.startswith("_"):
                yield name
                if inspect.isfunction(member):
                    yield from (f"{name}({each})" for each in _given(member) if each.removesuffix("!") != "self")
        yield from (f"({each})" for each in _given(what.__init__) if each.removesuffix("!") != "self")
    elif callable(what):
        yield from _given(what)


def _given(function: Any) -> Iterator[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    for each in parameters:
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            yield each.name if each.default is not each.empty else f"{each.name}!"


def _parameters(request: Any) -> Iterator[str]:
    yield from (name for name in getattr(request, "__dataclass_fields__", {}))


def _of_commands() -> dict[str, list[str]]:
    with click.Context(cli) as context:
        commands = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: sorted(_options(command)) for name, command in commands.items() if command is not None}


def _options(command: click.Command) -> Iterator[str]:
    for each in command.params:
        yield from each.opts if isinstance(each, click.Option) else [each.human_readable_name]


def _settings(schema: Mapping[str, Any]) -> Iterator[str]:
    """The places of settings, as `fleet.budget.seconds`; of lists and of choices those of each form."""

    def resolved(part: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
        reference = part.get("$ref", "").rpartition("/")[2]
        if reference and reference not in names:
            yield from inside(definitions[reference], (*names, reference))
        yield from inside(part, names)

    def inside(part: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
        for name, each in part.get("properties", {}).items():
            yield name
            yield from (f"{name}.{below}" for below in resolved(each, names))
        for key in ("anyOf", "oneOf", "allOf"):
            for each in part.get(key, ()):
                yield from resolved(each, names)
        for key in ("items", "additionalProperties"):
            if isinstance(part.get(key), Mapping):
                yield from resolved(part[key], names)

    definitions = schema.get("$defs", {})
    yield from set(inside(schema, ()))


def _of_dagster() -> dict[str, list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tables.yaml"
        path.write_text(_TABLES)
        definitions = build_definitions(load_project(path))
    repository = definitions.get_repository_def()
    jobs = {job.name: job for job in repository.get_all_jobs()}
    return {
        "assets": sorted(key.to_user_string() for key in repository.asset_graph.get_all_asset_keys()),
        "checks": sorted({*DESCRIPTIONS, *(key.name for key in repository.asset_graph.asset_check_keys)}),
        "jobs": sorted(jobs),
        "ops": sorted({node.name for job in jobs.values() for node in _nodes(job)}),
        "sensors": sorted(each.name for each in repository.sensor_defs),
        "schedules": sorted(each.name for each in repository.schedule_defs),
    }


def _nodes(job: dg.JobDefinition) -> Iterator[Any]:
    yield from job.graph.nodes


if __name__ == "__main__":
    json.dump(surface(), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
