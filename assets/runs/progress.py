"""A logger for people who watch a run in a terminal: the steps' own messages, without Dagster's events.

Choose it in a run's config: ``loggers: {progress: {}}``.
"""

import logging
import sys
from typing import Any

import dagster as dg


class StepMessages(logging.Formatter):
    """``demo.flights  compact  6 groups rewritten``: the table, its step, the step's message."""

    def format(self, record: logging.LogRecord) -> str:
        table, _, step = (_meta(record).get("step_key") or "").replace("__", ".").rpartition(".")
        return f"  {table:<14} {step:<17} {_trouble(record) or _message(record)}"


def _meta(record: logging.LogRecord) -> dict[str, Any]:
    """What Dagster knows of a log record."""
    return getattr(record, "dagster_meta", {})


def _message(record: logging.LogRecord) -> str:
    """The message alone; Dagster puts the run and the step around it."""
    return str(_meta(record).get("orig_message", record.getMessage()))


def _trouble(record: logging.LogRecord) -> str | None:
    """What went wrong, if the record is of a step that failed or that will be tried again."""
    event: dg.DagsterEvent | None = _meta(record).get("dagster_event")
    if event is None or not (event.is_step_failure or event.is_step_up_for_retry):
        return None
    failure = getattr(event.event_specific_data, "user_failure_data", None)
    if failure is not None and failure.description:
        return f"failed: {failure.description}"
    error = getattr(event.event_specific_data, "error", None)
    cause = error.cause if error is not None and error.cause is not None else error
    outcome = "failed" if event.is_step_failure else "will be tried again"
    return f"{outcome}: {cause.message.strip() if cause is not None else 'for an unknown reason'}"


def _is_reported(record: logging.LogRecord) -> bool:
    """The steps' own messages, and of what Dagster tells only the failures of steps."""
    if _meta(record).get("dagster_event") is None:
        return not _message(record).startswith("Dependencies for step ")
    return _trouble(record) is not None


@dg.logger({}, "The steps' messages, one short line each.")
def progress_logger(_context: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.getLogger("paimon_maintenance.progress")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(StepMessages())
    handler.addFilter(_is_reported)
    logger.handlers = [handler]
    return logger


LOGGERS = {"console": dg.colored_console_logger, "progress": progress_logger}
"""Those that a run can choose among."""
