"""The folders of trials that a dashboard may show, by short names that stand in addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.bench.sweeps.folder import SweepFolder
from assay.core.errors import InputError
from assay.workflows.bench import DEFAULT_FOLDER
from assay.workflows.benchmark import is_sweep
from assay.workflows.store_location import store_url


def name_benches(folders: Sequence[str] = (), store: str | None = None) -> Mapping[str, str]:
    """Return the folders by name; none given: `bench-results`, or `bench` beside the store, if there.

    A folder is named after itself; folders of the same name get a number.
    """
    for folder in folders:
        if not Path(folder).is_dir() or not is_sweep(SweepFolder(folder)):
            raise InputError(f"--bench {folder}: expected a folder with trials of `assay bench`, found none")
    names: dict[str, str] = {}
    for folder in folders or _default_folders(store):
        name = stem = Path(folder).absolute().name
        for number in range(2, len(names) + 3):
            if name not in names:
                break
            name = f"{stem}-{number}"
        names[name] = str(folder)
    return names


def _default_folders(store: str | None) -> list[str]:
    """Return the folders that need no option: where `assay bench` writes, and that of the demo."""
    location = store_url(store)
    candidates = [Path(DEFAULT_FOLDER)]
    if "://" not in location:
        candidates.append(Path(location).parent / "bench")
    return [str(folder) for folder in candidates if is_sweep(SweepFolder(folder))]
