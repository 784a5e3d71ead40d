"""An S3 server of the tests, on a free port of this machine."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from tests.servers.processes import free_port


class S3:
    """A running server. `url`: its endpoint, or that of a relay in front of it; `own_url`: its own."""

    def __init__(self, url: str, own_url: str | None = None) -> None:
        self.url, self.own_url = url, own_url or url

    def options(self, bucket: str) -> dict[str, str]:
        """Catalog options of a warehouse in a bucket, as a Flink job has them."""
        keys = {"s3.endpoint": self.url, "s3.access-key": "123", "s3.secret-key": "456"}
        return {"warehouse": f"s3://{bucket}/wh", **keys, "s3.path.style.access": "true"}

    def new_bucket(self) -> str:
        name = f"b{uuid4().hex}"
        self.client().create_bucket(Bucket=name)
        return name

    def client(self) -> Any:
        """A client of AWS's own library, to see and do what other programs would."""
        import boto3

        keys = {"aws_access_key_id": "123", "aws_secret_access_key": "456", "region_name": "us-east-1"}
        return boto3.client("s3", endpoint_url=self.own_url, **keys)


@contextmanager
def running() -> Iterator[S3]:
    """A server in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()


@contextmanager
def running_apart() -> Iterator[S3]:
    """A server in a process of its own, which takes no time from this one."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        s3 = S3(f"http://127.0.0.1:{port}")
        for _ in range(200):
            try:
                s3.client().list_buckets()
                break
            except Exception:  # noqa: BLE001 - the client's own error while nobody listens
                time.sleep(0.1)
        yield s3
    finally:
        process.terminate()
        process.wait()
