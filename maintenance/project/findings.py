"""What is wrong with tables.yaml, as values: a warning when it is loaded, a red check, a line on a console."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maintenance.spelling import suggestion

if TYPE_CHECKING:
    from pydantic import ValidationError

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake in the file, or a name in it that means nothing.

    Attributes:
        place: keys and positions from the root of the file to where it is said, as ``("tables", 2, "identifier")``.
        table: the table it is about; None if it is about more than one table.
    """

    place: Place
    found: str
    fix: str
    table: str | None = None

    @property
    def path(self) -> str:
        """The place as text: ``tables.2.identifier``."""
        return ".".join(str(part) for part in self.place)


def mistakes_of(error: "ValidationError") -> list[Finding]:
    """Every mistake that pydantic found, in plain words."""
    return [Finding(tuple(one["loc"]), _message(one), "Correct this line.") for one in error.errors()]


def _message(error: Mapping[str, Any]) -> str:
    tell = _TOLD.get(error["type"])
    return tell(error.get("ctx", {})) if tell else error["msg"].removeprefix("Value error, ")


def _unknown_kind(context: Mapping[str, Any]) -> str:
    kinds = [name.strip("'") for name in str(context["expected_tags"]).split(", ")]
    kind, tag = context["discriminator"].strip("'"), context["tag"]
    return f"unknown {kind} '{tag}'.{suggestion(tag, kinds)} Known: {', '.join(kinds)}"


# Where pydantic's own words say nothing to somebody who writes a file.
_TOLD: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": lambda context: f"{context['discriminator']} is missing: it says what this is",
    "model_type": lambda _: "expected a mapping of settings",
    "model_attributes_type": lambda _: "expected a mapping of settings",
    "dict_type": lambda _: "expected a mapping of settings",
}
