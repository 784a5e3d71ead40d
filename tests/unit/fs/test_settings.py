"""Paimon's names of settings, and what the drivers get."""

from datetime import timedelta
from typing import Any

import pytest

from maintenance.fs.settings import fsspec_settings, settings_of, store_settings

KEYS = {"endpoint": "http://s", "access_key_id": "0123", "secret_access_key": "456"}
PLAIN = {"client_options": {"allow_http": True}}
UNCHECKED = {"allow_invalid_certificates": True}
JSON = '{"region_name": "eu-central-1", "verify": false}'


def config(scheme: str, options: dict[str, str]) -> dict[str, Any]:
    return store_settings(scheme, dict(settings_of(options)))


@pytest.mark.parametrize("scheme", ["s3", "s3a"])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"s3.endpoint": "http://s", "s3.access-key": "0123", "s3.secret-key": "456"}, {**KEYS, **PLAIN}),
        ({"fs.s3a.endpoint": "http://s", "fs.s3a.access.key": "0123", "fs.s3a.secret.key": "456"}, {**KEYS, **PLAIN}),
        ({"fs.endpoint_url": "http://s", "fs.key": "0123", "fs.secret": "456"}, {**KEYS, **PLAIN}),
        ({"fs.s3a.session.token": "123"}, {"session_token": "123"}),
        ({"s3.endpoint": "s.example"}, {"endpoint": "https://s.example"}),
        ({"s3.path.style.access": "true"}, {"virtual_hosted_style_request": False}),
        ({"s3.path-style-access": "false"}, {"virtual_hosted_style_request": True}),
        ({"fs.s3a.endpoint.region": "eu-central-1"}, {"region": "eu-central-1"}),
        ({"fs.anon": "false", "fs.key": "123"}, {"access_key_id": "123"}),
        (
            {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
            {"skip_signature": True},
        ),
        ({"fs.s3a.connection.timeout": "1000"}, {"client_options": {"timeout": timedelta(seconds=1)}}),
        ({"fs.s3a.attempts.maximum": "3"}, {"retry_config": {"max_retries": 3}}),
        ({"fs.client_kwargs": JSON}, {"region": "eu-central-1", "client_options": UNCHECKED}),
        ({"fs.config_kwargs": '{"s3": {"addressing_style": "path"}}'}, {"virtual_hosted_style_request": False}),
        ({"fs.max_concurrency": "4"}, {}),
        ({"fs.oss.endpoint": "elsewhere", "table-default.s3.endpoint": "x"}, {}),
    ],
)
def test_settings_of_s3_reach_the_driver_by_its_own_names(
    scheme: str, options: dict[str, str], expected: dict[str, Any]
) -> None:
    assert config(scheme, options) == expected


def test_settings_of_other_stores() -> None:
    oss = {"fs.oss.endpoint": "e", "fs.oss.accessKeyId": "k", "fs.oss.accessKeySecret": "s"}
    assert config("oss", oss) == {"endpoint": "https://e", "access_key_id": "k", "secret_access_key": "s"}
    key = {"fs.azure.account.key.lake.dfs.core.windows.net": "k"}
    assert config("abfss", key) == {"account_name": "lake", "account_key": "k"}
    login = {
        "fs.azure.account.auth.type": "OAuth",
        "fs.azure.account.oauth2.client.id": "id",
        "fs.azure.account.oauth2.client.secret": "s",
        "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
    }
    assert config("abfss", login) == {"client_id": "id", "client_secret": "s", "tenant_id": "tenant"}
    gs = {"fs.gs.auth.service.account.json.keyfile": "/key.json", "fs.gs.project.id": "p"}
    assert config("gs", gs) == {"service_account": "/key.json"}


def test_settings_of_fsspec_become_values_of_their_types() -> None:
    options = {"fs.auto_mkdir": "true", "fs.port": "9870", "fs.name": "00x", "fs.deep": '{"a": 1}', "s3.endpoint": "x"}
    assert fsspec_settings(dict(settings_of(options))) == {
        "auto_mkdir": True,
        "port": 9870,
        "name": "00x",
        "deep": {"a": 1},
    }


def test_settings_that_have_no_meaning_are_named(caplog: pytest.LogCaptureFixture) -> None:
    assert config("s3", {"s3a.fast.download": "true"}) == {}
    assert "s3a.fast.download" in caplog.text


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("fs.client_kwargs", "{verify: false}", "expected JSON"),
        ("fs.client_kwargs", '{"other": 1}', "'other' has no meaning here"),
        ("s3.path.style.access", "maybe", "expected true or false, found 'maybe'"),
    ],
)
def test_settings_of_another_type(option: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config("s3", {option: text})
