"""The job that approves a plan: who launches it says who approves."""

from maintenance.operations.acknowledgements.approve_plan import OPERATION
from paimon_maintenance.assets.steps.config import launched_config
from paimon_maintenance.assets.steps.plans import person_of
from paimon_maintenance.assets.steps.step import Step

APPROVAL = Step(OPERATION, config=launched_config(OPERATION), policy=lambda work: {"name": person_of(work.context)})
"""Approve a plan that somebody else has made."""
