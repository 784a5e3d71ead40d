"""What other settings of a table would cost: a picture, and the statement that sets each of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from maintenance.errors import OptionError, UnsupportedError
from maintenance.operations import simulate_settings
from maintenance.operations.tuning.simulate_settings import SimulationReport, tries_of
from paimon_maintenance.console.lake import Known

SNAPSHOTS = 300
MOST = 10_000


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The page.

    Attributes:
        tries, snapshots: what the form shows.
        problem: why there is no simulation, and what to do.
    """

    table: str
    tries: str
    snapshots: int
    report: SimulationReport | None = None
    problem: str = ""

    @property
    def picture(self) -> Markup:
        """The picture; its texts are escaped where it is made."""
        return Markup("" if self.report is None else self.report.svg)


def settings_view(known: Known, identifier: str, query: Mapping[str, str]) -> SettingsView:
    """What the form asks for. Raises: NotFoundError; as opening the table."""
    known.config(identifier)
    table = known.catalog.get_table(identifier)
    tries, given = query.get("try", "").strip(), query.get("snapshots", "").strip()
    count = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else SNAPSHOTS
    snapshots = min(MOST, max(1, count))
    try:
        report = simulate_settings(table, tries_of(tries) if tries else None, snapshots=snapshots)
    except ValueError as error:
        return SettingsView(identifier, tries, snapshots, problem=f"{error}")
    except (OptionError, UnsupportedError) as error:
        return SettingsView(identifier, tries, snapshots, problem=f"{error.found}. {error.fix}")
    return SettingsView(identifier, tries, snapshots, report)
