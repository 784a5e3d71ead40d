"""What tasks find of snapshots that leave comes back as it was."""

import pickle

import pytest

from maintenance.operations.expiry.survey import NamedFile, Stage, Survey

RECORD = NamedFile("/lake/t/snapshot/snapshot-2", Stage.RECORD)
DATA = NamedFile("/lake/t/bucket-0/data-1.parquet", Stage.FILES, 10, 9)


@pytest.mark.parametrize(
    "found",
    [
        Survey(((DATA, RECORD), (), (RECORD,)), ("a note",)),
        Survey(((), ())),
        Survey(()),
    ],
)
def test_a_survey_is_the_same_behind_a_task(found: Survey) -> None:
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert [[type(file) for file in files] for files in again.files] == [
        [type(file) for file in files] for files in found.files
    ]


def test_a_survey_travels_in_fewer_bytes_than_its_files() -> None:
    files = tuple(NamedFile(f"/lake/t/bucket-0/data-{number}.parquet", Stage.FILES, 10, 10) for number in range(1000))
    assert len(pickle.dumps(Survey((files,)))) < len(pickle.dumps(files))
