"""Results of parts that are done, kept in a folder so that an interruption costs only what was under way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from assay.core.digests import digest_of
from assay.core.errors import StoreError
from assay.core.files import put_in_place
from assay.core.vectors import Neighbors, Vectors
from assay.core.vectors_digest import digest
from assay.indexes.exact.part_search import Task


class Checkpoint:
    """A folder of results, named by the content of base and queries: those of others are not taken up."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key

    @classmethod
    def of(
        cls, folder: str | Path | None, base: Vectors, queries: Vectors, tasks: Sequence[Task]
    ) -> Checkpoint:
        """The results there are for some work; work of a single part keeps none."""
        if folder is None or len(tasks) < 2:
            return _Nothing(Path(), "")
        made = cls(Path(folder), digest_of(f"{digest(base)} {digest(queries)}".encode()))
        try:
            made.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"what is done is kept in the folder {folder}, which cannot be made ({error.strerror}): "
                "move away what is there, or write to another place"
            ) from None
        return made

    def get(self, task: Task) -> Neighbors | None:
        """The result of a part, if it is there; one that is damaged is made anew."""
        try:
            with open(self._place(task), "rb") as file, np.load(file) as kept:
                return Neighbors(kept["positions"], kept["distances"])
        except (OSError, EOFError, KeyError, ValueError, BadZipFile):
            return None

    def put(self, task: Task, found: Neighbors) -> None:
        """Keep the result of a part: whole, or not at all."""
        assert found.distances is not None
        with put_in_place(self._place(task)) as beside, open(beside, "wb") as file:
            np.savez(file, positions=found.positions, distances=found.distances)

    def _place(self, task: Task) -> Path:
        return self.folder / f"{self.key}-{task.metric}-{task.k}-{task.start}-{task.stop}.npz"


class _Nothing(Checkpoint):
    """Keeps nothing."""

    def get(self, task: Task) -> None:
        """There is nothing."""

    def put(self, task: Task, found: Neighbors) -> None:
        """Let it go."""


def forget(folder: str | Path) -> None:
    """Remove the results that were kept, when the whole is in a safe place."""
    kept = Path(folder)
    for place in kept.glob("*.npz"):
        place.unlink()
    if kept.is_dir() and not any(kept.iterdir()):
        kept.rmdir()
