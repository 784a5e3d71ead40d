"""A driver in Rust that breaks off, and what is checked before it can."""

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs.reported import reported
from maintenance.sql import Session, SqlError

STORE = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key": "a", "s3.secret-key": "b", "s3.region": "us-east-1"}


@pytest.mark.parametrize("bucket", ["a b", "a\x01", "a\nb", "a\x7f", "a\u2028b"])
@pytest.mark.parametrize("scheme", ["s3", "oss", "gs"])
def test_a_bucket_that_no_address_can_have(scheme: str, bucket: str) -> None:
    with pytest.raises(StorageAccessError, match="a blank or a character that cannot be shown"):
        open_catalog({"warehouse": f"{scheme}://{bucket}/x", **STORE}).list_databases()


def test_a_statement_says_why_its_bucket_cannot_be(tmp_path: object) -> None:
    session = Session({"warehouse": str(tmp_path)})
    options = ", ".join(f"'{key}' = '{value}'" for key, value in STORE.items())
    with pytest.raises(SqlError, match="a blank or a character"):
        session.sql(f"CREATE CATALOG c WITH ('type' = 'paimon', 'warehouse' = 's3://a b/x', {options})")


def test_a_driver_that_breaks_off() -> None:
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    class Storage:
        @reported("list")
        def names(self, path: str) -> list[str]:
            raise panic(f"request valid: {path}")

    with pytest.raises(StorageError, match=r"its driver broke off: request valid: s3://b/x \(s3://b/x\)"):
        Storage().names("s3://b/x")


def test_an_interruption_stays_one() -> None:
    class Storage:
        @reported("list")
        def names(self, path: str) -> list[str]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Storage().names("s3://b/x")
