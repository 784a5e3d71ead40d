"""Procedures made of operations: how a call is read and becomes a request, and how a report becomes rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maintenance.errors import OptionError, PaimonError, SqlError
from maintenance.fs.file_io import FileIO
from maintenance.metastore.warehouse import known_folder
from maintenance.operations.bin.run import BinRun
from maintenance.operations.operation import Operation, Run, Shown, Spelling, Warehouse, silent
from maintenance.operations.parameters import Param, Value, options, text, truth
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.progress import Progress
from maintenance.sql.names import path_of
from maintenance.sql.result import Result
from maintenance.sql.session_names import SessionNames

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState
    from maintenance.table.table import Table

TABLE = Param(name="table", required=True, others=("identifier",))
DRY_RUN = Param("Say what would happen, change nothing.", "dry_run", read=truth)
INTO_BIN = Param(
    "Move what is deleted into the bin of the warehouse, from where restore brings it back.", "into_bin", read=truth
)
OPTIONS = "options"
"""The parameter that has a table's options, and those that other parameters set."""
_TABLE_OPTIONS = Param("Table options of this run, as k1=v1,k2=v2.", OPTIONS, read=options)
_REQUIRED = "!"


@dataclass(frozen=True, slots=True)
class Call:
    """A procedure's arguments, read.

    Attributes:
        progress: is called for each thing that happens.
        beside: fields of the request that no parameter names.
    """

    session: "SessionState"
    values: Mapping[str, Any]
    progress: Progress | None = None
    beside: Mapping[str, Any] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def passed(self, *names: str) -> dict[str, Any]:
        """The named arguments that the call sets."""
        return {name: self.values[name] for name in names if name in self.values}

    def table(self, *, plain: bool = False) -> "Table":
        """The table, with the options of the call unless it is to be `plain`.

        In Spark's dialect it is on the branch that is set. Source: Java `BaseProcedure.loadSparkTable` of Spark.
        """
        path = path_of(self.values["table"])
        table, branch = self.session.table(path), self.session.set_branch(path)
        if branch is not None and self.session.dialect == "spark":
            table = table.on_branch(branch)
        return table if plain or not self.values.get(OPTIONS) else table.copy(self.values[OPTIONS])

    def done(self, *, nothing_to_do: bool = False) -> Result:
        """What a procedure returns that has nothing to tell."""
        if self.session.dialect == "spark":
            return Result(pa.table({"result": [True]}), nothing_to_do)
        return replace(Result.of_texts(("result",), [("Success",)]), nothing_to_do=nothing_to_do)


