"""Operators of the operations: one for each command of `paimonctl`, made of the same records.

`PaimonOperator` carries out any of them by its name. `operator("compact")` is the class of one, with its parameters as
arguments; `CompactOperator`, `ExpireSnapshotsOperator` and so on are the same classes, and a new operation has one at
once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature
from typing import Any, Literal

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.operation_names import commands
from maintenance.spelling import suggestion
from paimon_maintenance.operators.airflow_release import AirflowSkipException, BaseOperatorLink
from paimon_maintenance.operators.failures import as_airflow_failure
from paimon_maintenance.operators.lake import OfLake
from paimon_maintenance.operators.links import PlanLink, TableLink

# Of an operation's rows, as many as an XCom gets.
_MOST_ROWS = 1000
# Groups of a plan that are shown where somebody decides about it.
_SHOWN_GROUPS = 20
# Findings that the failure of a task names.
_SHOWN_FINDINGS = 3
Nothing = Literal["succeed", "skip"]


def run_name(context: Mapping[str, Any]) -> str:
    """What snapshots say has made them: the run and the task."""
    task = context["ti"]
    return f"airflow:{task.dag_id}/{task.run_id}/{task.task_id}"


class PaimonOperator(OfLake):
    """Carries out an operation on a table or the whole catalog. Its XCom says what was done.

    Args:
        operation: the command of `paimonctl`, such as ``compact`` or ``remove-orphan-files``.
        arguments: of the operation, `table` among them, by the names of its parameters.
        nothing_to_do: whether the task succeeds or is skipped where there was nothing to do.
        engine: what does the work, see `Lake`; all others: as of `OfLake`.
    """

    template_fields: Sequence[str] = ("arguments",)
    operator_extra_links: Sequence[BaseOperatorLink] = (TableLink(),)
    ui_color = "#dbeafe"

    def __init__(
        self,
        *,
        operation: str,
        arguments: Mapping[str, Any] | None = None,
        nothing_to_do: Nothing = "succeed",
        engine: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.operation = operation
        self.arguments = dict(arguments or {})
        self.nothing_to_do = nothing_to_do
        self.lake = replace(self.lake, engine=engine)
        _check_names(self.command, self.arguments)

    @property
    def command(self) -> str:
        """The name of the procedure that does it."""
        return self.operation.replace("-", "_")

    def execute(self, context: Any) -> Any:
        """Called by Airflow. Returns: the operation, its table, and its rows."""
        with as_airflow_failure(self.operation):
            return self.work(context)

    def work(self, context: Any) -> Any:
        """What the task does. Raises: PaimonError."""
        from maintenance.sql.procedures.registry import PROCEDURES

        procedure = PROCEDURES[self.command]
        result = procedure.run(self._call(context))
        rows, nothing = result.to_arrow(), result.nothing_to_do
        done = told(self.operation, self.arguments.get("table"), rows, nothing_to_do=nothing)
        if result.wrong:
            found, more = "; ".join(result.wrong[:_SHOWN_FINDINGS]), len(result.wrong) - _SHOWN_FINDINGS
            text = f"{found}; and {more} more" if more > 0 else found
            raise OptionError(text, self._place(), "Repair what is named here.")
        return self._done(done)

    def _call(self, context: Any) -> Any:
        """The call of the procedure. Raises: PaimonError: an argument does not fit, or the catalog does not open."""
        from maintenance.sql.procedures.procedure import Call
        from maintenance.sql.procedures.registry import PROCEDURES

        procedure, by_name = PROCEDURES[self.command], PROCEDURES[self.command].by_name
        given = {by_name[name.lower()]: value for name, value in self.arguments.items() if value not in (None, "")}
        values = {parameter.name: procedure.read(parameter, value) for parameter, value in given.items()}
        missing = [each.name for each in procedure.parameters if each.required and each.name not in values]
        if missing:
            raise OptionError(f"'{missing[0]}' is empty", f"arguments of {self.operation}", "Say what it is.")
        beside: Mapping[str, Any] = {}
        project = self.lake.project() if procedure.operation.by_tables_yaml else None
        if project is not None:
            from maintenance.project.given import given_by

            found = given_by(project, procedure.operation.by_tables_yaml, str(values.get("table", "")))
            values, beside = {**found.arguments, **values}, found.beside
        return Call(self.lake.session(run_name(context)), procedure.with_options(values), self.log.info, beside)

    def _done(self, done: dict[str, Any]) -> dict[str, Any]:
        if done["nothing_to_do"] and self.nothing_to_do == "skip":
            raise AirflowSkipException(f"{self.operation} of {self._place()} has nothing to do")
        self.log.info("%s of %s: %s", self.operation, self._place(), json.dumps(done["rows"][:_SHOWN_GROUPS]))
        return done

    def _place(self) -> str:
        return str(self.arguments.get("table", "the catalog"))


class PlanOperator(PaimonOperator):
    """Makes the plan of an operation and keeps it in the warehouse. Its XCom is the plan's id; nothing is changed.

    The XCom `groups` says what would be done, for whoever decides about it. Where that is nothing, the task is skipped,
    and with it the tasks that would apply the plan.
    """

    operator_extra_links: Sequence[BaseOperatorLink] = (TableLink(), PlanLink())

    def work(self, context: Any) -> str:
        from maintenance.sql.plans import keep_plan
        from maintenance.sql.procedures.registry import PROCEDURES

        call = self._call(context)
        plan = PROCEDURES[self.command].make(call)
        if plan is None:
            raise OptionError(f"{self.operation} makes no plan of this", self._place(), "Run the operation itself.")
        if not plan.groups:
            raise AirflowSkipException(f"{self.operation} of {self._place()} has nothing to do")
        plan_id = keep_plan(call.session, plan)
        self.plan_id = plan_id  # for the link
        shown = plan.groups[:_SHOWN_GROUPS]
        lines = [f"{each.name}: {number_of(len(each.files), 'file')}, {each.reason}" for each in shown]
        more = len(plan.groups) - len(lines)
        groups = "\n".join([*plan.warnings, *lines, *([f"… and {more} more"] if more else [])])
        self.log.info("plan %s: %s", plan_id, groups)
        context["ti"].xcom_push(key="groups", value=groups)
        return plan_id


class ApplyPlanOperator(OfLake):
    """Does what a kept plan says, and nothing else; what has changed since then is refused.

    Args:
        plan_id: of the plan, such as the output of a `PlanOperator`.
        into_bin: what is deleted goes into the bin, where the operation can do that.
        engine: what does the work, see `Lake`; all others: as of `OfLake`.
    """

    template_fields: Sequence[str] = ("plan_id",)
    operator_extra_links = (PlanLink(),)
    ui_color = "#dbeafe"

    def __init__(
        self,
        *,
        plan_id: Any,
        into_bin: bool = False,
        engine: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.plan_id = plan_id
        self.into_bin = into_bin
        self.lake = replace(self.lake, engine=engine)

    def execute(self, context: Any) -> dict[str, Any]:
        """Called by Airflow. Returns: as of `PaimonOperator`."""
        with as_airflow_failure(f"plan {self.plan_id}"):
            from maintenance.sql.plans import apply_plan, kept_plan, noted

            session = self.lake.session(run_name(context))
            plan = kept_plan(session, str(self.plan_id))
            with noted(session, plan):
                result = apply_plan(session, plan, into_bin=self.into_bin, progress=self.log.info)
            return told(plan.operation, plan.table, result.to_arrow(), nothing_to_do=result.nothing_to_do)


def told(operation: str, table: Any, rows: Any, *, nothing_to_do: bool) -> dict[str, Any]:
    """A result as JSON can hold it. `rows`: None: it has none; `count`: of all, where an XCom takes no more."""
    from maintenance.cli.output import text_of

    # Values as `paimonctl --json` prints them.
    lines = [] if rows is None else text_of(rows.slice(0, _MOST_ROWS), "json").splitlines()
    return {
        "operation": operation,
        "table": table,
        "nothing_to_do": nothing_to_do,
        "rows": [json.loads(line) for line in lines if line],
        "count": 0 if rows is None else rows.num_rows,
    }


def _check_names(command: str, arguments: Mapping[str, Any]) -> None:
    """Raises: OptionError: there is no such operation, or it has no such parameter."""
    names = {known: name for name in parameter_names(command) for known in name}
    for name in arguments:
        if name.lower() not in names:
            known = [own[0] for own in parameter_names(command)]
            fix = f"It has: {', '.join(known)}.{suggestion(name, known)}"
            raise OptionError(f"'{name}' is no parameter", command.replace("_", "-"), fix)


@cache
def parameter_names(command: str) -> tuple[tuple[str, ...], ...]:
    """The parameters of an operation, each by all its names in lower case. Raises: OptionError: there is none."""
    return tuple(tuple(name.lower() for name in each.names) for each in _procedure(command).parameters)


def _procedure(command: str) -> Any:
    if command not in commands():
        names = [name.replace("_", "-") for name in commands()]
        word = command.replace("_", "-")
        raise OptionError(f"operation '{word}' is not known", "operator", f"See paimonctl.{suggestion(word, names)}")
    from maintenance.sql.procedures.registry import PROCEDURES

    return PROCEDURES[command]


def class_names() -> Mapping[str, str]:
    """The classes of the operations: the name of each and its command."""
    return {f"{''.join(part.capitalize() for part in name.split('_'))}Operator": name for name in commands()}


@cache
def operator(operation: str) -> type[PaimonOperator]:
    """The class of an operation. Raises: OptionError: there is none of that name."""
    command = operation.replace("-", "_")
    procedure = _procedure(command)
    own = {each.name: each for each in procedure.parameters if each.name != "dry_run"}

    def __init__(self: Any, **given: Any) -> None:  # noqa: N807
        # With `operation` and `arguments` Airflow copies tasks that it has mapped.
        arguments = {**given.pop("arguments", {}), **{name: given.pop(name) for name in own if name in given}}
        PaimonOperator.__init__(self, **{**given, "operation": command.replace("_", "-"), "arguments": arguments})

    kind = Argument.KEYWORD_ONLY
    arguments = [Argument(name, kind, default=Argument.empty if each.required else None) for name, each in own.items()]
    rest = [Argument("self", Argument.POSITIONAL_OR_KEYWORD), *arguments, Argument("kwargs", Argument.VAR_KEYWORD)]
    __init__.__signature__ = Signature(rest)  # type: ignore[attr-defined]
    texts = "\n".join(f"    {name}: {each.text}" for name, each in own.items())
    doc = f"{commands()[command]}\n\nArgs:\n{texts}\n    all others: as of `PaimonOperator`.\n"
    name = next(name for name, of in class_names().items() if of == command)
    members = {"__init__": __init__, "__doc__": doc, "__module__": "paimon_maintenance.operators"}
    made: type[PaimonOperator] = type(name, (PaimonOperator,), members)
    return made
