"""Alerts by e-mail."""

import smtplib
import socket
from email.message import EmailMessage
from typing import Any, Literal

from pydantic import Field, field_validator

from maintenance.options.environment import from_environment
from maintenance.project.targets.alert import Alert
from maintenance.project.targets.target import Target

_TIMEOUT_SECONDS = 10
_WHERE = "alert targets"


class Email(Target):
    """Alerts by e-mail. A text of the form ${NAME} is read from the environment when it is needed."""

    kind: Literal["email"]
    host: str = Field(default="localhost", description="The server of outgoing mail.")
    port: int = 25
    sender: str = Field(default="", description="Empty: paimon-maintenance at the name of this machine.")
    to: tuple[str, ...] = Field(description="Addresses; one may be written without a list.")
    user: str | None = None
    password: str | None = None
    starttls: bool = False

    @field_validator("to", mode="before")
    @classmethod
    def one_or_several(cls, given: Any) -> Any:
        """An address alone is a list of one."""
        return (given,) if isinstance(given, str) else given

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError (an SMTP error is one): the server cannot be reached, or refuses."""
        message = EmailMessage()
        message["Subject"] = f"[paimon] {alert.title}"
        message["From"] = self.sender or f"paimon-maintenance@{socket.getfqdn()}"
        message["To"] = ", ".join(self.to)
        lines = [alert.summary, f"Next step: {alert.fix}" if alert.fix else "", alert.place, alert.console]
        message.set_content("\n\n".join(line for line in lines if line))
        with smtplib.SMTP(from_environment(self.host, _WHERE), self.port, timeout=_TIMEOUT_SECONDS) as server:
            if self.starttls:
                server.starttls()
            if self.user:
                server.login(from_environment(self.user, _WHERE), from_environment(self.password or "", _WHERE))
            server.send_message(message)
