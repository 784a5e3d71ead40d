"""Alerts by e-mail."""

import smtplib
from email.message import EmailMessage

from assets.policies import Email
from sensors.targets.alert import Alert, from_environment

_TIMEOUT_SECONDS = 10


def send(alert: Alert, target: Email) -> None:
    """Send one alert. Raises: OSError (an SMTP error is one): the server cannot be reached, or refuses."""
    message = EmailMessage()
    message["Subject"] = f"[paimon] {alert.title}"
    message["From"] = target.sender
    message["To"] = ", ".join(target.to)
    lines = [alert.summary, f"Next step: {alert.fix}" if alert.fix else "", alert.link]
    message.set_content("\n\n".join(line for line in lines if line))
    with smtplib.SMTP(from_environment(target.host), target.port, timeout=_TIMEOUT_SECONDS) as server:
        if target.starttls:
            server.starttls()
        if target.user:
            server.login(from_environment(target.user), from_environment(target.password or ""))
        server.send_message(message)
