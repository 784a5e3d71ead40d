"""The golden cases once more, from an S3 server: every read gives the rows that Paimon itself reads."""

from collections import defaultdict
from pathlib import Path

import pytest

from tests.examples import some
from tests.golden.canonical import canonical_rows
from tests.golden.case import GoldenRead, extract
from tests.golden.test_goldens import READS, comparable, conditions, perform_in
from tests.golden.type_text import parse_nested_type
from tests.servers.relay import Relay
from tests.servers.s3 import S3

# Of the reads of a case: many are of one table with other options. `HYPOTHESIS_PROFILE=thorough` performs all.
MOST = 12

CASES: dict[str, list[GoldenRead]] = defaultdict(list)
for _read in READS[None]:
    CASES[_read.case].append(_read)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_reads_from_a_store_what_paimon_wrote(case: str, relay: Relay, tmp_path: Path) -> None:
    s3: S3 = relay.server
    options = s3.options(s3.new_bucket())
    folder, bucket = extract(case, tmp_path), options["warehouse"].split("/")[2]
    client = s3.client()
    for file in folder.rglob("*"):
        if file.is_file():
            client.put_object(Bucket=bucket, Key=f"wh/{file.relative_to(folder)}", Body=file.read_bytes())
    wrong = {}
    for read in some(CASES[case], MOST):
        types = [parse_nested_type(text) for text in read.types]
        expected = comparable(read.rows, read, options["warehouse"])
        for condition in conditions(read):
            actual = perform_in(options, read, condition)
            if (actual.column_names, comparable(canonical_rows(actual, types), read)) != (read.columns, expected):
                wrong[read.id] = condition
    assert wrong == {}
