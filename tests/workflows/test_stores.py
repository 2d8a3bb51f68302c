"""The store that a command names must exist."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.store.store import Store
from assay.workflows.stores import open_existing_store


def test_a_folder_with_a_store_is_opened(tmp_path: Path) -> None:
    with Store(tmp_path / "store"):
        pass
    with open_existing_store(str(tmp_path / "store")) as store:
        assert store.list() == []


def test_a_folder_without_a_store_is_refused_and_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="record an experiment with --save NAME"):
        open_existing_store(str(tmp_path / "none"))
    assert list(tmp_path.iterdir()) == []