@dataclass(frozen=True)
class Procedure:
    """An operation under one of its names."""

    operation: Operation[Any, Any, Any]
    spelling: Spelling

    @property
    def name(self) -> str:
        return self.spelling.name

    @property
    def has_plans(self) -> bool:
        """Whether what a call would do can be kept."""
        return self.operation.has_plans and self.spelling.has_plans

    @cached_property
    def parameters(self) -> tuple[Param, ...]:
        """Those of both engines, and those of its own."""
        return tuple(self._parameters())

    @cached_property
    def by_name(self) -> Mapping[str, Param]:
        """The parameters by all their names, in lower case."""
        return {spelt.lower(): parameter for parameter in self.parameters for spelt in parameter.names}

    def with_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values that were read, where those of parameters that set an option are options."""
        by_option = {p.option: values[p.name] for p in self.parameters if p.option is not None and p.name in values}
        if not by_option:
            return dict(values)
        texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in by_option.items()}
        return {**values, OPTIONS: {**values.get(OPTIONS, {}), **texts}}

    def read(self, parameter: Param, value: Value) -> Any:
        """Raises: SqlError: the value does not fit."""
        try:
            return (parameter.read or text)(value)
        except PaimonError as error:
            raise SqlError(error.found, f"argument {parameter.name} of sys.{self.name}", error.fix) from error
        except ValueError as error:
            raise SqlError(
                f"{value!r} does not fit: {error}",
                f"argument {parameter.name} of sys.{self.name}",
                "Give a value of that kind.",
            ) from error

    def run(self, call: Call) -> Result:
        """Carry out a call; after a dry run, say what would be done."""
        place = self._place(call)
        dry_run, run = bool(call.get(DRY_RUN.name)), self._run(call, place)
        results = [
            self._result(call, self.operation.run(run, place, request, dry_run=dry_run))
            for request in self._requests(call, place)
        ]
        rows = pa.concat_tables(result.rows for result in results) if call.get(DRY_RUN.name) else results[-1].rows
        wrong = tuple(text for result in results for text in result.wrong)
        said = tuple(line for result in results for line in result.said)
        return Result(rows, all(result.nothing_to_do for result in results), wrong, said, self.operation.is_told)

    def make(self, call: Call) -> StoredPlan | None:
        """What a call would do now, with the options that it sets; None: such calls have no plans, which are of one."""
        if not self.has_plans:
            return None
        place = self._place(call)
        requests = self._requests(call, place)
        if len(requests) != 1:
            return None
        _, plan = self.operation.keepable(self._run(call, place), place, requests[0])
        return replace(plan, table_options=dict(call.get(OPTIONS) or {}))

    def apply(self, call: Call, plan: StoredPlan) -> Result:
        """Do what a plan says."""
        place = self._place(call)
        own = {OPTIONS: call.get(OPTIONS)} if self._asks_for_options else {}
        return self._result(call, self.operation.carry_out(place, plan, self._run(call, place), **own))

    def _parameters(self) -> Iterator[Param]:
        operation = self.operation
        if operation.is_of_table:
            yield replace(TABLE, others=(*TABLE.others, "tableId"))
        known = {parameter.name: parameter for parameter in (*operation.parameters, DRY_RUN)}
        own: Sequence[str | Param] | None = self.spelling.parameters
        chosen = list(operation.parameters) if own is None else [_chosen(known, part) for part in own]
        yield from chosen
        yield from operation.sets
        names = {parameter.name for parameter in chosen}
        if operation.takes_options and OPTIONS not in names:
            yield _TABLE_OPTIONS
        if operation.has_dry_run and DRY_RUN.name not in names:
            yield DRY_RUN
        if operation.takes_bin:
            yield INTO_BIN

    def _place(self, call: Call) -> Any:
        catalog = call.session.current()
        if self.operation.of_warehouse:
            return Warehouse(FileIO.of(catalog.options), known_folder(catalog))
        if self.operation.of_catalog:
            return catalog
        return call.table(plain=self._asks_for_options and not self.operation.takes_options)

    @property
    def _asks_for_options(self) -> bool:
        """Whether options are what the operation is asked for, and not the table's."""
        return any(parameter.field == OPTIONS for parameter in self.operation.parameters)

    def _run(self, call: Call, place: Any) -> Run:
        catalog, asked = call.session.current(), bool(call.get(INTO_BIN.name))
        takes = asked and self.operation.is_of_table and not call.get(DRY_RUN.name)
        into = BinRun.begin(place, known_folder(catalog), self.operation.name) if takes else None
        return Run(
            call.session.spark,
            call.progress or silent,
            into,
            warehouse=lambda: known_folder(catalog),
            into_bin=asked,
            names=SessionNames.of(call.session, call.values[TABLE.name] if self.operation.is_of_table else None),
        )

    def _requests(self, call: Call, place: Any) -> list[Any]:
        """The request of a call; several if a parameter of which each value is one has several.

        Raises: OptionError: two arguments give the same field.
        """
        fields: dict[str, Any] = dict(call.beside)
        givers: dict[str, str] = {}
        several: Param | None = None
        for parameter in self.parameters:
            if parameter.name in call.values:
                value = call.values[parameter.name]
                several = parameter if parameter.is_each else several
                is_spread = isinstance(value, dict) and parameter.name != OPTIONS
                chosen = {parameter.field: value} if parameter.field else value if is_spread else {}
                twice = next((name for name in chosen if name in givers), None)
                if twice is not None:
                    problem = f"'{givers[twice]}' and '{parameter.name}' say the same"
                    raise OptionError(problem, f"sys.{self.spelling.name}", "Give one of them.")
                givers |= dict.fromkeys(chosen, parameter.name)
                fields |= chosen
            elif parameter.of_call is not None:
                fields[parameter.field] = parameter.of_call(place)
        if several is None:
            return [self.operation.request(**fields)]
        return [self.operation.request(**{**fields, several.field: each}) for each in fields[several.field]]

    def _result(self, call: Call, report: Any) -> Result:
        shown: Shown = (self.spelling.shown or self.operation.shown)(report)
        said = self.operation.told(report, shown)
        if shown.rows is None:
            return replace(call.done(nothing_to_do=shown.nothing_to_do), said=said)
        return Result(shown.rows, shown.nothing_to_do, shown.wrong, said, self.operation.is_told)


def _chosen(known: dict[str, Param], part: str | Param) -> Param:
    """A parameter by its name; `!`: calls under this name need it."""
    if isinstance(part, Param):
        return part
    found = known[part.removesuffix(_REQUIRED)]
    return replace(found, required=True) if part.endswith(_REQUIRED) else found
