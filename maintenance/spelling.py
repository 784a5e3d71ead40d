"""What somebody may have meant by a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`, upper and lower case aside; None if none is close."""
    spelt: dict[str, str] = {}
    for each in known:
        spelt.setdefault(each.lower(), each)
    close = get_close_matches(name.lower(), spelt, n=1)
    return spelt[close[0]] if close else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?``, with a space before it; empty if no known name is close."""
    close = nearest(name, known)
    return f" Did you mean '{close}'?" if close else ""
