"""Keys and region from the files that AWS's own tools use: `~/.aws/credentials` and `~/.aws/config`.

The driver looks at the environment and at the roles of containers and machines, but not at these files.
"""

import os
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path
from typing import Any

_GIVEN = ("access_key_id", "skip_signature")
_ENVIRONMENT = (
    "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)  # fmt: skip
_KEYS = {
    "aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token", "region": "region",
}  # fmt: skip
# Names of settings that lead to other keys: single sign-on, another role, a program.
_ELSEWHERE = ("sso_", "role_arn", "credential_process")


def profile_settings(given: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Settings of the driver from the profile in use; nothing if keys are given or in the environment.

    Raises: ValueError: the profile does not hold its keys.
    """
    if any(name in given for name in _GIVEN) or any(name in environment for name in _ENVIRONMENT):
        return {}
    home = Path(environment.get("HOME", "~")).expanduser()
    files = [
        Path(environment.get("AWS_CONFIG_FILE", home / ".aws" / "config")),
        Path(environment.get("AWS_SHARED_CREDENTIALS_FILE", home / ".aws" / "credentials")),
    ]
    profile = environment.get("AWS_PROFILE", "default")
    settings: dict[str, Any] = {}
    elsewhere = False
    for file in files:
        parser = ConfigParser(interpolation=None)
        parser.read(file)
        for section in (f"profile {profile}", profile):
            if parser.has_section(section):
                settings |= {own: parser[section][name] for name, own in _KEYS.items() if name in parser[section]}
                elsewhere = elsewhere or any(name.startswith(_ELSEWHERE) for name in parser[section])
    if elsewhere and "access_key_id" not in settings:
        raise ValueError(
            f"profile '{profile}' of AWS gets its keys from elsewhere, which is not supported; put them into the "
            f"environment: eval $(aws configure export-credentials --profile {profile} --format env)"
        )
    if "AWS_REGION" in environment or "AWS_DEFAULT_REGION" in environment:
        settings.pop("region", None)
    return settings
