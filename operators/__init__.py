"""Operators and sensors for Airflow, and DAGs made of a tables.yaml.

A class is made when it is first asked for: `CompactOperator`, `ExpireSnapshotsOperator`, one for each operation.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "PaimonOperator": "operation",
    "PlanOperator": "operation",
    "ApplyPlanOperator": "operation",
    "operator": "operation",
    "TableStepOperator": "step",
    "NewSnapshotSensor": "sensors",
    "CompactionDueSensor": "sensors",
    "dags_of": "dags",
    "asset_of": "dags",
    "pools_of": "dags",
    "TellTargets": "alerts",
    "ApprovePlanOperator": "approval",
}
__all__ = [
    "ApplyPlanOperator",
    "ApprovePlanOperator",
    "CompactionDueSensor",
    "NewSnapshotSensor",
    "PaimonOperator",
    "PlanOperator",
    "TableStepOperator",
    "TellTargets",
    "asset_of",
    "dags_of",
    "operator",
    "pools_of",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    if name.endswith("Operator"):
        from paimon_maintenance.operators.operation import class_names, operator

        if name in class_names():
            return operator(class_names()[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from paimon_maintenance.operators.operation import class_names

    return sorted({*__all__, *class_names()})
