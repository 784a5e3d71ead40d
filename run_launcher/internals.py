"""Every private name of Dagster that forked runs need, in one place.

Dagster has no public way to run a job in a process that somebody else made, so these names are bound to the minor
versions that the tests of forked runs have passed with. Only `launcher`, which guards the import, may import this
module first: with another version, or with a name missing, runs start as Dagster starts them.
"""

from dagster._core.events import EngineEventData
from dagster._core.instance.ref import InstanceRef
from dagster._core.launcher.base import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin
from dagster._grpc.impl import core_execute_run
from dagster._serdes import deserialize_value, serialize_value
from dagster._serdes.config_class import ConfigurableClassData
from dagster._utils import get_run_crash_explanation
from dagster._utils.hosted_user_process import recon_job_from_origin
from dagster._utils.interrupts import capture_interrupts

__all__ = [
    "PRELOADED",
    "TESTED_MINORS",
    "CheckRunHealthResult",
    "ConfigurableClassData",
    "EngineEventData",
    "GrpcServerCodeLocationOrigin",
    "InstanceRef",
    "LaunchRunContext",
    "WorkerStatus",
    "capture_interrupts",
    "core_execute_run",
    "deserialize_value",
    "get_run_crash_explanation",
    "recon_job_from_origin",
    "serialize_value",
]

TESTED_MINORS = ("1.13",)
# What Dagster imports once a run has begun, besides what definitions.py imports.
PRELOADED = (
    "alembic.runtime.migration",
    "dagster._core.definitions.repository_definition.repository_data_builder",
    "dagster._core.execution.plan.active",
    "dagster._core.executor.in_process",
    "dagster._core.instance.factory",
    "dagster._core.instance.runs.run_domain",
    "dagster._core.run_coordinator",
    "dagster._core.secrets.env_file",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.root",
    "dagster._core.storage.sqlite_storage",
    "dagster._core.storage.migration.utils",
    "dagster._core.workspace.autodiscovery",
)
