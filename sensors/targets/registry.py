"""All kinds of targets. A new one is a module, a model in assets/policies.py and a line here."""

from collections.abc import Callable, Mapping
from typing import Any

from assets.policies import Email, Webhook
from sensors.targets import email, webhook
from sensors.targets.alert import Alert

SENDERS: Mapping[type, Callable[[Alert, Any], None]] = {Webhook: webhook.send, Email: email.send}


def send(alert: Alert, target: Webhook | Email) -> None:
    """Send an alert to a target. Raises: OSError; OptionError: an environment variable is not set."""
    SENDERS[type(target)](alert, target)
