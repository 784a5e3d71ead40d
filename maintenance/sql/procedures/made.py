"""Procedures made of operations: how a call becomes a request, and a report becomes rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from maintenance.fs.file_io import FileIO
from maintenance.metastore.warehouse import known_folder
from maintenance.operations.operation import Operation, Run, Shown, Spelling, Warehouse, silent
from maintenance.operations.parameters import Parameter, options
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    INTO_BIN,
    OPTIONS,
    TABLE,
    Call,
    Planning,
    Procedure,
)
from maintenance.sql.result import Result
from maintenance.sql.session_names import SessionNames

_REQUIRED = "!"
_TABLE_OPTIONS = Parameter(OPTIONS, options, text="Table options of this run, as k1=v1,k2=v2.")


@dataclass(frozen=True, slots=True)
class Made:
    """An operation under one of its names."""

    operation: Operation[Any, Any, Any]
    spelling: Spelling

    def procedure(self) -> Procedure:
        has_plans = self.operation.has_plans and self.spelling.has_plans
        planning = Planning(self.operation.keys, self.make, self.apply) if has_plans else None
        parameters = tuple(self._parameters())
        return Procedure(self.spelling.name, parameters, self.run, planning, self.operation.by_tables_yaml)

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
        return Result(rows, all(result.nothing_to_do for result in results), wrong)

    def make(self, call: Call) -> StoredPlan | None:
        """What a call would do now; None for several requests: a plan is of one."""
        place = self._place(call)
        requests = self._requests(call, place)
        return self.operation.keepable(self._run(call, place), place, requests[0])[1] if len(requests) == 1 else None

    def apply(self, call: Call, plan: StoredPlan) -> Result:
        """Do what a plan says."""
        place = self._place(call)
        own = {OPTIONS: call.get(OPTIONS)} if self._asks_for_options else {}
        return self._result(call, self.operation.carry_out(place, plan, self._run(call, place), **own))

    def _parameters(self) -> Iterator[Parameter]:
        operation = self.operation
        if operation.is_of_table:
            yield replace(TABLE, others=(*TABLE.others, "tableId"))
        known = {parameter.name: parameter for parameter in (*operation.parameters, DRY_RUN)}
        own: Sequence[str | Parameter] | None = self.spelling.parameters
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
        into = call.into_of(place, self.operation.name) if self.operation.is_of_table else None
        catalog = call.session.current()
        return Run(
            call.session.spark,
            call.progress or silent,
            into,
            warehouse=lambda: known_folder(catalog),
            into_bin=bool(call.get(INTO_BIN.name)),
            names=SessionNames.of(call.session, call.values[TABLE.name] if self.operation.is_of_table else None),
        )

    def _requests(self, call: Call, place: Any) -> list[Any]:
        """The request of a call; several if a parameter of which each value is one has several."""
        fields: dict[str, Any] = dict(call.beside)
        several: Parameter | None = None
        for parameter in self._parameters():
            if parameter.name in call.values:
                value = call.values[parameter.name]
                several = parameter if parameter.is_each else several
                if parameter.field:
                    fields[parameter.field] = value
                elif isinstance(value, dict) and parameter.name != OPTIONS:
                    fields |= value
            elif parameter.of_call is not None:
                fields[parameter.field] = parameter.of_call(place)
        if several is None:
            return [self.operation.request(**fields)]
        return [self.operation.request(**{**fields, several.field: each}) for each in fields[several.field]]

    def _result(self, call: Call, report: Any) -> Result:
        shown: Shown = (self.spelling.shown or self.operation.shown)(report)
        if shown.rows is None:
            return call.done(nothing_to_do=shown.nothing_to_do)
        return Result(shown.rows, shown.nothing_to_do, shown.wrong)


def _chosen(known: dict[str, Parameter], part: str | Parameter) -> Parameter:
    """A parameter by its name; `!`: calls under this name need it."""
    if isinstance(part, Parameter):
        return part
    found = known[part.removesuffix(_REQUIRED)]
    return replace(found, required=True) if part.endswith(_REQUIRED) else found


def procedures_of(operation: Operation[Any, Any, Any]) -> Iterator[Procedure]:
    """The procedures of an operation, one for each of its names."""
    for spelling in operation.spelt():
        yield Made(operation, spelling).procedure()
