"""Streaming statements in a session without Spark."""

from pathlib import Path

import pytest

from maintenance.errors import SqlError
from maintenance.sql import Session


def test_a_streaming_insert_needs_spark(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path / "lake")})
    list(session.execute("CREATE TABLE s (a INT); CREATE TABLE c (a INT); INSERT INTO s VALUES (1)"))
    session.sql("SET execution.runtime-mode = streaming")
    session.sql("INSERT INTO c SELECT * FROM s")
    assert session.sql("SELECT * FROM c").to_arrow().num_rows == 1, "without a folder it is a batch"
    session.sql(f"SET execution.checkpointing.dir = {tmp_path / 'checkpoints'}")
    with pytest.raises(SqlError, match="no Spark") as caught:
        session.sql("INSERT INTO c SELECT * FROM s")
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert session.sql("SELECT * FROM c").to_arrow().num_rows == 1
