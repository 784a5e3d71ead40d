"""Alerts by e-mail."""

import smtplib
from email.message import EmailMessage
from typing import Literal

from maintenance.options.environment import from_environment
from paimon_maintenance.assets.targets.alert import Alert
from paimon_maintenance.assets.targets.target import Target

_TIMEOUT_SECONDS = 10
_WHERE = "alert targets"


class Email(Target):
    """Alerts by e-mail. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["email"]
    host: str
    port: int = 25
    sender: str
    to: tuple[str, ...]
    user: str | None = None
    password: str | None = None
    starttls: bool = False

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError (an SMTP error is one): the server cannot be reached, or refuses."""
        message = EmailMessage()
        message["Subject"] = f"[paimon] {alert.title}"
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        lines = [alert.summary, f"Next step: {alert.fix}" if alert.fix else "", alert.place, alert.console]
        message.set_content("\n\n".join(line for line in lines if line))
        with smtplib.SMTP(from_environment(self.host, _WHERE), self.port, timeout=_TIMEOUT_SECONDS) as server:
            if self.starttls:
                server.starttls()
            if self.user:
                server.login(from_environment(self.user, _WHERE), from_environment(self.password or "", _WHERE))
            server.send_message(message)
