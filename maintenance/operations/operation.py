"""What an operation is: one record, of which Python, SQL, `paimonctl` and Dagster are made.

The way is the same everywhere: a request is planned, which only reads; the plan is shown, kept, or applied; applying it
gives a report. A dry run stops behind the plan. A kept plan is applied by planning again: if that gives something else,
nothing is done, and otherwise the same `apply` follows.

A module `operations/<package>/<name>.py` holds one operation: its request, `plan`, `apply`, the record under the name
`OPERATION`, and the function of Python that is made of it. That it is there is all that makes it known
(`operation_names`); so its name and its summary are written as literals.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property, partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Protocol, TypeVar

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.file_io import FileIO
from maintenance.metadata.partition_names import Spec
from maintenance.operation_names import operation_modules
from maintenance.operations.bin.run import BinRun
from maintenance.operations.parameters import (
    OfRuns,
    Param,
    Specs,
    arguments_of,
    as_parameter,
    fields_of_arguments,
    keywords_of,
    parameters_of,
)
from maintenance.operations.plan_store import (
    MANY,
    PlannedGroup,
    StoredPlan,
    changed_groups,
    check_plan,
    refuse,
    unless_overtaken,
)
from maintenance.operations.progress import Progress
from maintenance.spark.sharing import SparkSource
from maintenance.table.folder_table import FolderTable
from maintenance.table.partitions import named_partitions
from maintenance.table.system.handle import SystemTableHandle
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Request = TypeVar("Request")
Report = TypeVar("Report")
Groups = Iterable[PlannedGroup]


@dataclass(frozen=True, slots=True)
class OperationReport:
    """What an operation did, or would do: which of them it says is up to the record alone."""

    dry_run: bool = field(default=False, kw_only=True)


Told = TypeVar("Told")


def as_of_dry_run(report: Told) -> Told:
    """A report, marked as that of a dry run."""
    return replace(report, dry_run=True) if isinstance(report, OperationReport) else report


def silent(_: str) -> None:
    """Progress that is discarded."""


class Names(Protocol):
    """Where names in a request lead, which may be of another catalog than the one at hand.

    `dialect`: of the statement that has them.
    """

    @property
    def dialect(self) -> str: ...

    def table(self, name: str) -> tuple[Any, str]:
        """The catalog of a table or view, and its name there. Raises: NotFoundError: there is no such catalog."""
        ...

    def database(self, name: str) -> tuple[Any, str]:
        """The same of a database."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """With what an operation works; nothing of it changes what it does.

    Attributes:
        spark: a session, or what gives one and is asked once it is needed; None = this process does the work.
        progress: called with a line for each thing that happens.
        into: takes what is deleted, so that it can be restored; None = it is destroyed at once.
        now: the moment as of which is planned; None = the current time.
        into_bin: for operations over many tables: what is deleted goes into the bin of the warehouse.
        warehouse: where plans and the bin are, or what says so and is asked once it is needed.
        names: where names of tables lead; None = to the catalog that the operation gets.
    """

    spark: SparkSource = None
    progress: Progress = silent
    into: BinRun | None = None
    now: datetime | None = None
    warehouse: str | Callable[[], str] = ""
    into_bin: bool = False
    names: Names | None = None

    @classmethod
    def of(
        cls,
        spark: SparkSource = None,
        progress: Progress | None = None,
        into: BinRun | None = None,
        now: datetime | None = None,
        warehouse: str = "",
    ) -> "Run":
        """As the functions of Python take it."""
        return cls(spark, progress or silent, into, now, warehouse)

    def session(self) -> "SparkSession | None":
        """The Spark session, for work that is always done in tasks."""
        # A session cannot be called; what gives one can.
        return self.spark() if callable(self.spark) else self.spark

    def root(self) -> str:
        """The folder of the warehouse. Raises: UnsupportedError: it is known by a name alone."""
        return self.warehouse() if callable(self.warehouse) else self.warehouse

    def table_name(self, catalog: Any, name: str) -> tuple[Any, str]:
        """The catalog of a table that a request names, and its name there."""
        return (catalog, name) if self.names is None else self.names.table(name)

    def database_name(self, catalog: Any, name: str) -> tuple[Any, str]:
        """The same of a database."""
        return (catalog, name) if self.names is None else self.names.database(name)

    @property
    def moment(self) -> datetime:
        return datetime.now(UTC) if self.now is None else self.now


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The place of operations that are about no single table."""

    file_io: FileIO
    path: str


