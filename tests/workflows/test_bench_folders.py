"""The folders of trials that a dashboard may show, by names."""

from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.bench_folders import name_benches


def make_sweep(folder: Path) -> str:
    folder.mkdir(parents=True)
    (folder / "sweep.json").write_text("{}")
    return str(folder)


def test_folders_are_named_after_themselves_with_numbers_for_equal_names(tmp_path: Path) -> None:
    folders = [make_sweep(tmp_path / name) for name in ("a/bench", "b/bench", "c")]
    assert dict(name_benches(folders)) == dict(zip(("bench", "bench-2", "c"), folders, strict=True))


def test_without_folders_those_that_are_there_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert name_benches((), str(tmp_path / "demo/store")) == {}
    make_sweep(tmp_path / "bench-results")
    beside = make_sweep(tmp_path / "demo/bench")
    expected = {"bench-results": "bench-results", "bench": beside}
    assert name_benches((), str(tmp_path / "demo/store")) == expected


def test_a_folder_without_trials_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder with trials"):
        name_benches([str(tmp_path)])
