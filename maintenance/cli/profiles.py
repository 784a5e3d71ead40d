"""Catalogs by name, from a file of the user: ``~/.config/paimonctl/config.toml``.

    [profiles.lake]
    dialect = "flink"
    engine = "sail"
    warehouse = "s3://lake/warehouse"
    "s3.endpoint" = "https://minio:9000"

All keys but `dialect` and `engine` are Paimon's catalog options. ``${NAME}`` is the environment variable of that name.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maintenance.errors import OptionError
from maintenance.options.environment import from_environment
from maintenance.spark.engine import ENGINE, Engine
from maintenance.spelling import suggestion


@dataclass(frozen=True, slots=True)
class Profile:
    """Catalog options, the dialect of SQL, and what runs it; None = the usual one."""

    options: Mapping[str, str]
    dialect: str | None = None
    engine: str | None = None


def config_path() -> Path:
    """The file: `PAIMONCTL_CONFIG`, else where the system keeps a user's settings."""
    given = os.environ.get("PAIMONCTL_CONFIG")
    if given:
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "paimonctl" / "config.toml"


def profile_names() -> list[str]:
    """The names of all profiles, sorted; none if the file cannot be read."""
    try:
        return sorted(_profiles(config_path()))
    except OptionError:
        return []


def load_profile(name: str) -> Profile:
    """Raises: OptionError: there is no such profile, or it says something that cannot be."""
    path = config_path()
    profiles = _profiles(path)
    if name not in profiles:
        names = sorted(profiles)
        listed = f"There are: {', '.join(names)}." if names else f"Write [profiles.{name}] into it."
        raise OptionError(f"profile '{name}' does not exist", str(path), f"{listed}{suggestion(name, names)}")
    where = f"{path}, profile {name}"
    values = {key: from_environment(str(value), where) for key, value in _plain(profiles[name], where).items()}
    dialect = values.pop("dialect", None)
    if dialect not in (None, "flink", "spark"):
        raise OptionError(f"dialect '{dialect}' is not known", where, "Use 'flink' or 'spark'.")
    engine = values.pop(ENGINE, None)
    if engine is not None:
        Engine.parse(engine, where)
    return Profile(values, dialect, engine)


def _profiles(path: Path) -> Mapping[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(
            f"the file of profiles cannot be read: {error}", str(path), "Correct the TOML of this file."
        ) from error
    profiles = content.get("profiles", {})
    if not isinstance(profiles, dict):
        raise OptionError("'profiles' is not a table", str(path), "Write each profile as a table, [profiles.NAME].")
    return profiles


def _plain(profile: Any, where: str, prefix: str = "") -> dict[str, Any]:
    """Keys with their values; ``s3.endpoint = …`` without quotes is a table inside a table for TOML."""
    if not isinstance(profile, dict):
        raise OptionError("a profile is not a table", where, "Write [profiles.NAME], and KEY = VALUE below it.")
    plain: dict[str, Any] = {}
    for key, value in profile.items():
        if isinstance(value, dict):
            plain |= _plain(value, where, f"{prefix}{key}.")
        else:
            plain[prefix + key] = str(value).lower() if isinstance(value, bool) else value
    return plain