class Planned(Protocol):
    """What planning gives. Operations whose plan takes long to look through have one that is looked through once.

    Attributes:
        request: what was asked for, as the plan is kept with it.
        report: what would be done; `Operation.foretold` has it as that of a dry run.
        groups: what would be done, for people and to be compared; empty: nothing.
        of: the snapshot that it was made of, if that is not the newest.
        warnings: what to know before the plan is carried out.
    """

    @property
    def request(self) -> Any: ...
    @property
    def report(self) -> Any: ...
    @property
    def groups(self) -> Callable[[], Groups]: ...
    @property
    def of(self) -> Snapshot | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Plan(Generic[Request, Report]):
    """A plan that is looked through at once. `work`: what else `apply` goes by."""

    request: Request
    report: Report
    groups: Callable[[], Groups] = tuple
    work: Any = None
    of: Snapshot | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LazyPlan(Generic[Request, Report]):
    """A plan that is looked for when somebody asks: the work itself finds what there is then, and does it at once."""

    request: Request
    look: Callable[[], Report]
    named: Callable[[Report], Groups]
    of = None
    warnings = ()

    @cached_property
    def report(self) -> Report:
        return self.look()

    def groups(self) -> Groups:
        return self.named(self.report)


Asked_contra = TypeVar("Asked_contra", contravariant=True)
Told_co = TypeVar("Told_co", covariant=True)


class Work(Protocol[Asked_contra, Told_co]):
    """Does what is asked for, on what it finds at that moment; in a dry run it says what that would be."""

    def __call__(self, run: Run, table: Any, request: Asked_contra, /, *, dry_run: bool) -> Told_co: ...


def lazily(
    work: Work[Request, Report], named: Callable[[Table, Report], Groups]
) -> tuple[
    Callable[[Run, Any, Request], LazyPlan[Request, Report]], Callable[[Run, Any, LazyPlan[Request, Report]], Report]
]:
    """`plan` and `apply` of an operation that is one piece of work. `named`: the groups of its report."""

    def plan(run: Run, table: Any, request: Request) -> LazyPlan[Request, Report]:
        return LazyPlan(request, partial(work, run, table, request, dry_run=True), partial(named, table))

    @wraps(work)  # what it gives is what a function made of the record gives
    def apply(run: Run, table: Any, planned: LazyPlan[Request, Report]) -> Report:
        return work(run, table, planned.request, dry_run=False)

    return plan, apply


def as_asked(_: Run, __: Any, request: Request) -> Plan[Request, None]:
    """The plan of an operation that has nothing to plan: it changes nothing, or adds what it was told to."""
    return Plan(request, None)


P = TypeVar("P", bound=Planned)


@dataclass(frozen=True, slots=True)
class Shown:
    """A report as rows.

    Attributes:
        rows: None: there is nothing to tell but that it is done.
        wrong: what it says is wrong, a text for each: the command and the task of Airflow that ask for it fail.
    """

    rows: pa.Table | None = None
    nothing_to_do: bool = False
    wrong: tuple[str, ...] = ()

    @classmethod
    def texts(
        cls, names: Sequence[str], rows: Iterable[Sequence[str | None]], *, nothing_to_do: bool | None = None
    ) -> "Shown":
        """Rows of texts. `nothing_to_do`: None = if there are no rows."""
        listed = list(rows)
        columns = [pa.array([row[i] for row in listed], pa.string()) for i in range(len(names))]
        nothing = not listed if nothing_to_do is None else nothing_to_do
        return cls(pa.Table.from_arrays(columns, names=list(names)), nothing)

    @classmethod
    def findings(cls, names: Sequence[str], rows: Iterable[Sequence[str | None]]) -> "Shown":
        """Rows of texts, each of which says what is wrong."""
        listed = list(rows)
        wrong = tuple(" ".join(text for text in row if text) for row in listed)
        return replace(cls.texts(names, listed, nothing_to_do=False), wrong=wrong)

    @classmethod
    def one(cls, row: Mapping[str, Any], *, nothing_to_do: bool = False) -> "Shown":
        """One row of texts, truth values and numbers, which have 64 bits."""
        kinds = {bool: pa.bool_(), str: pa.string()}
        columns = {name: pa.array([value], kinds.get(type(value), pa.int64())) for name, value in row.items()}
        return cls(pa.table(columns), nothing_to_do)


