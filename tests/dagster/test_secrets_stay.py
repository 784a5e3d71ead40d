"""Secrets stay where they are: no value of a secret setting is in anything that a run leaves behind or says."""

import logging
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.errors import PaimonError
from maintenance.operations.history import read_history
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.commands.check import check
from paimon_maintenance.definitions import build_definitions
from tests.servers.s3 import S3

# Each is told apart from all else, in texts and in bytes.
CANARIES = {
    name: f"canary-{name.lower().replace('_', '-')}-7c9e6679"
    for name in ("ACCESS_KEY", "SECRET_KEY", "HOOK_PATH", "MAIL_PASSWORD", "PAGER_KEY", "DATABASE_PASSWORD", "TOKEN")
}
TABLES = """
warehouse: s3://{bucket}/wh
catalog:
  s3.endpoint: {endpoint}
  s3.path.style.access: "true"
  s3.access-key: "${{ACCESS_KEY}}"
  s3.secret-key: "${{SECRET_KEY}}"
spark: {{engine: embedded}}
alerts:
  targets:
    - {{kind: webhook, url: "http://127.0.0.1:9/${{HOOK_PATH}}"}}
    - {{kind: pagerduty, routing_key: "${{PAGER_KEY}}", url: "http://127.0.0.1:9/events"}}
    - {{kind: email, host: 127.0.0.1, port: 9, user: u, password: "${{MAIL_PASSWORD}}", sender: a@b.example,
       to: [c@d.example]}}
tables:
  - identifier: shop.orders
    columns: {{id: BIGINT NOT NULL, v: STRING}}
    primary_keys: [id]
    options: {{bucket: 1, write-only: true, changelog-producer: lookup}}
    landing: {{path: {landing}, commit_user: shop}}
    retention: {{keep_at_least: 1, keep_at_most: 1}}
    orphans: {{minimum_age: 1 d}}
"""


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, canary in CANARIES.items():
        monkeypatch.setenv(name, canary)


@pytest.fixture
def project(tmp_path: Path, s3: S3) -> Project:
    landing = tmp_path / "landing"
    landing.mkdir()
    for number in range(3):
        pq.write_table(
            pa.table({"id": range(5), "v": [str(number)] * 5}), landing / f"{number:05d}-batch-{number:05d}.parquet"
        )
    (tmp_path / "tables.yaml").write_text(TABLES.format(bucket=s3.new_bucket(), endpoint=s3.url, landing=landing))
    return load_project(tmp_path / "tables.yaml")


def leaks(data: bytes | str) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [name for name, canary in CANARIES.items() if canary.encode() in raw]


def texts_of_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes()


def texts_of_store(s3: S3, project: Project) -> Iterator[tuple[str, bytes]]:
    bucket = project.warehouse.removeprefix("s3://").partition("/")[0]
    client = s3.client()
    for listed in client.list_objects_v2(Bucket=bucket)["Contents"]:
        yield listed["Key"], client.get_object(Bucket=bucket, Key=listed["Key"])["Body"].read()


@pytest.mark.slow
def test_nothing_that_a_run_leaves_behind_holds_a_secret(
    project: Project, s3: S3, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "dagster")
    home = tmp_path / "home"
    home.mkdir()
    definitions = build_definitions(project)
    everything = definitions.resolve_implicit_global_asset_job_def()
    key = keys.asset_key("shop.orders")
    catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog, history=project.history)
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        dry = {"ops": {"shop__orders": {"ops": {"compact": {"config": {"dry_run": True, "full": True}}}}}}
        for config in ({}, dry):
            assert everything.execute_in_process(config, instance, asset_selection=[key]).success
        # A run that fails, and whose failure cannot be told to anybody.
        (tmp_path / "landing" / "nonsense").write_text("no batch")
        assert not everything.execute_in_process(instance=instance, asset_selection=[key], raise_on_error=False).success
        for sensor in ("check_radar", "alerts", keys.LATEST_SENSOR):
            with dg.build_sensor_context(instance, definitions=definitions, resources={"catalog": catalog}) as context:
                data = definitions.resolve_sensor_def(sensor).evaluate_tick(context)
            assert not leaks(repr((data, data.captured_log_records if hasattr(data, "captured_log_records") else "")))
        for record in instance.get_runs():
            assert not leaks(repr((record.run_config, record.tags)))
            assert not leaks(repr(instance.all_logs(record.run_id)))
    assert "nonsense" in caplog.text + "".join(capfd.readouterr()), "the failure was told"
    assert not leaks(caplog.text)
    history = read_history(catalog.open(), catalog.history_of("shop.orders") or "", "shop.orders")
    assert history
    assert not leaks(repr(history))
    found = {name: leaks(data) for name, data in (*texts_of_files(home), *texts_of_store(s3, project))}
    assert len(found) > 20
    assert not {name: names for name, names in found.items() if names}


def test_what_check_prints_holds_no_secret(project: Project, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    check(tmp_path / "tables.yaml", defaults=True, alerts=True, spark=False)
    said = "".join(capfd.readouterr())
    assert "shop.orders" in said
    assert not leaks(said)


@pytest.mark.parametrize(
    ("options", "warehouse"),
    [
        (
            {
                "metastore": "jdbc",
                "uri": "jdbc:postgresql://127.0.0.1:9/db",
                "jdbc.user": "u",
                "jdbc.password": "${DATABASE_PASSWORD}",
            },
            "w",
        ),
        ({"metastore": "jdbc", "uri": "jdbc:postgresql://127.0.0.1:9/db?user=u&password=${DATABASE_PASSWORD}"}, "w"),
        ({"metastore": "jdbc", "uri": "jdbc:mysql://u:${DATABASE_PASSWORD}@127.0.0.1:9/db"}, "w"),
        ({"metastore": "rest", "uri": "http://127.0.0.1:9", "token.provider": "bear", "token": "${TOKEN}"}, "w"),
        (
            {
                "s3.endpoint": "http://127.0.0.1:9",
                "s3.access-key": "${ACCESS_KEY}",
                "s3.secret-key": "${SECRET_KEY}",
                "fs.max_retries": "0",
            },
            "s3://b/w",
        ),
    ],
    ids=["password", "password-in-uri", "user-info", "token", "store"],
)
def test_an_error_of_a_catalog_that_cannot_be_reached_holds_no_secret(options: dict[str, str], warehouse: str) -> None:
    catalog = PaimonCatalog(warehouse=warehouse, options=options)
    with pytest.raises(PaimonError) as raised:
        catalog.open().list_databases()
    chain: list[BaseException] = [raised.value]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(cause)
    assert not leaks(" ".join(f"{error} {error!r}" for error in chain))
