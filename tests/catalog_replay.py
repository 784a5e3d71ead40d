"""Replays what Apache Paimon did with a catalog, step by step: `tests/golden/catalogs/<case>.json`.

A step is a call with its arguments, its result or error, and the rows it added to and removed from the tables of a JDBC
catalog. `{warehouse}` stands for the warehouse. What Spark SQL or somebody else did is made by hand.
"""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance import catalog as api
from maintenance.catalog import Catalog, CatalogTable, Schema, View, open_catalog
from maintenance.errors import (
    AlreadyExistsError,
    NotFoundError,
    OptionError,
    PaimonError,
    SchemaError,
    UnsupportedError,
)
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, type_of_json

Json = Any
Stored = dict[str, list[list[Json]]]
CASES = Path(__file__).parent / "golden" / "catalogs"

_BY_HAND = {"spark_sql", "sql", "files", "supports_partition_modification"}
_ERRORS: Mapping[str, tuple[type[PaimonError], ...]] = {
    "AlreadyExist": (AlreadyExistsError,),
    "Schema in filesystem exists": (AlreadyExistsError,),
    "ColumnNotExist": (SchemaError,),
    "NotExist": (NotFoundError,),
    "does not exist": (NotFoundError,),
    "DatabaseNotEmpty": (SchemaError,),
    "ProcessSystemDatabase": (SchemaError,),
    "UnsupportedOperation": (UnsupportedError, SchemaError),
    "IllegalArgument": (OptionError, SchemaError),
}
_CHANGES = {
    "set": "SetOption", "remove": "RemoveOption", "comment": "UpdateComment", "add": "AddColumn",
    "rename": "RenameColumn", "drop": "DropColumn", "type": "UpdateColumnType", "add_dialect": "AddDialect",
    "update_dialect": "UpdateDialect", "drop_dialect": "DropDialect",
}  # fmt: skip


def steps_of(case: str, warehouse: Path) -> tuple[dict[str, str], list[Json]]:
    """Catalog options and steps of a case, for a warehouse."""
    dump = json.loads((CASES / f"{case}.json").read_text().replace("{warehouse}", str(warehouse)))
    return dump["catalog_options"], dump["steps"]


def errors_for(recorded: Json) -> tuple[type[PaimonError], ...]:
    """The errors that stand for one of Java with its causes."""
    texts = [f"{error['class']}: {error['message']}" for error in recorded]
    return tuple(kind for part, kinds in _ERRORS.items() if any(part in text for text in texts) for kind in kinds)


