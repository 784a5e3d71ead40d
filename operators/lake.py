"""Where the tables are: a connection of Airflow, a profile of `paimonctl`, a tables.yaml, or a warehouse."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maintenance.errors import OptionError
from paimon_maintenance.operators.airflow_release import BaseHook, BaseOperator, mask_secret

if TYPE_CHECKING:
    from maintenance.catalog import Catalog
    from maintenance.project.config import Project
    from maintenance.sql import Session

ENGINE = "engine"
_VARIABLES = ("PAIMON_PROFILE", "PAIMON_WAREHOUSE", "PAIMON_TABLES")
# What a connection has besides its extra, as options of the catalog.
_LOGIN, _PASSWORD = "s3.access-key", "s3.secret-key"


@dataclass(frozen=True, slots=True)
class Lake:
    """A catalog, told by one of four; without any, the environment of the worker says it, as for `paimonctl`.

    Attributes:
        paimon_conn_id: a connection whose extra has the catalog's options.
        profile: of `paimonctl`.
        tables: the path of a tables.yaml.
        warehouse: a path or URI.
        engine: what does the work, as `Engine` reads it; None: as the connection or profile says, else this process.
    """

    paimon_conn_id: str | None = None
    profile: str | None = None
    tables: str | None = None
    warehouse: str | None = None
    engine: str | None = None

    def __post_init__(self) -> None:
        named = [name for name in ("paimon_conn_id", "profile", "tables", "warehouse") if getattr(self, name)]
        if len(named) > 1:
            raise OptionError(f"{' and '.join(named)} are given", "where the tables are", "Give one of them.")

    def as_json(self) -> dict[str, str]:
        """The same for a trigger, which is kept in Airflow's database; it has names, and no secret."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def session(self, run: str | None = None) -> "Session":
        """A session over the catalog. `run`: what snapshots say has made them. Raises: PaimonError."""
        from maintenance.sql import Session

        options, engine = self._options()
        session = Session(options, makes_default=False, engine=self.engine or engine or "embedded")
        session.run = run
        return session

    def catalog(self) -> "Catalog":
        """The catalog alone. Raises: PaimonError."""
        from maintenance.catalog import open_catalog

        return open_catalog(self._options()[0])

    def project(self) -> "Project | None":
        """What a tables.yaml says that is named; None: none is. Raises: OptionError, with the line of the mistake."""
        others = self.paimon_conn_id, self.profile, self.warehouse, *map(os.environ.get, _VARIABLES[:2])
        path = self.tables or (None if any(others) else os.environ.get(_VARIABLES[2]))
        if not path:
            return None
        from maintenance.project.config import parse_project

        return parse_project(Path(path), may_be_empty=True)

    def _options(self) -> tuple[Mapping[str, str], str | None]:
        """The options of the catalog, and the engine."""
        if self.paimon_conn_id:
            return _of_connection(self.paimon_conn_id)
        if self.warehouse:
            return {"warehouse": self.warehouse}, None
        profile, warehouse, tables = (
            (self.profile, None, self.tables) if self.profile or self.tables else map(os.environ.get, _VARIABLES)
        )
        if profile:
            from maintenance.cli.profiles import load_profile

            found = load_profile(profile)
            return found.options, found.engine
        if warehouse:
            return {"warehouse": warehouse}, None
        if tables:
            from maintenance.project.catalog_options import catalog_options

            return catalog_options(Path(tables)), None
        raise OptionError(
            "nothing says where the tables are",
            "operator",
            f"Give paimon_conn_id, profile, tables or warehouse, or set {', '.join(_VARIABLES)} for the workers.",
        )


class OfLake(BaseOperator):
    """An operator that says where its tables are. Args: as of `Lake`."""

    def __init__(
        self,
        *,
        paimon_conn_id: str | None = None,
        profile: str | None = None,
        tables: str | None = None,
        warehouse: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.lake = Lake(paimon_conn_id, profile, tables, warehouse)


def _of_connection(conn_id: str) -> tuple[Mapping[str, str], str | None]:
    """The options that a connection has. Those with a secret are hidden in logs from here on."""
    from maintenance.options.environment import from_environment
    from maintenance.project.catalog_options import option_text

    connection: Any = BaseHook.get_connection(conn_id)
    where = f"connection {conn_id}"
    extra = connection.extra_dejson
    options = {str(key): from_environment(option_text(value), where) for key, value in extra.items()}
    if connection.host and "warehouse" not in options:
        options["warehouse"] = connection.host
    if connection.login:
        options.setdefault(_LOGIN, connection.login)
    if connection.password:
        options.setdefault(_PASSWORD, connection.password)
        mask_secret(connection.password)
    for key, value in options.items():
        mask_secret(value, key)
    engine = options.pop(ENGINE, None)
    if "warehouse" not in options:
        raise OptionError("there is no 'warehouse'", where, 'Write it into the extra: {"warehouse": "s3://…"}.')
    return options, engine
