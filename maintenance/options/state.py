"""What becomes of an option of Paimon here: it is honoured, it is harmless, or it is refused."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from maintenance.errors import UnsupportedError

Accepts = Callable[[str], bool]


class Use(Enum):
    """What is done with a table that has an option."""

    READ = auto()
    """Its rows are read."""
    WRITE = auto()
    """Files of rows are written."""
    KEEP = auto()
    """What decodes and writes no rows: expiry, tags, branches, clones, rollbacks, orphans, dropped partitions."""


ALWAYS = frozenset(Use)
CHANGES = frozenset({Use.WRITE, Use.KEEP})
WRITES = frozenset({Use.WRITE})
READS = frozenset({Use.READ})
KEEPS = frozenset({Use.KEEP})
SETTING = frozenset[Use]()
"""Only whoever sets the option here is refused: tables that have it already are read and written all the same."""


def never(_text: str) -> bool:
    """No value is accepted."""
    return False


def only(*accepted: str) -> Accepts:
    """Accepts these values alone, in any case."""
    return lambda text: text.strip().lower() in accepted


OFF = only("false")
ON = only("true")


@dataclass(frozen=True, slots=True)
class Refused:
    """Values that mean something this engine does not do are refused when they are set, and what else `by` says.

    Attributes:
        why: a sentence.
        accepts: whether a value leaves the default behaviour.
        by: what is refused with a table that has it.
    """

    why: str
    accepts: Accepts = never
    by: frozenset[Use] = SETTING

    def error(self, key: str, value: str, where: str) -> UnsupportedError:
        """That a value is refused. `where`: the table."""
        return UnsupportedError(
            f"option '{key}' = '{value}' is not supported: {self.why}",
            where,
            "Unset the option, or maintain this table with Apache Paimon's own jobs." if self.by else "Leave it out.",
        )


@dataclass(frozen=True, slots=True)
class Honoured:
    """The engine does what the option says. `beyond`: of values that it does not know."""

    beyond: Refused | None = None


@dataclass(frozen=True, slots=True)
class Harmless:
    """The option may be set and changes nothing here. `why`: what it is about, and why nobody misses it."""

    why: str


State = Honoured | Harmless | Refused
HONOURED = Honoured()


def refusal_of(state: State | None) -> Refused | None:
    """Which values are refused, if any are."""
    match state:
        case Refused():
            return state
        case Honoured(beyond):
            return beyond
    return None
