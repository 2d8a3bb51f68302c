"""Files are replaced completely or not at all."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from assay.core.errors import StoreError
from assay.core.files import disk_error, replace_file, write_atomically

Replace = Callable[[Path], AbstractContextManager[Path]]


@pytest.mark.parametrize("replace", [replace_file, write_atomically])
def test_a_file_is_replaced_when_it_is_complete(replace: Replace, tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with replace(target) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("replace", [replace_file, write_atomically])
def test_a_file_is_kept_if_an_error_occurs(replace: Replace, tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def fail() -> None:
        with replace(target) as partial:
            partial.write_text("new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_missing_folders_are_created(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "a" / "b" / "c.txt") as partial:
        partial.write_text("new")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "new"


def test_a_failed_write_is_a_store_error_with_the_reason(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match=r"nothing was saved: .*a\.txt cannot be written \(No space left"),
        write_atomically(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_an_error_that_is_not_of_the_disk_has_no_disk_error() -> None:
    assert disk_error(ValueError("not a number")) is None
    assert disk_error(OSError(28, "No space left on device")) == "No space left on device"
