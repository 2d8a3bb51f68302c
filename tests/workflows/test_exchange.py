"""The workflows that export, import, back up, restore and move experiments."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.store.store import Store
from assay.workflows.exchange import (
    BackupRequest,
    ExportExperimentsRequest,
    ImportExperimentsRequest,
    MoveRequest,
    RestoreRequest,
    backup_store,
    export_experiments,
    import_experiments,
    move_store,
    restore_store,
)
from tests.stores import experiment, scores


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of two experiments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    with Store(".assay") as store:
        store.put(experiment("a"), scores())
        store.put(experiment("b"))
    return tmp_path


@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "sqlite:///out.db"])
def test_exported_experiments_are_imported_once(target: str) -> None:
    assert export_experiments(ExportExperimentsRequest(target=target)).to_dict()["written"] == 2
    request = ImportExperimentsRequest(source=target, store="other")
    counts = [import_experiments(request) for _ in range(2)]
    assert [(count.added, count.skipped) for count in counts] == [(2, 0), (0, 2)]


def test_columns_without_a_meaning_are_named(folder: Path) -> None:
    (folder / "given.csv").write_text("experiment_id,chunk_size\nx,512\n")
    result = import_experiments(ImportExperimentsRequest(source="given.csv"))
    assert result.to_dict() == {"added": 1, "skipped": 0, "unknown_columns": ("chunk_size",)}


def test_a_backup_is_restored() -> None:
    backup = backup_store(BackupRequest(file="all.zip"))
    assert (backup.experiments, backup.tables, backup.missing_tables) == (2, 1, ())
    assert backup.to_dict()["size"] > 0
    restored = restore_store(RestoreRequest(file="all.zip", folder="back"))
    assert restored.to_dict() == {"folder": "back", "experiments": 2, "tables": 1}


def test_a_store_is_copied_to_another() -> None:
    result = move_store(MoveRequest(target="other"))
    assert result.to_dict() == {
        "source": ".assay",
        "target": "other",
        "experiments": 2,
        "skipped": 0,
        "tables": 1,
    }


def test_other_files_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected FILE\.csv.*found 'out\.xlsx'"):
        export_experiments(ExportExperimentsRequest(target="out.xlsx"))
    with pytest.raises(InputError, match="not imported from it"):
        import_experiments(ImportExperimentsRequest(source="mlflow:http://x"))
