"""How a step fails: with what was found, where, and one next step; and retried only where that can help."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from maintenance.errors import CommitError, ConflictError, PaimonError

# A batch is committed once whatever happens, so ingestion may simply try again; the others only lose against writers.
AFTER_ANY_TROUBLE = dg.RetryPolicy(max_retries=3, delay=2, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
AFTER_CONFLICT = dg.RetryPolicy(max_retries=2, delay=10, backoff=dg.Backoff.EXPONENTIAL, jitter=dg.Jitter.PLUS_MINUS)
ONCE_MORE = dg.RetryPolicy(max_retries=1, delay=5)

_MAY_PASS = (ConflictError, CommitError)


@contextmanager
def told_as_failure() -> Iterator[None]:
    """Turn what goes wrong inside into a dg.Failure that a person can act on."""
    try:
        yield
    except dg.Failure:
        raise
    except PaimonError as error:
        raise dg.Failure(
            description=f"{error.found} ({error.where}). Next step: {error.fix}",
            metadata={"found": error.found, "where": error.where, "next step": error.fix},
            allow_retries=isinstance(error, _MAY_PASS),
        ) from error
    except (KeyboardInterrupt, dg.DagsterExecutionInterruptedError) as error:
        # Dagster would retry a step that was interrupted, as its retry policy says: a cancelled run would go on.
        fix = "Launch the run again when it suits; what was committed stands, the rest was never part of the table."
        raise dg.Failure(
            description=f"the run was cancelled or interrupted. Next step: {fix}",
            metadata={"next step": fix},
            allow_retries=False,
        ) from error
    except Exception as error:
        fix = "Read the stack trace below; what was committed stands, so launching the run again is safe."
        raise dg.Failure(
            description=f"{type(error).__name__}: {error}. Next step: {fix}", metadata={"next step": fix}
        ) from error


def refuse_if_cancelled(instance: dg.DagsterInstance, run_id: str) -> None:
    """Raise dg.Failure in a run that is being cancelled: the interrupt ended one step, the next one must not begin."""
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status in (dg.DagsterRunStatus.CANCELING, dg.DagsterRunStatus.CANCELED):
        raise dg.Failure(description="the run was cancelled before this step", allow_retries=False)


def failed_groups(outcomes: dict[str, str]) -> dg.Failure:
    """The failure of an operation some of whose groups failed. `outcomes`: group -> what went wrong in it."""
    fix = "Launch the run again: it plans these groups anew, and the committed ones stay as they are."
    listed = "; ".join(f"{group}: {message}" for group, message in outcomes.items())
    return dg.Failure(
        description=f"{len(outcomes)} groups failed: {listed}. Next step: {fix}",
        metadata={"failed groups": dg.MetadataValue.json(outcomes), "next step": fix},
    )
