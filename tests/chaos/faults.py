"""The faults that a campaign finds: the first ones of each kind, and how many there are."""

from collections import Counter
from dataclasses import dataclass, field

_SHOWN = 4


@dataclass(slots=True)
class Faults:
    """Faults by kind, as they were found."""

    first: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, text: str) -> None:
        """A fault. `kind`: a few words that faults of one cause are likely to share."""
        shown = self.first.setdefault(kind, [])
        if text not in shown:
            self.counts[kind] += 1
            if len(shown) < _SHOWN:
                shown.append(text)

    def __len__(self) -> int:
        return self.counts.total()

    def texts(self) -> tuple[str, ...]:
        """The first faults of each kind, with the number of the others."""
        collected = []
        for kind, shown in self.first.items():
            more = self.counts[kind] - len(shown)
            collected += [f"{kind}: {text}" for text in shown] + ([f"{kind}: {more} more"] if more else [])
        return tuple(collected)