def nothing_said(_: Any) -> Iterable[str]:
    """Rows and numbers say it all."""
    return ()


def done(_: Any) -> Shown:
    """Shows no more than that it is done."""
    return Shown()


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name under which calls find an operation, where Paimon has others than the operation's own.

    Attributes:
        summary: of the command; empty: there is none, SQL alone has it.
        parameters: names of the request's, and others of its own; None = those of the request.
        shown: instead of the operation's.
        has_plans: whether such calls are planned and kept.
    """

    name: str
    summary: str = ""
    parameters: Sequence[str | Param] | None = None
    shown: Callable[[Any], Shown] | None = None
    has_plans: bool = True


BY_RETENTION = "retention"
"""The retention of the table, where the call says no other: its parameters are those of `expire_snapshots`."""
BY_FLEET = "fleet"
"""What is said of the work on all tables, as `settings` of the request."""
BY_HEALTH = "health"
"""By what each table is judged, as `settings` of the request."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How plans are made and carried out that are of tables which the request names.

    Attributes:
        make: the plan to keep, of what was planned.
        carry_out: does what such a plan says and nothing else, or refuses.
        others: what plans are called, too: those of many tables.
    """

    make: Callable[[Run, Any, Any], StoredPlan]
    carry_out: Callable[[Run, Any, StoredPlan], Any]
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operation(Generic[Request, P, Report]):
    """An operation.

    Attributes:
        name: of its function in Python, and of its procedure and command unless `spellings` say otherwise.
        summary: one sentence.
        request: the class of what it is asked for.
        plan: what would be done; reads only.
        apply: does what a plan says.
        shown: its report as rows.
        said: its report in sentences, for a log.
        is_told: these say all that the rows do, and are what people read.
        again: plans again to carry out a kept plan, and refuses if that is another one by now; None = as `_again`.
        keeping: how plans are kept that its own `plan` and `apply` are too little for.
        kept_as: what plans and steps call it, if not by its name.
        has_plans: False: none of it are kept.
        has_dry_run: False where there is nothing to plan, nor to keep.
        of_catalog, of_warehouse: it is about a catalog or a `Warehouse`, not a table.
        is_guarded: its only commit changes rows: that of a kept plan has to follow the state that was compared.
        takes_bin: what it deletes can go into the bin.
        takes_options: calls may set options of the table.
        sets: parameters of calls that set one of them.
        uses_spark: it has work for Spark.
        by_tables_yaml: what a call gets from a tables.yaml, where there is one: `BY_RETENTION`, `BY_FLEET` or
            `BY_HEALTH`; empty: nothing.
        looks_only: it changes nothing, so there is nothing to plan either.
        spellings: None = its own name; empty: statements of SQL do it.
        has_job: Dagster has a job of its own for it, besides the one that takes any statement.
    """

    name: str
    summary: str
    request: type[Request]
    plan: Callable[Concatenate[Run, Any, Request, ...], P]
    apply: Callable[[Run, Any, P], Report]
    shown: Callable[[Any], Shown] = done
    again: Callable[[Run, Any, Request, StoredPlan], P] | None = None
    said: Callable[[Any], Iterable[str]] = nothing_said
    is_told: bool = False
    keeping: Keeping | None = None
    kept_as: str = ""
    has_plans: bool = True
    has_dry_run: bool = True
    of_catalog: bool = False
    of_warehouse: bool = False
    is_guarded: bool = False
    takes_bin: bool = False
    takes_options: bool = False
    sets: Sequence[Param] = ()
    uses_spark: bool = False
    by_tables_yaml: str = ""
    looks_only: bool = False
    has_job: bool = True
    spellings: Sequence[Spelling] | None = None

    def __post_init__(self) -> None:
        has_dry_run = self.has_dry_run and not self.looks_only
        object.__setattr__(self, "has_dry_run", has_dry_run)
        object.__setattr__(self, "has_plans", self.has_plans and has_dry_run)

    @property
    def key(self) -> str:
        """What plans, steps and the history call it."""
        return self.kept_as or self.name

    @property
    def keys(self) -> tuple[str, ...]:
        """All that plans call it."""
        return (self.key, *(() if self.keeping is None else self.keeping.others))

    def told(self, report: Any, shown: Shown) -> tuple[str, ...]:
        """A report in sentences; where it has none, nor rows, whether there was anything to do."""
        just = "There was nothing to do." if shown.nothing_to_do else "Done."
        return tuple(self.said(report)) or ((just,) if shown.rows is None else ())

    def run(self, run: Run, place: Any, request: Request, *, dry_run: bool = False, **more: Any) -> Report:
        """Plan, and do it unless it is a dry run.

        Args: `place`: the table, catalog or warehouse; `more`: what `plan` takes beside them.
        """
        made = self.plan(run, place, request, **more)
        if dry_run:
            return self.foretold(made)
        report = self.apply(run, place, made)
        return as_of_dry_run(report) if self.looks_only else report

    def foretold(self, made: P) -> Report:
        """What a plan says that would be done."""
        found: Report = as_of_dry_run(made.report)
        return found

    def function(
        self,
        doc: str,
        *,
        takes: Sequence[str] = (),
        spark_first: bool = False,
        by_position: Sequence[str] = (),
        without: Collection[str] = (),
    ) -> Callable[..., Report]:
        """The function of Python: it takes the place, the fields of the request, and what a run is done with.

        Fields that have a default are keywords, and so is all else: `dry_run`, `spark` and `into` where the operation
        has them, and what `plan` takes besides a request.

        Args:
            doc: its docstring, in which nothing needs to stand that is said of the fields, nor what `OfRuns` says.
            takes: further fields of `OfRuns`.
            spark_first: the session stands before the place.
            by_position: fields with a default that may be given by position as well.
            without: fields that are not for callers in Python.
        """
        known = {each.name: as_parameter(each, by_position=each.name in by_position) for each in fields(OfRuns)}
        place = ("file_io", "warehouse") if self.of_warehouse else ("catalog",) if self.of_catalog else ("table",)
        has = {"dry_run": self.has_dry_run, "into": self.takes_bin, "spark": self.uses_spark and not spark_first}
        keywords = dict.fromkeys([*(name for name, is_had in has.items() if is_had), *takes])
        first = [*(["spark"] if spark_first else ()), *place]
        request = Parameter("request", Parameter.POSITIONAL_OR_KEYWORD)

        def called(*, request: Request, **given: Any) -> Report:
            at = [given.pop(name) for name in place]
            if place == ("table",):
                _check_whole(at[0])
            run = Run.of(**{name: given.pop(name) for name in signature(Run.of).parameters if name in given})
            return self.run(run, Warehouse(*at) if self.of_warehouse else at[0], request, **given)

        positional = [known[name].replace(kind=request.kind, default=request.empty) for name in first]
        beside = list(signature(self.plan).parameters.values())[3:]
        others = [*(known[name] for name in keywords), *(each.replace(kind=Parameter.KEYWORD_ONLY) for each in beside)]
        called.__signature__ = Signature(  # type: ignore[attr-defined]
            [*positional, request, *others], return_annotation=signature(self.apply).return_annotation
        )
        called.operation = self  # type: ignore[attr-defined]
        called.__name__ = called.__qualname__ = self.name
        # The module that makes it, where a pickle finds it.
        called.__module__, called.__doc__ = sys._getframe(1).f_globals["__name__"], doc
        only = [each.name for each in fields(self.request) if each.name not in without]  # type: ignore[arg-type]
        return keywords_of(self.request, only=only, by_position=by_position)(called)

    def keepable(self, run: Run, place: Any, request: Request) -> tuple[P, StoredPlan]:
        """What would be done now, as a plan to apply and as one to keep."""
        if self.keeping is not None:
            made = self.plan(run, place, request)
            return made, self.keeping.make(run, place, made)
        # Looked up first: if there is a later one by then, the plan is outdated, not wrong.
        base = place.snapshots.latest_identity() if isinstance(place, Table) else None
        now = run.moment
        made = self.plan(replace(run, now=now), place, _named(place, request))
        stored = StoredPlan(
            self.key,
            place.identifier if isinstance(place, Table) else MANY,
            base if made.of is None else SnapshotIdentity.of(made.of),
            now.timestamp(),
            tuple(made.groups()),
            arguments_of(made.request),
            made.warnings,
        )
        return made, stored

    def dry_run(self, place: Any, run: Run = Run(), **arguments: Any) -> StoredPlan:
        """What the operation would do now, to keep. `arguments`: fields of its request. Errors as of the operation."""
        return self.keepable(run, place, self.request(**arguments))[1]

    def carry_out(self, place: Any, stored: StoredPlan, run: Run = Run(), **others: Any) -> Report:
        """Do what a kept plan says, and nothing else. `others`: fields of the request that plans do not keep.

        Raises: OutdatedPlanError: something else would be done now; OptionError: not such a plan; as the operation.
        """
        if self.keeping is not None:
            done: Report = self.keeping.carry_out(run, place, stored)
            return done
        run, again = self._as_kept(place, stored, run, others)

        def attempt() -> Report:
            at = place.following(place.snapshots.latest_identity()) if self.is_guarded else place
            return self.apply(run, at, again())

        return unless_overtaken(attempt)

    def check_kept(self, place: Any, stored: StoredPlan, run: Run = Run()) -> None:
        """Whether a kept plan could be carried out now; changes nothing. Raises: as `carry_out`, before it begins."""
        self._as_kept(place, stored, run, {})[1]()

    def _as_kept(
        self, place: Any, stored: StoredPlan, run: Run, others: Mapping[str, Any]
    ) -> tuple[Run, Callable[[], P]]:
        """The run as of the moment when a plan was made, and what plans as then."""
        check_plan(stored, self.key, place if isinstance(place, Table) else None)
        try:
            request = self.request(**{**fields_of_arguments(self.request, stored.arguments), **others})
        except (KeyError, TypeError) as error:
            kept = f"kept {error} with it" if isinstance(error, KeyError) else "kept too little with it"
            raise OptionError(
                f"an earlier release has made this plan, and {kept}",
                f"plan {stored.id}",
                "Launch a dry run for a new plan.",
            ) from error
        run = replace(run, now=datetime.fromtimestamp(stored.made_at, UTC))
        return run, partial(self.again or self._again, run, place, _named(place, request), stored)

    def _again(self, run: Run, place: Any, request: Request, stored: StoredPlan) -> P:
        made = self.plan(run, place, request)
        refuse(stored, changed_groups(stored, tuple(made.groups())))
        return made

    @property
    def is_of_table(self) -> bool:
        """Whether it is about one table."""
        return not (self.of_catalog or self.of_warehouse)

    @property
    def parameters(self) -> tuple[Param, ...]:
        """What it may be asked for."""
        return parameters_of(self.request)  # type: ignore[arg-type] # classes are hashable

    def spelt(self) -> Sequence[Spelling]:
        """The names under which calls find it."""
        return (Spelling(self.name, self.summary),) if self.spellings is None else self.spellings


def _named(place: Any, request: Request) -> Request:
    """The request with partitions as what they are in a table. Raises: DataError: a name may mean several."""
    if not isinstance(place, Table):
        return request
    kinds = {parameter.field: parameter.type for parameter in parameters_of(type(request))}  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        value = getattr(request, name)
        if value is not None and kind == Specs:
            found[name] = named_partitions(place, value)
        elif value is not None and kind == Spec:
            (found[name],) = named_partitions(place, [value])
    return replace(request, **found) if found else request  # type: ignore[type-var]


def all_operations() -> Mapping[str, Operation[Any, Any, Any]]:
    """All operations by name."""
    return {name: operation(name) for name in operation_modules()}


def operation(name: str) -> Operation[Any, Any, Any]:
    """The operation of a name. Raises: KeyError: there is none."""
    found: Operation[Any, Any, Any] = import_module(operation_modules()[name].module).OPERATION
    return found


def _check_whole(table: object) -> None:
    """Raises: OptionError: an operation is asked for a system table or another view of a table."""
    if isinstance(table, SystemTableHandle) and not isinstance(table, FolderTable):
        fix = "Name the table itself, without '$' and what follows."
        raise OptionError(f"'{table.identifier}' is not a table with files of its own", table.identifier, fix)
