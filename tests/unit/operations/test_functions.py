"""Functions of Python that are made of a record."""

import inspect
import pickle
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import pytest

from maintenance.fs.file_io import FileIO
from maintenance.operations import expire_tags
from maintenance.operations.operation import LazyPlan, Operation, OperationReport, Plan, Run, Warehouse, lazily
from maintenance.operations.parameters import Param


@dataclass(frozen=True)
class Count:
    what: Annotated[str, Param("What is counted.")]
    least: Annotated[int, Param("Where to begin.")] = 1
    note: Annotated[str, Param("What for.")] = ""
    seen: bool = False


@dataclass(frozen=True)
class Counted(OperationReport):
    """What was given."""

    place: Any
    request: Count
    run: Run
    only: int | None
    done: bool


def plan(run: Run, place: Any, request: Count, only: int | None = None) -> Plan[Count, Counted]:
    return Plan(request, Counted(place, request, run, only, False), work=(place, only))


def apply(run: Run, place: Any, planned: Plan[Count, Counted]) -> Counted:
    return Counted(place, planned.request, run, planned.work[1], True)


COUNT = Operation("count", "Count.", Count, plan, apply, uses_spark=True)
count = COUNT.function(
    """Count.

    Args:
        only: below this.
    Raises: OptionError.
    """,
    takes=("now",),
    by_position=("least",),
    without=("seen",),
)
IN_BIN = Operation("sweep", "Sweep.", Count, plan, apply, of_warehouse=True, has_dry_run=False, uses_spark=True)
sweep = IN_BIN.function("Sweep.", spark_first=True)
LOOK = Operation("look", "Look.", Count, plan, apply, of_catalog=True, looks_only=True, takes_bin=True)
look = LOOK.function("Look.")

SESSION: Any = object()


def test_what_is_given_arrives_as_the_place_the_request_and_the_run() -> None:
    now = datetime(2024, 2, 29)
    found = count("t", "files", 3, note="n", now=now, only=7)
    assert found == Counted("t", Count("files", 3, "n"), Run(now=now), 7, True)
    assert not count(what="files", table="t", dry_run=True).done
    assert count("t", "files", spark=SESSION).run.spark is SESSION


def test_a_place_is_a_table_a_catalog_or_a_warehouse(tmp_path: Path) -> None:
    file_io = FileIO()
    found = sweep(SESSION, file_io, str(tmp_path), "files")
    assert (found.place, found.run.spark) == (Warehouse(file_io, str(tmp_path)), SESSION)
    assert look("catalog", "files").place == "catalog"


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (count, "table, what, least, *note, *dry_run, *spark, *now, *only"),
        (sweep, "spark, file_io, warehouse, what, *least, *note, *seen, *only"),
        (look, "catalog, what, *least, *note, *seen, *into, *only"),
    ],
    ids=["of a table", "of a warehouse", "of a catalog"],
)
def test_a_function_takes_what_its_record_has(function: Any, parameters: str) -> None:
    signature = inspect.signature(function)
    keywords = inspect.Parameter.KEYWORD_ONLY
    shown = ["*" * (each.kind is keywords) + name for name, each in signature.parameters.items()]
    assert ", ".join(shown) == parameters
    assert signature.return_annotation is Counted
    assert signature.parameters[shown[0]].default is inspect.Parameter.empty


def test_the_docstring_says_what_the_record_says() -> None:
    assert (
        inspect.getdoc(count)
        == """Count.

Args:
    what: what is counted.
    least: where to begin.
    note: what for.
    dry_run: report what would be done, change nothing.
    spark: a session whose tasks do the work, or what gives one; None = this process does it.
    now: None = the current time; one without a zone is local.
    only: below this.
Raises: OptionError."""
    )


@pytest.mark.parametrize(
    ("given", "keywords"), [(("t", "a", 1, "n"), {}), (("t",), {}), (("t", "a"), {"seen": True})], ids=str
)
def test_what_does_not_fit_is_a_type_error(given: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        count(*given, **keywords)


@pytest.mark.parametrize("function", [count, expire_tags], ids=["of a test", "of the engine"])
def test_a_function_is_found_in_its_module(function: Any) -> None:
    assert pickle.loads(pickle.dumps(function)) is function


def at_once(run: Run, place: Any, request: Count, /, *, dry_run: bool) -> Counted:
    return Counted(place, request, run, None, not dry_run)


ONE_PIECE = Operation("once", "Once.", Count, *lazily(at_once, lambda _, __: ()))


@pytest.mark.parametrize("operation", [COUNT, ONE_PIECE], ids=["planned", "in one piece"])
def test_the_record_says_whether_a_report_is_of_a_dry_run(operation: Operation[Count, Any, Counted]) -> None:
    request, run = Count("files"), Run(now=datetime(2024, 2, 29))
    planned, done = (operation.run(run, "t", request, dry_run=dry_run) for dry_run in (True, False))
    assert [(each.dry_run, each.done) for each in (planned, done)] == [(True, False), (False, True)]
    made: Plan[Count, Counted] | LazyPlan[Count, Counted] = operation.keepable(run, "t", request)[0]
    assert operation.foretold(made) == planned


def test_what_looks_only_is_a_dry_run_always() -> None:
    assert look("catalog", "files").dry_run
