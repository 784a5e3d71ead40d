"""The Dagster platform as one package, so that its parts never clash with a project's own `assets` or `jobs`.

In a checkout its parts are links to the folders at the top; a wheel holds them here. The engine is `maintenance`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paimon_maintenance.components import PaimonTables

__all__ = ["PaimonTables"]


def __getattr__(name: str) -> Any:
    # Not imported with the package: loading Dagster takes longer than most commands below this package need.
    if name != "PaimonTables":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from paimon_maintenance.components import PaimonTables

    return PaimonTables


def __dir__() -> list[str]:
    return __all__
