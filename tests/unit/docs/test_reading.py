"""The examples of docs/reading.md run, and show what the text says."""

import re
from pathlib import Path
from typing import Any

READING = Path(__file__).parents[3] / "docs" / "reading.md"


def test_the_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", READING.read_text(), re.DOTALL)
    code = "\n".join(blocks).replace("/tmp/lake", str(tmp_path))
    names: dict[str, Any] = {}
    exec(compile(code, str(READING), "exec"), names)
    table, log = names["table"], names["log"]
    assert table.to_arrow(options={"scan.version": "first"}).num_rows == 2
    kinds = [row["rowkind"] for row in log.to_arrow(options={"incremental-between": "2,4"}).to_pylist()]
    assert kinds == ["-U", "+U", "-D"]
    both = table.to_arrow(options={"scan.fallback-branch": "dev"}).to_pylist()
    assert [(row["day"], row["state"]) for row in both] == [("mon", "paid"), ("tue", "test")]