class Replay:
    """Runs steps. Methods are named as operations, and return what a step's `result` is compared with."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.catalogs: dict[str | None, Catalog] = {}
        self.at: str | None = None

    def close(self) -> None:
        for catalog in self.catalogs.values():
            catalog.close()

    @property
    def catalog(self) -> Catalog:
        return self.catalogs[self.at]

    def run(self, step: Json) -> tuple[Json, Json]:
        """What a step returned and what it should have, in the same form."""
        self.at = step.get("catalog")
        arguments, wanted = dict(step["args"]), step.get("result")
        own: Callable[..., Json] | None = getattr(self, step["op"], None)
        if own is None:
            ignore = {"ignore_if_not_exists": True} if arguments.pop("ignore", False) else {}
            cascade = {"cascade": True} if arguments.pop("cascade", False) else {}
            own = getattr(self.catalog, step["op"])
            got = own(*arguments.values(), **ignore, **cascade) if callable(own) else own
        else:
            if step["op"] == "read":
                self._lay_out(arguments["table"], wanted)
            got = own(**arguments)
        return (None, None) if wanted is None else self._comparable(step["op"], got, wanted)

    def open_catalog(self, options: dict[str, str]) -> None:
        own = {key: value for key, value in options.items() if key not in ("uri", "warehouse")}
        self.catalogs[self.at] = open_catalog({**self.options, **own})

    def create_database(self, name: str, properties: dict[str, str], ignore: bool = False) -> None:
        self.catalog.create_database(name, ignore, properties)

    def get_database(self, name: str) -> Json:
        database = self.catalog.get_database(name)
        return {"name": database.name, "options": dict(database.properties), "comment": database.comment}

    def alter_database(self, name: str, set: dict[str, str], remove: Iterable[str] = ()) -> None:  # noqa: A002
        self.catalog.alter_database(name, set, list(remove))

    def create_table(self, table: str, schema: Json) -> None:
        definition = Schema(
            [DataField(0, name, type_of_json(kind), *rest) for name, kind, *rest in schema["fields"]],
            schema.get("pk", []),
            schema.get("partition", []),
            schema.get("options", {}),
            schema.get("comment"),
        )
        self.catalog.create_table(table, definition)

    def get_table(self, table: str) -> Json:
        actual = self.catalog.get_table(table)
        assert isinstance(actual, CatalogTable | ObjectTable | FormatTable)
        schema = actual.schema
        return {
            "full_name": actual.identifier,
            "location": actual.location,
            "options": {k: v for k, v in actual.options.items() if k not in ("path", "branch")},
            "comment": schema.comment,
            "primary_keys": list(schema.primary_keys),
            "partition_keys": list(schema.partition_keys),
            "fields": [_field(field) for field in schema.fields],
        }

    def alter_table(self, table: str, changes: Json) -> None:
        self.catalog.alter_table(table, _changes(changes))

    def create_view(self, view: str, fields: Json, **rest: Json) -> None:
        columns = [(name, type_of_json(kind), *comment) for name, kind, *comment in fields]
        self.catalog.create_view(view, View(columns, **rest))

    def get_view(self, view: str) -> Json:
        actual = self.catalog.get_view(view)
        parts = {"dialects": dict(actual.dialects), "options": dict(actual.options), "comment": actual.comment}
        return {"query": actual.query, **parts, "fields": [_field(field) for field in actual.columns()]}

    def alter_view(self, view: str, changes: Json) -> None:
        self.catalog.alter_view(view, _changes(changes))

    def list_tables_paged(self, database: str, pattern: str | None = None, **page: Json) -> Json:
        if "type" in page:
            raise UnsupportedError("a filter by type", "the catalog", "It is not part of this surface.")
        return self.catalog.list_tables(database, pattern)

    def list_views_paged(self, database: str, pattern: str | None = None, **page: Json) -> Json:
        names = [name for name in self.catalog.list_views(database, pattern) if name > page.get("token", "")]
        return names[: page.get("max")]

    def write(self, table: str, rows: Json) -> int | None:
        actual = self.catalog.get_table(table)
        if isinstance(actual, ObjectTable):
            return actual.write_arrow(pa.table({}))[0]
        assert isinstance(actual, api.CatalogTable | FormatTable)
        fields = actual.schema.fields
        columns = zip(*rows, strict=True)
        arrays = [_array(values, arrow_type(f.type)) for values, f in zip(columns, fields, strict=False)]
        ids = actual.write_arrow(pa.Table.from_arrays(arrays, [f.name for f in fields[: len(arrays)]]))
        return ids[0] if ids else None

    def read(self, table: str, projection: list[str] | None = None, filter: Json = None) -> Json:  # noqa: A002
        del filter  # Paimon's object tables leave filters to the engine
        actual = self.catalog.get_table(table)
        rows = actual.to_arrow(columns=projection)
        return {"columns": rows.column_names, "rows": [list(row.values()) for row in rows.to_pylist()]}

    def create_tag(self, table: str, tag: str) -> None:
        create_tag(self._table(table), tag)

    def create_branch(self, table: str, branch: str, tag: str | None = None) -> None:
        create_branch(self._table(table), branch, tag=tag)

    def _table(self, table: str) -> CatalogTable:
        actual = self.catalog.get_table(table)
        assert isinstance(actual, CatalogTable)
        return actual

    def _lay_out(self, table: str, wanted: Json) -> None:
        """The files that a listing shows are the input of its step."""
        if wanted and wanted["columns"][:3] == ["path", "name", "length"]:
            root = Path(self.catalog.get_table(table).location)
            shutil.rmtree(root, ignore_errors=True)
            for path, _, length, *_ in wanted["rows"]:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(b"x" * length)

    def _comparable(self, op: str, got: Json, wanted: Json) -> tuple[Json, Json]:
        match op:
            case "get_table" | "get_view":
                fields = [[i, name, str(type_of_json(kind)), *rest] for i, name, kind, *rest in wanted["fields"]]
                wanted = {**wanted, "fields": fields}
                wanted["options"] = {k: v for k, v in wanted["options"].items() if k not in ("path", "branch")}
                return got, {key: wanted[key] for key in got}
            case "list_tables_paged" | "list_views_paged":
                return (got[: len(wanted["elements"])] if wanted["next"] else got), wanted["elements"]
            case "list_partitions":
                names = ("spec", "record_count", "file_count", "total_buckets", "done")
                actual = [{name: getattr(partition, name) for name in names} for partition in got]
                wanted = [{name: partition[name] for name in names} for partition in wanted]
                return sorted(actual, key=str), sorted(wanted, key=str)
            case "read":
                new = [i for i, name in enumerate(wanted["columns"]) if name == "mtime"]
                ours, theirs = (
                    (part["columns"], sorted([0 if i in new else v for i, v in enumerate(row)] for row in part["rows"]))
                    for part in (got, wanted)
                )
                return ours, theirs
        return got, wanted

    def replay(self, steps: Iterable[Json], after: Callable[[int, Json], None] = lambda _number, _step: None) -> None:
        """Run all steps. `after`: called with each and its number, also with those to be made by hand."""
        with closing(self):
            for number, step in enumerate(steps):
                where = f"step {number}: {step['op']} {step['args']}"
                if step["op"] not in _BY_HAND and step["args"].get("type") is None:
                    self._outcome(step, where)
                after(number, step)

    def _outcome(self, step: Json, where: str) -> None:
        try:
            got, wanted = self.run(step)
        except PaimonError as error:
            if not isinstance(error, errors_for(step.get("error", []))):
                raise AssertionError(f"{where}: {error!r}") from error
        else:
            assert "error" not in step, f"{where}: no error"
            assert got == wanted, where


def by_hand(step: Json) -> bool:
    """Whether somebody else than the catalog made a step's change."""
    return step["op"] in _BY_HAND


def _field(field: DataField) -> list[Json]:
    return [field.id, field.name, str(field.type), *([field.description] if field.description else [])]


def _changes(changes: Json) -> list[Any]:
    return [
        getattr(api, _CHANGES[kind])(
            *(type_of_json(a) if kind in ("add", "type") and i == 1 else a for i, a in enumerate(rest))
        )
        for kind, *rest in changes
    ]


def _array(values: Iterable[Json], wanted: pa.DataType) -> pa.Array:
    """Dates, times and floating numbers are recorded as texts."""
    if pa.types.is_temporal(wanted) or pa.types.is_floating(wanted):
        return pa.array(values, pa.string()).cast(wanted)
    return pa.array(map(_value, values), wanted)


def _value(value: Json) -> Json:
    """Decimals are recorded as texts."""
    return (
        Decimal(value)
        if isinstance(value, str) and value.lstrip("-").replace(".", "", 1).isdigit() and "." in value
        else value
    )
