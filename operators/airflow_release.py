"""What releases of Airflow call otherwise: 3.1 has all for DAGs in `airflow.sdk`, 2 in older places."""

from airflow import __version__
from airflow.triggers.base import BaseTrigger, TriggerEvent

RELEASE = tuple(map(int, __version__.split(".")[:2]))

if RELEASE >= (3, 0):
    from airflow.sdk import DAG, Asset, BaseOperator, BaseOperatorLink, BaseSensorOperator, TaskGroup
    from airflow.sdk.log import mask_secret
else:
    from airflow import DAG
    from airflow.datasets import Dataset as Asset
    from airflow.models.baseoperator import BaseOperator
    from airflow.models.baseoperatorlink import BaseOperatorLink
    from airflow.sensors.base import BaseSensorOperator
    from airflow.utils.log.secrets_masker import mask_secret
    from airflow.utils.task_group import TaskGroup

if RELEASE >= (3, 1):
    from airflow.sdk import BaseHook, CronTriggerTimetable
else:
    from airflow.hooks.base import BaseHook
    from airflow.timetables.trigger import CronTriggerTimetable

if RELEASE >= (3, 2):
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
else:
    from airflow.exceptions import AirflowFailException, AirflowSkipException

HAS_APPROVALS = RELEASE >= (3, 1)
"""Whether a person can approve in Airflow itself."""


def cron_schedule(cron: str, zone: str) -> CronTriggerTimetable:
    """A schedule at the times of a cron in a time zone."""
    return CronTriggerTimetable(cron, timezone=zone)


__all__ = [
    "DAG",
    "HAS_APPROVALS",
    "AirflowFailException",
    "AirflowSkipException",
    "Asset",
    "BaseHook",
    "BaseOperator",
    "BaseOperatorLink",
    "BaseSensorOperator",
    "BaseTrigger",
    "TaskGroup",
    "TriggerEvent",
    "cron_schedule",
    "mask_secret",
]
