"""What a procedure is: its parameters, how its arguments are read, and what it does."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from maintenance.errors import PaimonError, SqlError
from maintenance.metadata.partition_names import Exactly
from maintenance.operations.bin.run import BinRun
from maintenance.operations.plans.dry_run_plans import DryRunPlan
from maintenance.operations.plans.stored_plan import StoredPlan
from maintenance.operations.progress import Progress
from maintenance.options.option import duration
from maintenance.sql.names import path_of
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState
    from maintenance.table.table import Table

Report = TypeVar("Report")
Value = Any
"""Of an argument: a text, number, truth value, or a list or mapping of them."""


def text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return value


def number(value: Value) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    raise ValueError("a whole number is expected")


def truth(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise ValueError("true or false is expected")


def period(value: Value) -> timedelta:
    return duration(text(value))


def moment(value: Value) -> datetime:
    """A time of the local zone, as text or in milliseconds since 1970 UTC."""
    if isinstance(value, int):
        return datetime.fromtimestamp(value / 1000).astimezone()
    try:
        return datetime.fromisoformat(text(value))
    except ValueError:
        raise ValueError("a time is written as 2024-02-29 12:00:00") from None


def names(value: Value) -> tuple[str, ...]:
    """Names with commas between them, or a list of names."""
    parts = value if isinstance(value, list) else text(value).split(",")
    return tuple(str(part).strip() for part in parts if str(part).strip())


def specs(value: Value) -> tuple[Mapping[str, str | None], ...]:
    """Partitions: ``a=1,b=2;a=2,b IS NULL``, or a list of such texts. A value in quotes may hold commas, semicolons."""
    read: list[dict[str, str | None]] = []
    for part in value if isinstance(value, list) else [value]:
        written, start, end = text(part), 0, ";"
        while end:
            pair = _PAIR.match(written, start)
            if pair is None:
                raise ValueError("partitions are written as a=1,b=2;a=2,b=3")
            if end == ";":
                read.append({})
            read[-1][(pair["name"] or pair["null"]).strip()] = _unquoted(pair)
            start, end = pair.end(), pair["end"]
    return tuple(read)


# A value in quotes ends where its quotes do, any other at the next comma or semicolon.
_PAIR = re.compile(
    r"""(?:(?P<null>[^=,;]+?)\s+IS\s+NULL
        |(?P<name>[^=,;]+)=\s*(?:'(?P<text>(?:[^']|'')*)'|"(?P<other>(?:[^"]|"")*)"|(?P<bare>[^,;]*?))
        )\s*(?P<end>[,;]|$)""",
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


def _unquoted(pair: re.Match[str]) -> str | None:
    """The value of a pair, None for null. In quotes it is that text, whatever folders are called."""
    for quote, group in (("'", "text"), ('"', "other")):
        if pair[group] is not None:
            return Exactly(pair[group].replace(quote * 2, quote))
    return pair["bare"]


def options(value: Value) -> dict[str, str]:
    """Table options: ``k1=v1,k2=v2``, or a mapping."""
    if isinstance(value, Mapping):
        return {str(key): str(shown) for key, shown in value.items()}
    pairs = [pair.partition("=") for pair in text(value).replace(";", ",").split(",") if pair.strip()]
    return {key.strip(): shown.strip() for key, _, shown in pairs}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Attributes:
        others: further names that it may be given by.
        option: the option of the table that it sets for the call.
        takes_more: further texts by position are of it, too.
    """

    name: str
    read: Callable[[Value], Any]
    required: bool = False
    others: tuple[str, ...] = ()
    option: str | None = None
    takes_more: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.others)


TABLE = Parameter("table", text, required=True, others=("identifier",))
DRY_RUN = Parameter("dry_run", truth)
INTO_BIN = Parameter("into_bin", truth)
OPTIONS = "options"
"""The parameter that has a table's options, and those that other parameters set."""


