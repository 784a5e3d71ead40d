"""Faults of a table, and collecting them: nothing that is wrong with a table may end the examination of the rest."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from maintenance.errors import RESTORE, CorruptFileError, NotFoundError, PaimonError, UnsupportedError

T = TypeVar("T")


class FaultKind(StrEnum):
    """What is wrong.

    Attributes:
        MISSING: metadata names a file that is not there.
        DAMAGED: a file's bytes are not what its format says.
        MISMATCH: two files contradict each other: sizes, numbers of rows, deletion vectors of files that do not live.
        UNSUPPORTED: of a newer Paimon, or a feature this program lacks: it was not examined.
        HINT: a hint is wrong; this project's readers find their way without it.
        STRAY: a file that does not belong where it is.
    """

    MISSING = "missing"
    DAMAGED = "damaged"
    MISMATCH = "mismatch"
    UNSUPPORTED = "unsupported"
    HINT = "hint"
    STRAY = "stray"


@dataclass(frozen=True, slots=True)
class Fault:
    """One finding.

    Attributes:
        object: path of the file; `detail`: what is wrong, and what needs the file; `fix`: what to do.
        harmless: no reader, writer or expiry is hindered by it, of Paimon's own ones neither.
    """

    kind: FaultKind
    object: str
    detail: str
    fix: str
    harmless: bool = False


@dataclass(slots=True)
class Faults:
    """Collects faults; the same one is kept once."""

    recorded: dict[Fault, None] = field(default_factory=dict)

    def add(self, kind: FaultKind, path: str, detail: str, fix: str = RESTORE) -> None:
        self.recorded[Fault(kind, path, detail, fix)] = None

    def note(self, kind: FaultKind, path: str, detail: str, fix: str) -> None:
        """Add a finding that is harmless."""
        self.recorded[Fault(kind, path, detail, fix, harmless=True)] = None

    def attempt(self, path: str, needed_by: str, read: Callable[[], T], *, listed: bool = False) -> T | None:
        """What `read` gives; None if it fails, which is a fault of the file.

        Args: `needed_by`: for the detail; `listed`: it was there a moment ago, so if it is missing somebody deleted it,
            which is not a fault.
        """
        try:
            return read()
        except FileNotFoundError:
            if not listed:
                self.add(FaultKind.MISSING, path, f"needed by {needed_by}")
        except PaimonError as error:
            self.add(_kind_of(error), path, f"{error.found} ({error.where}); needed by {needed_by}", error.fix)
        except Exception as error:  # noqa: BLE001 - the examination goes on, whatever a file does to its parser
            self.add(FaultKind.DAMAGED, path, f"{type(error).__name__}: {error}; needed by {needed_by}")
        return None


def _kind_of(error: PaimonError) -> FaultKind:
    if isinstance(error, NotFoundError):
        return FaultKind.MISSING
    if isinstance(error, UnsupportedError):
        return FaultKind.UNSUPPORTED
    return FaultKind.DAMAGED if isinstance(error, CorruptFileError) else FaultKind.MISMATCH
