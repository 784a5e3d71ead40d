"""Which statistics a column gets: option `metadata.stats-mode` and its variants. Source: metadata section 5."""

import re
from dataclasses import dataclass
from enum import StrEnum

from maintenance.types.values import Value

_TRUNCATE = re.compile(r"TRUNCATE\((\d+)\)")
_FIRST_SURROGATE, _LAST_SURROGATE, _LAST_CODE_POINT = 0xD800, 0xDFFF, 0x10FFFF


class StatsKind(StrEnum):
    """How much is kept of a column."""

    NONE = "none"
    COUNTS = "counts"
    TRUNCATE = "truncate"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """A mode. `length`: of TRUNCATE, code points of texts, > 0."""

    kind: StatsKind
    length: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.length})" if self.kind == StatsKind.TRUNCATE else str(self.kind)

    def bounds(self, low: Value, high: Value) -> tuple[Value, Value]:
        """What is stored of a column's exact bounds: none, both cut to the length, or both as they are."""
        if self.kind in (StatsKind.NONE, StatsKind.COUNTS):
            return None, None
        if self.kind == StatsKind.TRUNCATE and isinstance(low, str) and isinstance(high, str):
            above = truncated_max(high, self.length)
            return (None, None) if above is None else (low[: self.length], above)
        return low, high


NO_STATS = StatsMode(StatsKind.NONE)
FULL_STATS = StatsMode(StatsKind.FULL)
# Of system columns, and of key columns in thin mode, where no mode is given for the column.
SYSTEM_STATS = StatsMode(StatsKind.TRUNCATE, 128)


def parse_stats_mode(text: str) -> StatsMode:
    """The mode of a text such as ``truncate(16)``, in any case. Raises: ValueError: it is none."""
    upper = text.strip().upper()
    truncate = _TRUNCATE.fullmatch(upper)
    if truncate is not None and int(truncate[1]) > 0:
        return StatsMode(StatsKind.TRUNCATE, int(truncate[1]))
    if upper in ("NONE", "COUNTS", "FULL"):
        return StatsMode(StatsKind(upper.lower()))
    raise ValueError("expected none, counts, truncate(n) with n > 0, or full")


def truncated_max(value: str, length: int) -> str | None:
    """An upper bound of `value` of at most `length` code points; None when there is none.

    A cut value is raised at its last place that can be raised. Java raises U+D7FF to a lone surrogate, which it then
    stores as `?`, a bound that is too small; here surrogates are skipped.
    """
    if len(value) <= length:
        return value
    kept = value[:length].rstrip(chr(_LAST_CODE_POINT))
    if not kept:
        return None
    following = ord(kept[-1]) + 1
    if following == _FIRST_SURROGATE:
        following = _LAST_SURROGATE + 1
    return kept[:-1] + chr(following)
