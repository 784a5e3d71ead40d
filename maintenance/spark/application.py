"""Which application a session belongs to, and where its Spark UI is."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError

from maintenance.commit.identity import APPLICATION_PROPERTY

# Spark takes the next port if one is taken, so often at most.
_PORTS_TRIED = 16
_DEFAULT_PORT = 4040
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Application:
    """A Spark application. `ui`: address of its UI, None where it has none or does not tell."""

    id: str
    ui: str | None


def is_connect(session: Any) -> bool:
    """Whether a session is one of a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def application_property(session: Any | None) -> dict[str, str]:
    """The property of a snapshot that names the application which writes, so that people can find its job."""
    identifier = None if session is None else session.conf.get("spark.app.id", None)
    return {APPLICATION_PROPERTY: identifier} if identifier else {}


def application(session: Any) -> Application:
    """The application behind a session. Over Connect its UI is looked for where the server's settings put it."""
    identifier = session.conf.get("spark.app.id")
    if not is_connect(session):
        return Application(identifier, session.sparkContext.uiWebUrl)
    return Application(identifier, _ui_of_server(session, identifier))


def _ui_of_server(session: Any, identifier: str) -> str | None:
    """A Connect server tells where its UI was to be; another application may have taken the port before."""
    if session.conf.get("spark.ui.enabled", "true") == "false":
        return None
    host, first = session.conf.get("spark.driver.host", "127.0.0.1"), int(session.conf.get("spark.ui.port", "0"))
    for port in range(first or _DEFAULT_PORT, (first or _DEFAULT_PORT) + _PORTS_TRIED):
        address = f"http://{host}:{port}"
        try:
            with urllib.request.urlopen(f"{address}/api/v1/applications", timeout=_SECONDS) as answer:
                if any(application.get("id") == identifier for application in json.load(answer)):
                    return address
        except URLError as error:
            if isinstance(error.reason, TimeoutError):  # a host that this machine cannot reach
                return None
        except TimeoutError:  # it is there, and busy
            return address
        except (OSError, ValueError, AttributeError):  # something else lives there
            continue
    return None
