"""The kinds of alert targets. A new kind is added here; nothing else has to be imported for tables.yaml to know it."""

from typing import Annotated, get_args

from pydantic import Field

from maintenance.project.targets.email import Email
from maintenance.project.targets.pagerduty import PagerDuty
from maintenance.project.targets.target import Target
from maintenance.project.targets.webhook import Webhook

AnyTarget = Email | PagerDuty | Webhook
AlertTarget = Annotated[AnyTarget, Field(discriminator="kind")]
KINDS: tuple[type[Target], ...] = get_args(AnyTarget)
