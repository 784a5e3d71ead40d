"""Who commits, and which of its commits it is. What a snapshot cannot hold is refused before anything is written."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import SupportsIndex

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, Snapshot

_OWN_PROPERTIES = "paimon-maintenance."
# The property that every snapshot of this engine has: it tells them from those of other engines.
ENGINE_PROPERTY = _OWN_PROPERTIES + "engine"
ENGINE = "python"
# The property of a snapshot that says which of this project's operations made it; its users change with every run.
OPERATION_PROPERTY = "paimon-maintenance.operation"
# The operation whose COMPACT snapshots merge nothing.
REWRITE_FILE_INDEX = "rewrite_file_index"
# The property that says which run, for example of Dagster, committed a snapshot: from there its log can be found.
RUN_PROPERTY = "paimon-maintenance.run"
# The property that says which Spark application wrote the rows of a snapshot.
APPLICATION_PROPERTY = "paimon-maintenance.application"

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def is_ours(snapshot: Snapshot) -> bool:
    """Whether this engine committed a snapshot, rather than Paimon's own or another one."""
    return any(key.startswith(_OWN_PROPERTIES) for key in snapshot.properties or ())


@dataclass(frozen=True, slots=True)
class CommitIdentity:
    """Who commits, and which of its commits it is. `identifier`: `BATCH_IDENTIFIER` for one that is never replayed.

    `watermark`: milliseconds since 1970-01-01 UTC, None = it does not say. Raises: OptionError: see `numbered`.
    """

    user: str
    identifier: int = BATCH_IDENTIFIER
    watermark: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.user, str) or not self.user.strip() or not is_text(self.user):
            raise OptionError(f"commit user {self.user!r}", "a commit", "Name the user with a text that is not blank.")
        object.__setattr__(self, "identifier", _long(self.identifier, "commit identifier"))
        if self.watermark is not None:
            object.__setattr__(self, "watermark", _long(self.watermark, "watermark"))
        check_properties(self.properties)


def numbered(
    user: str, identifier: int | None, watermark: int | None = None, properties: Mapping[str, str] | None = None
) -> CommitIdentity:
    """The identity of a commit that a user may number. `identifier`: None = it has no number and is never a replay.

    Raises: OptionError: the user is blank, a number has no place in a snapshot, or it stands for commits without one.
    """
    if identifier == BATCH_IDENTIFIER:
        raise OptionError(
            f"commit identifier {identifier} stands for commits without a number",
            f"commit user {user!r}",
            "Use a smaller number, or none.",
        )
    return CommitIdentity(user, BATCH_IDENTIFIER if identifier is None else identifier, watermark, properties or {})


def check_properties(properties: Mapping[str, str]) -> None:
    """Raises: OptionError: a key or value is not a text that JSON can hold."""
    for part in (part for pair in properties.items() for part in pair):
        if not isinstance(part, str) or not is_text(part):
            raise OptionError(f"{part!r} in the properties of a snapshot", "a commit", "Use texts of valid Unicode.")


def is_text(text: str) -> bool:
    """Whether files can hold a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _long(value: SupportsIndex, label: str) -> int:
    """An integer that Java's long can hold. Raises: OptionError."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not _SMALLEST <= number <= _LARGEST:
        raise OptionError(f"{label} {value!r}", "a commit", f"Use an integer from {_SMALLEST} to {_LARGEST}.")
    return int(number)
