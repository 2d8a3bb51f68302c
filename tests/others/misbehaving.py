"""An engine of somebody else, found by its entry point, that fails in every way an engine can."""

import ctypes
import os
import time
from glob import glob
from typing import ClassVar

import numpy as np

from assay.core.vectors import METRICS, Positions
from assay.indexes.index import Index, Rows, Setup


class Misbehaving(Index):
    """Brute force that looks at the first rows only, and does what it is told to do."""

    metrics: ClassVar[tuple[str, ...]] = METRICS
    smallest_search: ClassVar[dict[str, int]] = {"rows": 20}

    def __init__(self, setup: Setup, *, fails: str = "", seed: int = 0) -> None:
        super().__init__(setup)
        self.fails, self.seed = fails, seed
        self.set_search()

    def build(self, vectors: Rows) -> None:
        """Keep the vectors."""
        _misbehave(self.fails)
        self.vectors = np.array(vectors)

    def set_search(self, *, rows: int = 1_000_000, fails: str = "") -> None:
        """Look at so many rows."""
        self.rows, self.failing = rows, fails

    def search(self, queries: Rows, k: int) -> Positions:
        """The nearest of the rows that are looked at."""
        _misbehave(self.failing)
        _hold(os.environ.get("HELD", ""))
        compared = self.vectors[: max(k, self.rows)]
        scores = (compared * compared).sum(axis=1) - 2 * (queries @ compared.T)
        return np.argsort(scores, axis=1, kind="stable")[:, :k].astype(np.int64)

    def save(self) -> None:
        """Write the vectors."""
        np.save(self.setup.folder / "vectors.npy", self.vectors)

    def load(self) -> None:
        """Read the vectors."""
        self.vectors = np.load(self.setup.folder / "vectors.npy")

    def version(self) -> str:
        """A version of its own."""
        return "0.1"


class Holding(Misbehaving):
    """Keeps its process to itself, so that further clients need processes of their own."""

    holds_gil = True


class Unloadable(Holding):
    """Cannot be taken up where it was saved."""

    load = Index.load


class Pretending(Misbehaving):
    """Accepts a budget, and answers by brute force all the same."""

    def set_search(self, *, rows: int = 10, fails: str = "") -> None:
        """Do as if."""
        super().set_search(fails=fails)


def _hold(setting: str) -> None:
    """Wait, for HELD=FOLDER:PASSES, once so many passes are kept there, until there is a file FOLDER.go."""
    folder, _, passes = setting.rpartition(":")
    while folder and len(glob(f"{folder}/trials/*/repetition-*.parquet")) >= int(passes):
        if os.path.exists(f"{folder}.go"):
            break
        time.sleep(0.01)


def _misbehave(how: str) -> None:
    if how == "crash":
        ctypes.string_at(0)  # a segmentation fault
    elif how == "exit":
        print("no licence found")
        os._exit(7)
    elif how == "hang":
        time.sleep(600)
    elif how == "memory":
        eaten = []
        for _ in range(100_000):
            eaten.append(np.ones(1 << 20))
            time.sleep(0.02)  # seen in time by whoever watches, on a busy machine too
    elif how == "quit":
        raise SystemExit("enough for today")
    elif how == "refuse":
        raise ValueError("the parameter is not to my liking")
