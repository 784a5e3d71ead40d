"""Paimon's names of settings, and what the drivers get."""

from typing import Any

import pytest

from maintenance.fs.settings import driver_settings, settings_of

NO_CACHE = {"use_listings_cache": False}
KEYS = {"endpoint_url": "http://s", "key": "123", "secret": "456"}


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"s3.endpoint": "http://s", "s3.access-key": "123", "s3.secret-key": "456"}, KEYS),
        ({"fs.s3a.endpoint": "http://s", "fs.s3a.access.key": "123", "fs.s3a.secret.key": "456"}, KEYS),
        ({"s3.endpoint": "s.example"}, {"endpoint_url": "https://s.example"}),
        ({"s3.path.style.access": "true"}, {"config_kwargs": {"s3": {"addressing_style": "path"}}}),
        ({"s3.path-style-access": "false"}, {"config_kwargs": {"s3": {"addressing_style": "auto"}}}),
        ({"fs.s3a.endpoint.region": "eu-central-1"}, {"client_kwargs": {"region_name": "eu-central-1"}}),
        ({"fs.anon": "false", "fs.key": "123"}, {"anon": False, "key": "123"}),
        ({"fs.client_kwargs": '{"verify": false}'}, {"client_kwargs": {"verify": False}}),
        ({"fs.max_concurrency": "4"}, {"max_concurrency": 4}),
        ({"fs.oss.endpoint": "elsewhere", "table-default.s3.endpoint": "x"}, {}),
    ],
)
def test_settings_of_s3(scheme: str, options: dict[str, str], expected: dict[str, Any]) -> None:
    assert driver_settings(scheme, dict(settings_of(options))) == {**NO_CACHE, **expected}


def test_settings_of_other_stores() -> None:
    oss = {"fs.oss.endpoint": "e", "fs.oss.accessKeyId": "k", "fs.oss.accessKeySecret": "s"}
    assert driver_settings("oss", dict(settings_of(oss))) == {**NO_CACHE, "endpoint": "e", "key": "k", "secret": "s"}
    azure = dict(settings_of({"fs.azure.account.key.lake.dfs.core.windows.net": "k"}))
    assert driver_settings("abfss", azure) == {**NO_CACHE, "account_name": "lake", "account_key": "k"}
    gs = dict(settings_of({"fs.gs.auth.service.account.json.keyfile": "/key.json"}))
    assert driver_settings("gs", gs) == {**NO_CACHE, "token": "/key.json"}
    assert driver_settings("memory", azure) == {}


def test_settings_that_a_driver_does_not_have_are_named(caplog: pytest.LogCaptureFixture) -> None:
    driver_settings("s3", {"s3a.fast.upload": "true"})
    assert "s3a.fast.upload" in caplog.text


def test_json_that_is_not() -> None:
    with pytest.raises(ValueError, match="'client_kwargs' is not valid JSON"):
        driver_settings("s3", {"client_kwargs": "{verify: false}"})
