"""What a procedure is: its parameters, how its arguments are read, and what it does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maintenance.errors import PaimonError, SqlError
from maintenance.metastore.warehouse import known_folder
from maintenance.operations.bin.run import BinRun
from maintenance.operations.parameters import Parameter, Value, text, truth
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.progress import Progress
from maintenance.sql.names import path_of
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState
    from maintenance.table.table import Table

TABLE = Parameter("table", text, required=True, others=("identifier",))
DRY_RUN = Parameter("dry_run", truth, text="Say what would happen, change nothing.")
INTO_BIN = Parameter(
    "into_bin", truth, text="Move what is deleted into the bin of the warehouse, from where restore brings it back."
)
OPTIONS = "options"
"""The parameter that has a table's options, and those that other parameters set."""


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
        """The table, with the options of the call unless it is to be `plain`."""
        table = self.session.table(path_of(self.values["table"]))
        return table if plain or not self.values.get(OPTIONS) else table.copy(self.values[OPTIONS])

    def into_of(self, table: "Table", operation: str) -> BinRun | None:
        """The run of the bin that takes what the call deletes, if it asks for one."""
        if not self.values.get(INTO_BIN.name) or self.values.get("dry_run"):
            return None
        return BinRun.begin(table, known_folder(self.session.current()), operation)

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
        operations: as the plans name them; those of many tables have other names.
        make: what a call would do now; None = plans do not say what this call is about.
        apply: does what a plan says and nothing else, on the table of the call.
    """

    operations: Sequence[str]
    make: Callable[[Call], StoredPlan | None]
    apply: Callable[[Call, StoredPlan], Result]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure.

    Attributes:
        parameters: of both engines and those of its own.
        run: what it does, and what that reports.
        planning: None = it has no plans that are stored.
        by_tables_yaml: as of an `Operation`.
    """

    name: str
    parameters: Sequence[Parameter]
    run: Callable[[Call], Result]
    planning: Planning | None = None
    by_tables_yaml: str = ""

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
                f"{value!r} does not fit: {error}",
                f"argument {parameter.name} of sys.{self.name}",
                "Give a value of that kind.",
            ) from error
