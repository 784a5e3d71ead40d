"""How a step fails: with what was found, where, and one next step; and tried again only where that can help.

The class of an error decides (`ErrorClass`). A user's mistake and damage fail at once; damage also names the snapshot
or tag to go back to. A lost conflict is planned again, and what storage, network or Spark did wrong is tried again
after a pause that doubles. Steps have no retry policy of Dagster's: it cannot tell these apart, and a step whose last
attempt fails under it shows "Exceeded max_retries" instead of the cause.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dagster as dg

from maintenance.errors import ErrorClass, PaimonError, worst_of
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import bucket_text
from maintenance.operations.checks.way_back import WayBack, way_back
from maintenance.operations.compaction.report import GroupResult
from maintenance.spark.errors import as_paimon_error

Context = dg.OpExecutionContext | dg.AssetExecutionContext | dg.AssetCheckExecutionContext
# The location of a table; called only when something is broken.
Place = Callable[[], tuple[FileIO, str]]
NO_STATE = "No snapshot or tag of the table is complete without it, so restore it from a copy."


@dataclass(frozen=True, slots=True)
class Again:
    """How often a step is tried again, and after how long. `seconds`: before the first time, then twice as long."""

    times: int
    seconds: float

    def wait(self, attempts: int) -> float:
        """Seconds to wait after this many attempts, spread so that steps that failed together do not meet again."""
        return float(self.seconds * 2 ** (attempts - 1) * random.uniform(0.75, 1.25))


AGAIN: Mapping[ErrorClass, Again] = {
    ErrorClass.CONFLICT: Again(times=2, seconds=10.0),
    ErrorClass.INFRASTRUCTURE: Again(times=4, seconds=4.0),
}


class GroupsFailedError(PaimonError):
    """Some groups of an operation failed, and the others are done. Its class is that of the worst group.

    `outcomes`: group -> what went wrong.
    """

    outcomes: Mapping[str, str]


@contextmanager
def as_dagster_failure(context: Context, place: Place | None = None) -> Iterator[None]:
    """Turn what goes wrong inside into a dg.Failure that a person can act on, or a request to try again.

    `place`: of the table, if the step is about one: for the state to go back to where a file is broken.
    """
    try:
        yield
    except (dg.Failure, dg.RetryRequested):
        raise
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError) as error:
        fix = (
            "Launch the run again when you want it. What was committed stays; the rest never became part of the table."
        )
        raise dg.Failure(
            description=f"the run was cancelled or interrupted. Next step: {fix}",
            metadata={"next step": fix},
            allow_retries=False,
        ) from error
    except Exception as error:
        problem = as_paimon_error(error, _step_of(context))
        failure = _failure(problem, _way_back(problem, place))
        failure.__cause__ = error if problem is error or problem.__cause__ is None else problem
        again = AGAIN.get(problem.error_class)
        attempts = _retries(context) + 1
        if again is None or attempts > again.times:
            raise failure from error
        seconds = again.wait(attempts)
        context.log.warning(
            f"Attempt {attempts} of {again.times + 1} failed ({problem.error_class}); the next one starts in "
            f"{seconds:.0f} s. {failure.description}"
        )
        raise dg.RetryRequested(again.times, seconds) from failure


def by_job(back: WayBack) -> str:
    """The state to go back to, and the job that does."""
    return back.told(f"the job rollback, with snapshot_id: {back.snapshot_id},")


def _failure(error: PaimonError, back: WayBack | None) -> dg.Failure:
    fix = error.fix
    if error.error_class == ErrorClass.DAMAGE:
        fix = f"{fix} {NO_STATE if back is None else by_job(back)}"
    metadata: dict[str, Any] = {
        "found": error.found,
        "where": error.where,
        "next step": fix,
        "class of error": str(error.error_class),
    }
    if back is not None:
        metadata["snapshot to go back to"] = back.snapshot_id
        metadata["launch"] = dg.MetadataValue.md("[rollback](/guess/rollback)")
        if back.tags:
            metadata["tags of that snapshot"] = ", ".join(back.tags)
    if isinstance(error, GroupsFailedError):
        metadata["failed groups"] = dg.MetadataValue.json(error.outcomes)
    description = f"{error.found} ({error.where}). Next step: {fix}"
    return dg.Failure(description=description, metadata=metadata, allow_retries=False)


def _way_back(error: PaimonError, place: Place | None) -> WayBack | None:
    if error.error_class != ErrorClass.DAMAGE or place is None:
        return None
    try:
        return way_back(*place(), error)
    except Exception:  # noqa: BLE001 - the table is damaged: what was found first is what has to be reported
        return None


def _step_of(context: Context) -> str:
    return f"step {_op(context).get_step_execution_context().step.key}"


def _retries(context: Context) -> int:
    return int(_op(context).retry_number)


def _op(context: Context) -> dg.OpExecutionContext:
    return context if isinstance(context, dg.OpExecutionContext) else context.op_execution_context


def refuse_if_cancelled(instance: dg.DagsterInstance, run_id: str) -> None:
    """Raise dg.Failure in a run that is being cancelled: the interrupt ended one step, the next one must not begin."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status in (dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED):
        raise dg.Failure(description="the run was cancelled before this step", allow_retries=False)


def check_parts(errors_by_part: Mapping[str, PaimonError | None], parts: str) -> None:
    """Raises: GroupsFailedError: some parts have failed. Args as of `parts_failed`."""
    if worst_part(errors_by_part) is not None:
        raise parts_failed(errors_by_part, parts)


def check_groups(groups: Iterable[GroupResult]) -> None:
    """Raises: GroupsFailedError: groups of a compaction have failed."""
    error = group_error(groups)
    if error is not None:
        raise error from error.__cause__


def group_error(groups: Iterable[GroupResult]) -> PaimonError | None:
    """The error of the groups of a compaction; None if none failed."""
    by_group = {bucket_text(group.partition, group.bucket): group.error for group in groups}
    return None if worst_part(by_group) is None else parts_failed(by_group, "groups")


def worst_part(errors_by_part: Mapping[str, PaimonError | None]) -> str | None:
    """The name of the part whose error decides; None if none has one."""
    errors = [error for error in errors_by_part.values() if error is not None]
    worst = worst_of(errors) if errors else None
    return None if worst is None else next(name for name, error in errors_by_part.items() if error is worst)


def parts_failed(errors_by_part: Mapping[str, PaimonError | None], parts: str) -> GroupsFailedError:
    """The error of an operation of which parts failed. The worst comes first: its cause is what people read.

    Args: `errors_by_part`: groups or tables, one at least with an error; `parts`: what the parts are.
    """
    failed = {name: error for name, error in errors_by_part.items() if error is not None}
    worst = worst_of(failed.values())
    counted = f"{len(failed)} of {len(errors_by_part)} {parts} failed; " if len(errors_by_part) > 1 else ""
    fix = worst.fix if len(failed) == len(errors_by_part) else f"{worst.fix} The other {parts} are done."
    error = GroupsFailedError(f"{counted}{worst_part(errors_by_part)}: {worst.found}", worst.where, fix)
    error.error_class = worst.error_class
    error.outcomes = {name: str(part) for name, part in failed.items()}
    error.__cause__ = worst
    return error
