"""A database as a catalog describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

COMMENT = "comment"
LOCATION = "location"
OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Database:
    """A database.

    Attributes:
        properties: of users and of the catalog, such as `location`; a filesystem catalog keeps none.
        comment: None where the catalog has no field of its own for it.
    """

    name: str
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