@dataclass(frozen=True, slots=True)
class Call:
    """A procedure's arguments, read. `progress`: is called for each thing that happens."""

    session: "SessionState"
    values: Mapping[str, Any]
    progress: Progress | None = None

    def get(self, name: str, default: Any = None) -> Any:
        return self.values.get(name, default)

    def passed(self, *names: str) -> dict[str, Any]:
        """The named arguments that the call sets."""
        return {name: self.values[name] for name in names if name in self.values}

    def table(self) -> "Table":
        """The table, with the options of the call."""
        table = self.session.table(path_of(self.values["table"]))
        return table.copy(self.values[OPTIONS]) if self.values.get(OPTIONS) else table

    def into(self, operation: str) -> BinRun | None:
        """The run of the bin that takes what the call deletes, if it asks for one."""
        if not self.values.get(INTO_BIN.name) or self.values.get("dry_run"):
            return None
        return BinRun.begin(self.table(), self.session.current().warehouse, operation)

    def done(self, *, nothing_to_do: bool = False) -> Result:
        """What a procedure returns that has nothing to tell."""
        if self.session.dialect == "spark":
            import pyarrow as pa

            return Result(pa.table({"result": [True]}), nothing_to_do)
        return replace(Result.of_texts(("result",), [("Success",)]), nothing_to_do=nothing_to_do)


@dataclass(frozen=True, slots=True)
class Planning:
    """How the plans of a procedure are made and carried out.

    Attributes:
        operation: as the plans name it.
        make: what a call would do now; None = plans do not say what this call is about.
        apply: does what a plan says and nothing else, on the table of the call.
        others: the same for other operations that `make` makes plans of.
    """

    operation: str
    make: Callable[[Call], StoredPlan | None]
    apply: Callable[[Call, StoredPlan], Result]
    others: Mapping[str, Callable[[Call, StoredPlan], Result]] = field(default_factory=dict)

    def applying(self, operation: str) -> Callable[[Call, StoredPlan], Result] | None:
        """What applies plans of an operation; None: they are of another procedure."""
        return self.apply if operation == self.operation else self.others.get(operation)


def dry_run_planning(
    plans: DryRunPlan[Report],
    arguments: Callable[[Call], dict[str, Any]],
    shown: Callable[[Call, Report], Result],
    others: Callable[[Call], dict[str, Any]] = lambda _: {},
) -> Planning:
    """Plans made of dry runs.

    Args: `arguments`: of the operation; `shown`: its result; `others`: as of `DryRunPlan.apply`.
    """

    def make(call: Call) -> StoredPlan:
        return plans.plan(call.table(), **arguments(call))

    def apply(call: Call, plan: StoredPlan) -> Result:
        return shown(call, plans.apply(call.table(), plan, **others(call)))

    return Planning(plans.operation, make, apply)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure.

    Attributes:
        parameters: of both engines and those of its own.
        run: what it does, and what that reports.
        planning: None = it has no plans that are stored.
    """

    name: str
    parameters: Sequence[Parameter]
    run: Callable[[Call], Result]
    planning: Planning | None = None

    @property
    def by_name(self) -> dict[str, Parameter]:
        """The parameters by all their names, in lower case."""
        return {spelt.lower(): parameter for parameter in self.parameters for spelt in parameter.names}

    def with_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values that were read, where those of parameters that set an option are options."""
        by_option = {p.option: values[p.name] for p in self.parameters if p.option is not None and p.name in values}
        if not by_option:
            return dict(values)
        texts = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in by_option.items()}
        return {**values, OPTIONS: {**values.get(OPTIONS, {}), **texts}}

    def read(self, parameter: Parameter, value: Value) -> Any:
        """Raises: SqlError: the value does not fit."""
        try:
            return parameter.read(value)
        except PaimonError as error:
            raise SqlError(error.found, f"argument {parameter.name} of sys.{self.name}", error.fix) from error
        except ValueError as error:
            raise SqlError(
                f"{value!r} does not fit: {error}", f"argument {parameter.name} of sys.{self.name}", "Correct it."
            ) from error
