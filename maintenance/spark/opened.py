"""The session of this process that an engine has. PySpark knows one kind of sessions at a time in a process."""

import atexit
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from maintenance.errors import OptionError
from maintenance.spark.engine import Engine, EngineKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By it PySpark knows that its functions are of Connect.
_CONNECT_VARIABLE = "SPARK_CONNECT_MODE_ENABLED"


@dataclass(frozen=True, slots=True)
class _Opened:
    process: int
    engine: Engine
    config: Mapping[str, str]
    session: Any

    def serves(self, engine: Engine, config: Mapping[str, str]) -> bool:
        same = (self.engine.kind, self.engine.address) == (engine.kind, engine.address)
        return same and self.config == config and self.process == os.getpid() and not is_stopped(self.session)


_OPENED: list[_Opened] = []


def open_session(engine: Engine, config: Mapping[str, str] | None = None) -> "SparkSession | None":
    """The session of an engine; None: this process does the work.

    The one that was opened before serves again if engine and settings are the same, else it is stopped. A session that
    somebody else has opened in this process is taken where it is of the engine.

    Args: `config`: settings of Spark, over this engine's defaults.
    Raises: OptionError: the engine is not installed, or refuses a setting, or this process has a session of another
        one; InfrastructureError: it does not start.
    """
    engine, config = engine.settled(), dict(config or {})
    if engine.is_embedded:
        return None
    if find_spec("pyspark") is None:
        extra = "sail" if engine.kind is EngineKind.SAIL else "spark"
        raise OptionError("PySpark is not installed", f"engine '{engine}'", f"Install the extra '{extra}'.")
    if not (_OPENED and _OPENED[-1].serves(engine, config)):
        close_session()
        _check_others(engine)
        session = _started(engine, config)
        _OPENED.append(_Opened(os.getpid(), engine, config, session))
        atexit.register(_stop_quietly, session)
    opened: SparkSession = _OPENED[-1].session
    return opened


def close_session() -> None:
    """Stop the session that this process has opened, if it has."""
    while _OPENED:
        last = _OPENED.pop()
        # To stop one that is stopped already would make PySpark forget the one that runs.
        if last.process == os.getpid() and not is_stopped(last.session):
            stop(last.session)


def forget_lost() -> bool:
    """Forget the session of this process if its Spark is gone. Returns whether it was."""
    from maintenance.spark.lost import forget, is_lost

    lost = bool(_OPENED) and is_lost(_OPENED[-1].session)
    if lost:
        forget(_OPENED.pop().session)
    return lost


def stop(session: Any) -> None:
    """Stop a session, so that one of another kind can follow it."""
    from maintenance.spark.lost import stop_session

    stop_session(session)
    os.environ.pop(_CONNECT_VARIABLE, None)


def is_stopped(session: Any) -> bool:
    from maintenance.spark.application import is_connect

    return bool(session.is_stopped if is_connect(session) else session.sparkContext._jsc is None)


def is_opened(session: Any) -> bool:
    """Whether it is the session that `open_session` has opened last."""
    return bool(_OPENED) and _OPENED[-1].session is session


def _started(engine: Engine, config: Mapping[str, str]) -> Any:
    from maintenance.spark.session import get_session

    if engine.kind is EngineKind.SPARK:
        os.environ.pop(_CONNECT_VARIABLE, None)
        return get_session(master=engine.address, config=config)
    remote = engine.address
    if engine.kind is EngineKind.SAIL and remote is None:
        from maintenance.spark.sail_server import own_server

        remote = own_server().remote
    session: Any = get_session(remote=remote, config=config)
    session.release_session_on_close = "session_id=" not in str(remote)  # others go on using a shared one
    return session


def _check_others(engine: Engine) -> None:
    """Raises: OptionError: a session that somebody else has opened is of another engine."""
    from pyspark.sql import SparkSession

    other = SparkSession.getActiveSession()
    if other is None or is_stopped(other):
        return
    found = Engine.of_session(other)
    if found.kind is not engine.kind or found.kind is not EngineKind.SPARK:
        raise OptionError(
            "this process has a Spark session already, and PySpark knows one kind at a time",
            f"engine '{engine}'",
            "Give that session itself, or stop it first.",
        )


def _stop_quietly(session: Any) -> None:
    with suppress(Exception):  # its Spark may be gone, and the process ends
        stop(session)
