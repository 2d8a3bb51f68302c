"""Results of finished parts, saved in a folder so that an interrupted search can be resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from assay.core.digests import digest_of
from assay.core.errors import StoreError
from assay.core.files import write_atomically
from assay.core.vector_digest import digest_vectors
from assay.core.vectors import Neighbors, Vectors
from assay.indexes.exact.part_search import Task


class PartResults:
    """A folder of results, named by a digest of base and queries so that other results are ignored."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    @classmethod
    def open(
        cls, folder: str | Path | None, base: Vectors, queries: Vectors, tasks: Sequence[Task]
    ) -> PartResults:
        """Open the folder of results for some tasks; a single task is not saved."""
        if folder is None or len(tasks) < 2:
            return _NoPartResults(Path(), "")
        results = cls(Path(folder), digest_of(f"{digest_vectors(base)} {digest_vectors(queries)}".encode()))
        try:
            results.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create the folder {folder} for finished parts ({error.strerror}): "
                "move what is there, or write to another folder"
            ) from None
        return results

    def get(self, task: Task) -> Neighbors | None:
        """Return the result of a task, or None if it is missing or damaged."""
        try:
            with open(self._path(task), "rb") as file, np.load(file) as arrays:
                return Neighbors(arrays["positions"], arrays["distances"])
        except (OSError, EOFError, KeyError, ValueError, BadZipFile):
            return None

    def put(self, task: Task, result: Neighbors) -> None:
        """Save the result of a task atomically."""
        assert result.distances is not None
        with write_atomically(self._path(task)) as temporary, open(temporary, "wb") as file:
            np.savez(file, positions=result.positions, distances=result.distances)

    def _path(self, task: Task) -> Path:
        return self.folder / f"{self.key}-{task.metric}-{task.k}-{task.start}-{task.stop}.npz"


class _NoPartResults(PartResults):
    """Part results that are not saved."""

    def get(self, task: Task) -> None:
        """Return None."""

    def put(self, task: Task, result: Neighbors) -> None:
        """Do nothing."""


def remove_part_results(folder: str | Path) -> None:
    """Remove the saved results, once the final result is written."""
    path = Path(folder)
    for file in path.glob("*.npz"):
        file.unlink()
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
