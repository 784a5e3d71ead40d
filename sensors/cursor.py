"""What a sensor remembers from one tick to the next, in the same form for all that look at tables."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from maintenance.format.metadata.snapshot_identity import SnapshotIdentity

Kept = TypeVar("Kept")


def snapshot_text(stored: Any) -> str:
    """What a cursor says of a snapshot: what it is, as text.

    Earlier cursors have its number alone, which is the text of no snapshot: such a table is looked at again.
    Raises: ValueError, TypeError: it says neither.
    """
    return str(SnapshotIdentity.parse(stored) or int(stored))


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table that could not be read. `times`: in a row; `again`: when to look next, seconds since 1970."""

    times: int
    again: float


@dataclass(frozen=True, slots=True)
class Cursor(Generic[Kept]):
    """What a tick leaves to the next.

    Attributes:
        first: the table that the next tick begins with.
        tables: what is remembered of each table; under a name without a dot, of something else.
        troubles: of the tables that could not be read when last tried.
    """

    first: str = ""
    tables: Mapping[str, Kept] = field(default_factory=dict)
    troubles: Mapping[str, Trouble] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None, kept: Callable[[Any], Kept]) -> "Cursor[Kept]":
        """The cursor of a text; one that makes no sense counts as none: every table is looked at again.

        Args: `kept`: turns the JSON of what is remembered of a table into that. It may raise ValueError, TypeError,
            KeyError or AttributeError.
        """
        try:
            stored = json.loads(text or "{}")
            return cls(
                str(stored.get("first", "")),
                {str(name): kept(entry) for name, entry in stored.get("tables", {}).items()},
                {
                    n: Trouble(int(entry["times"]), float(entry["again"]))
                    for n, entry in stored.get("troubles", {}).items()
                },
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()

    def serialize(self) -> str:
        """The other way round."""
        return json.dumps(asdict(self), sort_keys=True)
