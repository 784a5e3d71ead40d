"""What somebody may have meant by a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 2


def nearest(name: str, names: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name that is most like `name`, upper and lower case aside; None if none is close.

    Args: `alike`: from 0 to 1, how close it must be.
    """
    spelt: dict[str, str] = {}
    for each in names:
        spelt.setdefault(each.lower(), each)
    close = get_close_matches(name.lower(), spelt, n=1, cutoff=alike)
    return spelt[close[0]] if close else None


def suggestion(name: str, names: Iterable[str]) -> str:
    """`` Did you mean 'x'?``, with a space before it; empty if no known name is close."""
    close = nearest(name, names)
    return f" Did you mean '{close}'?" if close else ""


def misspelt(name: str, names: Iterable[str]) -> str | None:
    """The known name that `name` is with at most two typing mistakes, None if there is none.

    A mistake is a character too many, too few, wrong, or swapped with the next one. Upper and lower case, and the
    separators ``-``, ``_`` and ``.``, count as the same.
    """
    written = _plain(name)
    distances = {each: _mistakes(written, _plain(each)) for each in names if abs(len(each) - len(name)) <= _MOST}
    close = min(distances, key=lambda each: (distances[each], each), default=None)
    return close if close is not None and distances[close] <= _MOST else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _mistakes(one: str, other: str) -> int:
    """Damerau-Levenshtein distance, each character swapped at most once."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        row = [i]
        for j, right in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if i > 1 and j > 1 and left == other[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def meant(names: Iterable[str], name: str) -> list[str]:
    """Which of some names one means: the same one, else those that differ from it only in case."""
    listed = list(names)
    return [name] if name in listed else [other for other in listed if other.lower() == name.lower()]
