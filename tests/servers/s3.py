"""An S3 server of the tests in this process, on a free port of this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4


class S3:
    """A running server. `url`: its endpoint."""

    def __init__(self, url: str) -> None:
        self.url = url

    def options(self, bucket: str) -> dict[str, str]:
        """Catalog options of a warehouse in a bucket, as a Flink job has them."""
        keys = {"s3.endpoint": self.url, "s3.access-key": "123", "s3.secret-key": "456"}
        return {"warehouse": f"s3://{bucket}/wh", **keys, "s3.path.style.access": "true"}

    def new_bucket(self) -> str:
        import s3fs

        name = f"b{uuid4().hex}"
        s3fs.S3FileSystem(endpoint_url=self.url, key="123", secret="456").mkdir(name)
        return name


@contextmanager
def running() -> Iterator[S3]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield S3(f"http://{host}:{port}")
    finally:
        server.stop()
