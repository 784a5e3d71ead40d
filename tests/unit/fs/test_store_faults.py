"""Stores that are busy, lose connections, or answer unlike AWS's."""

from collections.abc import Callable
from typing import Any

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs.file_io import FileIO
from tests.servers.relay import Relay
from tests.servers.s3 import S3
from tests.store_race import FAULTS, on_azure_server, on_gcs_server, on_hdfs_cluster, run


@pytest.mark.parametrize("commits", [6, pytest.param(18, marks=pytest.mark.slow)])
def test_two_processes_commit_while_requests_fail(s3: S3, relay: Relay, commits: int) -> None:
    assert run(s3.options(s3.new_bucket()), relay, commits, FAULTS) == []
    assert relay.failed["slow_down"] > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "behind"), [("azure", on_azure_server), ("gcs", on_gcs_server), ("hdfs", on_hdfs_cluster)]
)
def test_two_processes_commit_on_other_stores_while_requests_fail(
    request: pytest.FixtureRequest, store: str, behind: Callable[[Any], Any]
) -> None:
    with behind(request.getfixturevalue(store)) as (options, relay):
        assert run(options, relay, 18, FAULTS) == []
        assert relay.failed["slow_down"] > 0


@pytest.mark.parametrize(
    "faults",
    [
        {"slow_down": 0.3},
        {"cut_before": 0.3},
        {"cut_after": 0.3},
        {"busy": 0.4},
        {"cut_after": 0.7, "only": "CREATE"},
        {"short_412": True, "cut_after": 0.7, "only": "CREATE"},
    ],
    ids=str,
)
def test_what_fails_for_a_moment_is_tried_again(s3: S3, relay: Relay, faults: dict[str, Any]) -> None:
    folder, file_io = f"s3://{s3.new_bucket()}/wh", FileIO.of(s3.options("x"))
    with relay.failing(**faults):
        for number in range(8):
            assert file_io.publish(f"{folder}/snapshot-{number}", f"{number}".encode())
            assert not file_io.publish(f"{folder}/snapshot-{number}", b"another")
            assert file_io.read_bytes(f"{folder}/snapshot-{number}") == f"{number}".encode()
            file_io.overwrite(f"{folder}/LATEST", b"1")
            assert file_io.exists(f"{folder}/LATEST")
        assert len(file_io.list_names(folder)) == 9
        file_io.delete_unordered([f"{folder}/snapshot-{number}" for number in range(8)])
        file_io.delete_quietly([f"{folder}/LATEST"])
        assert file_io.list_names(folder) == []
        assert relay.failed.total() > 0 or "busy" not in faults


def test_a_store_that_stays_busy(s3: S3, relay: Relay) -> None:
    path, file_io = f"s3://{s3.new_bucket()}/wh/f", FileIO.of({**s3.options("x"), "fs.max_retries": "1"})
    with relay.failing(slow_down=1):
        for attempt in (lambda: file_io.publish(path, b""), lambda: file_io.read_bytes(path)):
            with pytest.raises(StorageError, match=r"it answered 503, SlowDown: Please reduce .*\(s3://.*/wh/f\)"):
                attempt()
    assert not file_io.exists(path)


def test_keys_that_may_not_do_it(s3: S3, relay: Relay) -> None:
    answer = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    catalog = open_catalog({**s3.options("lake"), "s3.secret-key": "dont-show-me"})
    with (
        relay.answering(403, answer),
        pytest.raises(StorageAccessError, match=r"AccessDenied.*Check the keys") as caught,
    ):
        catalog.list_databases()
    assert "dont-show-me" not in str(caught.value)
    moved = b"<Error><Code>PermanentRedirect</Code><Message>Use the specified endpoint.</Message></Error>"
    with (
        relay.answering(301, moved),
        pytest.raises(StorageAccessError, match=r"sends this process elsewhere.*s3.region"),
    ):
        catalog.list_databases()
