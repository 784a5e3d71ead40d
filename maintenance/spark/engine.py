"""What runs queries and tasks: this process, a Spark, or Sail, a Spark Connect server without a JVM.

The choice is one word: ``embedded``, ``spark``, ``sail``, ``auto``, or the address of a Spark: ``sc://host:port`` of a
Connect server, ``spark://host:port`` or ``local[4]`` as the master of an own one. `Engine` is that word, read;
`opened.open_session` is the only way from it to a session.
"""

from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self

from maintenance.errors import OptionError
from maintenance.spark.java import java_found
from maintenance.spelling import suggestion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINE = "engine"
"""The key of the choice: of SET, of a profile, and of tables.yaml."""
LOCAL_MASTER = "local[*]"
_CONNECT = "sc://"
_MASTERS = ("local", "spark://", "yarn", "k8s://")


class EngineKind(StrEnum):
    """Attributes:
    EMBEDDED: this process, without Spark.
    SPARK: a Spark that this process starts.
    SAIL: a Sail server that this process starts.
    CONNECT: a Spark Connect server that others have started.
    AUTO: SPARK where there is a Java for it, else SAIL.
    """

    EMBEDDED = "embedded"
    SPARK = "spark"
    SAIL = "sail"
    CONNECT = "connect"
    AUTO = "auto"


_WORDS = (EngineKind.EMBEDDED, EngineKind.SPARK, EngineKind.SAIL, EngineKind.AUTO)
CHOICES = "Use 'embedded', 'spark', 'sail', 'auto', or the address of a Spark, such as 'sc://localhost:15002'."

_TOLD = {
    EngineKind.EMBEDDED: "in this process: scans by this engine, the query by DuckDB",
    EngineKind.SPARK: "a Spark of this process: scans by this engine in its tasks, the query by Spark",
    EngineKind.SAIL: "a server without a JVM: scans by this engine in its tasks, the query by Sail",
    EngineKind.CONNECT: "a Spark Connect server: scans by this engine in its tasks, the query by that server",
    EngineKind.AUTO: "Spark where there is a Java, else Sail",
}


@dataclass(frozen=True, slots=True)
class Engine:
    """The choice.

    Attributes:
        address: of a Connect server, or the master of a Spark; None: this machine, or none is needed.
        why: what `auto` found.
    """

    kind: EngineKind
    address: str | None = None
    why: str = ""

    @classmethod
    def parse(cls, text: str, where: str) -> Self:
        """The engine that a word or address names. `where`: names the place. Raises: OptionError: it names none."""
        word = text.strip()
        if word.lower() in _WORDS:
            return cls(EngineKind(word.lower()))
        if word.startswith(_CONNECT) and len(word) > len(_CONNECT):
            return cls(EngineKind.CONNECT, word)
        if word.startswith(_MASTERS):
            return cls(EngineKind.SPARK, word)
        raise OptionError(f"engine '{text}' is not known", where, CHOICES + suggestion(word, _WORDS))

    @classmethod
    def of_settings(cls, engine: str, master: str, remote: str | None, where: str) -> Self:
        """That of a configuration that has a master and a Connect server apart. Raises: OptionError: they contradict.

        Args: `master`: `LOCAL_MASTER` is the same as none.
        """
        chosen = cls.parse(engine, where)
        key, address = ("master", master) if remote is None else ("remote", remote)
        if address == LOCAL_MASTER:
            return chosen
        if chosen.address is not None or chosen.kind not in (EngineKind.AUTO, EngineKind.SPARK):
            found = f"'engine' = '{chosen}' and '{key}' = '{address.partition('/;')[0]}' contradict each other"
            raise OptionError(found, where, f"Leave out '{key}', or write only that.")
        return cls(EngineKind.SPARK if remote is None else EngineKind.CONNECT, address)

    @classmethod
    def of_session(cls, session: "SparkSession | None") -> Self:
        """That of a session which somebody else has opened."""
        if session is None:
            return cls(EngineKind.EMBEDDED)
        from maintenance.spark.application import is_connect
        from maintenance.spark.sail import is_sail

        if not is_connect(session):
            return cls(EngineKind.SPARK)
        return cls(EngineKind.SAIL if is_sail(session) else EngineKind.CONNECT)

    @property
    def is_embedded(self) -> bool:
        return self.kind is EngineKind.EMBEDDED

    def __str__(self) -> str:
        """As it is chosen, without what follows the address of a server: that may hold a token."""
        return self.kind.value if self.address is None else self.address.partition("/;")[0]

    def told(self) -> str:
        """What runs a query, in words."""
        because = f", since {self.why}" if self.why else ""
        return f"{self}, {_TOLD[self.kind]}{because}"

    def settled(self) -> "Engine":
        """The same; of `auto`, what it comes to on this machine. Raises: OptionError: to nothing."""
        if self.kind is not EngineKind.AUTO:
            return self
        java = java_found()
        if java is not None:
            return Engine(EngineKind.SPARK, why=f"Java was found: {java}")
        if find_spec("pysail") is not None:
            return Engine(EngineKind.SAIL, why="no Java 17 or newer was found, and Sail needs none")
        raise OptionError(
            "there is neither a Java 17 or newer for Spark nor Sail",
            "engine 'auto'",
            "Set JAVA_HOME, install the extra 'sail', or use the engine 'embedded'.",
        )
