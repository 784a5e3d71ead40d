"""How a task fails: in one form, and tried again only where that can help.

What was refused, and damage, fail for good: another attempt would meet the same. A lost conflict and what storage,
network or Spark did wrong are tried again, as often as the task's `retries` say.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from maintenance.errors import ErrorClass
from paimon_maintenance.operators.airflow_release import AirflowFailException, AirflowSkipException

_AGAIN = (ErrorClass.CONFLICT, ErrorClass.INFRASTRUCTURE)


@contextmanager
def as_airflow_failure(what: str) -> Iterator[None]:
    """Turn what goes wrong inside into a failure of the task. `what`: is done there, for errors that do not say it."""
    try:
        yield
    except (AirflowFailException, AirflowSkipException):
        raise
    except Exception as error:
        from maintenance.spark.errors import as_paimon_error

        problem = as_paimon_error(error, what)
        if problem.error_class in _AGAIN:
            raise problem from (None if problem is error else error)
        raise AirflowFailException(str(problem)) from error
