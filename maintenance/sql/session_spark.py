"""What runs the queries of a session: an engine, and the Spark session of that, opened when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from maintenance.errors import OptionError
from maintenance.spark.engine import Engine
from maintenance.sql.known_settings import hand_to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WHERE = "session"


@dataclass(slots=True)
class Running:
    """An engine, with a session that somebody else has opened, or without.

    Attributes: `given`: that session; `told`: the session that knows the settings.
    """

    engine: Engine
    given: "SparkSession | None" = None
    told: "SparkSession | None" = field(default=None, repr=False)

    def session(self, settings: Mapping[str, str]) -> "SparkSession | None":
        """The Spark session, None = this process. One that is opened here gets the settings of SET. Errors of that."""
        if self.given is not None or self.engine.is_embedded:
            return self.given
        from maintenance.spark.opened import open_session

        opened = open_session(self.engine)
        if opened is not self.told:
            self.told = opened
            for key, value in settings.items():
                hand_to_spark(key, value, opened)
        return opened


class SessionSpark:
    """The attribute `spark` of a session."""

    @overload
    def __get__(self, session: None, owner: Any) -> None: ...
    @overload
    def __get__(self, session: Any, owner: Any) -> "SparkSession | None": ...
    def __get__(self, session: Any, owner: Any) -> "SparkSession | None":
        return None if session is None else session.running.session(session.settings)

    def __set__(self, session: Any, value: "SparkSession | None") -> None:
        session.running = Running(Engine.of_session(value), value)


class SessionEngine:
    """The attribute `engine` of a session; it can be set as text. None leaves it as it is."""

    @overload
    def __get__(self, session: None, owner: Any) -> None: ...
    @overload
    def __get__(self, session: Any, owner: Any) -> Engine: ...
    def __get__(self, session: Any, owner: Any) -> Engine | None:
        return None if session is None else session.running.engine

    def __set__(self, session: Any, value: "str | Engine | None") -> None:
        """Raises: OptionError: there is no such engine, or a Spark session is given besides."""
        if value is None:
            return
        if session.running.given is not None:
            raise OptionError(
                "'spark' and 'engine' are both given", _WHERE, "Give the session 'spark' or 'engine', not both."
            )
        engine = Engine.parse(value, _WHERE) if isinstance(value, str) else value
        session.running = Running(engine.settled())
