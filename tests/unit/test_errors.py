"""Classes of errors: of this engine's own, of Python's, and of a storage that fails while files are read."""

import errno
import inspect
import pickle
from pathlib import Path

import pytest

from maintenance import errors
from maintenance.catalog import CatalogTable
from maintenance.compaction.proof.settings import ProofMode
from maintenance.errors import CorruptFileError, ErrorClass, MissingFileError, PaimonError, class_of
from maintenance.operations.compaction.compact import compact
from tests.failing_storage import SCHEME, failing
from tests.tables import create_table, get_table, keyed, state

CLASSES = {
    ErrorClass.USER: {
        "AlreadyExistsError",
        "BucketNumberError",
        "DataError",
        "NotFoundError",
        "OptionError",
        "OutdatedPlanError",
        "OvertakenError",
        "PredicateError",
        "SchemaError",
        "SqlError",
        "StorageAccessError",
        "UnsupportedError",
        "VisibilityError",
    },
    ErrorClass.DAMAGE: {"CorruptFileError", "MissingFileError"},
    ErrorClass.CONFLICT: {"CommitError", "ConflictError", "ExpiredError", "ReplayedError"},
    ErrorClass.INFRASTRUCTURE: {"InfrastructureError", "StorageError", "WriteError"},
    ErrorClass.DEFECT: {"PaimonError", "ProofError", "UnexpectedError"},
}


def slow_down() -> OSError:
    return OSError(errno.EBUSY, "Please reduce your request rate")


def test_every_error_has_a_class() -> None:
    family = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PaimonError)]
    actual: dict[ErrorClass, set[str]] = {kind: set() for kind in ErrorClass}
    for kind in family:
        error = kind("found", "where", "fix")
        actual[class_of(error)].add(kind.__name__)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (kind, str(error))
    assert actual == CLASSES


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.EIO, "input/output error"), ErrorClass.INFRASTRUCTURE),
        (slow_down(), ErrorClass.INFRASTRUCTURE),
        (TimeoutError(), ErrorClass.INFRASTRUCTURE),
        (ConnectionResetError(), ErrorClass.INFRASTRUCTURE),
        (MemoryError(), ErrorClass.INFRASTRUCTURE),
        (type("ClientError", (Exception,), {})("SlowDown"), ErrorClass.INFRASTRUCTURE),
        (PermissionError(errno.EACCES, "denied"), ErrorClass.USER),
        (OSError(errno.EROFS, "read-only file system"), ErrorClass.USER),
        (ModuleNotFoundError("s3fs"), ErrorClass.USER),
        (FileNotFoundError(errno.ENOENT, "gone"), ErrorClass.DAMAGE),
        (KeyError("x"), ErrorClass.DEFECT),
        (TypeError("x"), ErrorClass.DEFECT),
        (RecursionError(), ErrorClass.DEFECT),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_the_class_of_foreign_exceptions(error: Exception, expected: ErrorClass) -> None:
    assert class_of(error) == expected


@pytest.fixture(params=["parquet", "orc", "avro", "row"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogTable:
    options = {"file.format": request.param, "num-sorted-run.compaction-trigger": "2"}
    table = create_table(f"{SCHEME}{tmp_path}", options=options)
    for number in range(3):
        table.write_arrow(keyed({number: "a", 10 + number: "b"}))
    return table


def test_a_storage_that_fails_is_not_damage(written: CatalogTable) -> None:
    with failing(r"/data-[^/]+$", slow_down, times=1000), pytest.raises(OSError, match="request rate") as caught:
        state(written)
    assert class_of(caught.value) == ErrorClass.INFRASTRUCTURE
    assert len(state(written)) == 6


def test_a_storage_that_fails_while_a_proof_reads_is_not_a_failed_proof(written: CatalogTable) -> None:
    before = {entry.name for entry in Path(written.location.removeprefix(SCHEME)).glob("bucket-0/*")}

    pattern = f"/bucket-0/(?!{'|'.join(sorted(before))})"
    with failing(pattern, slow_down, times=1000) as fault:
        report = compact(None, written, proof=ProofMode.FULL)
    assert fault.failed > 0
    (group,) = report.failed
    assert "request rate" in group.message
    assert "read again" not in group.message
    assert {entry.name for entry in Path(written.location.removeprefix(SCHEME)).glob("bucket-0/*")} == before
    assert compact(None, written, proof=ProofMode.FULL).failed == ()


def test_a_file_that_is_gone_or_broken_is_damage(written: CatalogTable, tmp_path: Path) -> None:
    first = next(iter((tmp_path / "db.db" / "t" / "bucket-0").iterdir()))
    content = first.read_bytes()
    first.write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptFileError) as caught:
        state(get_table(f"{SCHEME}{tmp_path}"))
    assert class_of(caught.value) == ErrorClass.DAMAGE
    first.unlink()
    with pytest.raises(MissingFileError) as missing:
        state(get_table(f"{SCHEME}{tmp_path}"))
    assert class_of(missing.value) == ErrorClass.DAMAGE
    assert first.name in missing.value.where
