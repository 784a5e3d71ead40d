"""The policies of deploy/ are enough for what docs/deploying.md says, and no more is needed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
import requests

from maintenance.catalog import Schema, open_catalog
from maintenance.errors import ErrorClass, PaimonError, class_of
from maintenance.operations import (
    approve_plan,
    compact,
    create_tag,
    expire_snapshots,
    explain,
    forecast,
    fsck,
    rollback_to,
)
from maintenance.sql import Session
from maintenance.sql.plans import keep_plan, place_of_plans
from maintenance.table.shape import table_shape
from tests.servers import s3 as s3_server

DEPLOY = Path(__file__).parents[3] / "deploy"


@pytest.fixture(scope="module")
def accounts() -> Iterator[dict[str, dict[str, str]]]:
    """Catalog options by account, at a server that enforces policies."""
    with s3_server.running_apart() as s3:
        s3.client().create_bucket(Bucket="lake")
        keys = {"aws_access_key_id": "123", "aws_secret_access_key": "456", "region_name": "us-east-1"}
        iam: Any = boto3.client("iam", endpoint_url=s3.url, **keys)
        found = {}
        for name in ("watching", "maintenance", "planning", "approving"):
            iam.create_user(UserName=name)
            policy = json.loads((DEPLOY / f"s3-{name}.json").read_text())
            for statement in policy["Statement"]:
                # For a request that deletes many objects this server asks for the right to the bucket.
                if "s3:DeleteObject" in statement["Action"] and statement["Effect"] == "Allow":
                    statement["Resource"] = [statement["Resource"], "arn:aws:s3:::lake"]
            iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
            key = iam.create_access_key(UserName=name)["AccessKey"]
            found[name] = {
                "warehouse": "s3://lake/warehouse",
                "s3.endpoint": s3.url,
                "s3.path.style.access": "true",
                "s3.access-key": key["AccessKeyId"],
                "s3.secret-key": key["SecretAccessKey"],
                "fs.max_retries": "0",
            }
        requests.post(f"{s3.url}/moto-api/reset-auth", data=b"0", timeout=10).raise_for_status()
        yield found


def test_maintenance_writes_and_watching_only_looks(accounts: dict[str, dict[str, str]]) -> None:
    maintaining, watching = (open_catalog(accounts[name]) for name in ("maintenance", "watching"))
    maintaining.create_database("shop")
    columns = [("id", "BIGINT NOT NULL"), ("v", "STRING")]
    maintaining.create_table(
        "shop.t", Schema(columns, primary_keys=["id"], options={"bucket": "1", "write-only": "true"})
    )
    table = maintaining.get_table("shop.t")
    for number in range(4):
        table.write_arrow(pa.table({"id": range(10), "v": [str(number)] * 10}), commit_user="feed")
    create_tag(table, "kept")
    seen = watching.get_table("shop.t")
    assert seen.to_arrow().num_rows == 10
    assert table_shape(seen).snapshot_id == 4
    assert fsck(seen.file_io, seen.location).healthy
    assert explain(seen, snapshot_id=1)
    assert forecast(seen)
    assert compact(None, seen, full=True, dry_run=True).groups
    # A compaction tells what failed in its report.
    assert {str(group.outcome) for group in compact(None, seen, full=True).groups} == {"failed"}
    for refused in (
        lambda: create_tag(seen, "mine"),
        lambda: expire_snapshots(seen, retain_max=1, retain_min=1),
        lambda: seen.write_arrow(pa.table({"id": [1], "v": ["x"]}), commit_user="me"),
    ):
        with pytest.raises(PaimonError) as raised:
            refused()
        assert class_of(raised.value) == ErrorClass.USER, raised.value
    assert table.snapshots.list_ids() == [1, 2, 3, 4]
    compact(None, table, full=True)
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert table.snapshots.list_ids() == [5]
    rollback_to(table, tag="kept")
    assert seen.to_arrow().num_rows == 10


def test_who_makes_and_applies_plans_cannot_approve_them(accounts: dict[str, dict[str, str]]) -> None:
    planning = Session({**accounts["planning"], "plans.need-approval": "all"})
    planning.sql("CREATE DATABASE plans")
    planning.sql("CREATE TABLE plans.t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    for value in (1, 2):
        planning.sql(f"INSERT INTO plans.t VALUES (1, {value})")
    plan = keep_plan(planning, planning.plan("DELETE FROM plans.t WHERE v = 2"))
    approving = Session(accounts["approving"])
    for session in (planning, Session(accounts["watching"])):
        with pytest.raises(PaimonError) as raised:
            approve_plan(*place_of_plans(session.current()), plan, name="ben")
        assert class_of(raised.value) == ErrorClass.USER
    with pytest.raises(PaimonError, match="needs an approval"):
        planning.apply(plan)
    approve_plan(*place_of_plans(approving.current()), plan, name="ben")
    with pytest.raises(PaimonError) as raised:
        approving.apply(plan)
    assert class_of(raised.value) == ErrorClass.USER
    planning.apply(plan)
    assert planning.sql("SELECT COUNT(*) AS n FROM plans.t").to_arrow()["n"].to_pylist() == [0]
