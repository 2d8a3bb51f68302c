"""A double of Puck's Python module: the documented flags and calls, held to strictly, and brute force behind.

It is no index of Puck. It reads the file of vectors that the adapter wrote, as Puck does.
"""

import os
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contracts.contract import Contract, problems

FEATURES = ("index_path", "feature_file_name")


class Searcher:
    """PySearcher as documented and as it was found to be: `build`, `init` and `search` over pointers."""

    def __init__(self, module: "PuckModule") -> None:
        self.module = module

    def build(self, n: int) -> int:
        """Read the file of vectors; 0 is success."""
        assert type(n) is int
        if self.module.fails:
            return -1
        rows = self.module.features()
        assert len(rows) == n
        clusters = [int(self.module.flags[f"{level}_cluster_count"]) for level in ("coarse", "fine")]
        assert len(np.unique(rows, axis=0)) > max(*clusters, 256), "the process would end"
        np.save(self.module.index_file(), rows)
        os.write(2, self.module.log)
        for flag in ("train_fea_file_name", "train_pq_file_name"):
            Path(self.module.flags[flag]).write_bytes(b"samples")
        return 0

    def init(self) -> int:
        """Read the flags of searching; −1 where they contradict each other."""
        flags = self.module.flags
        self.module.opened, self.module.opens = dict(flags), self.module.opens + 1
        return -1 if int(flags["filter_topk"]) < int(flags["topk"]) else 0

    def search(self, n: int, queries: Any, k: int, distances: Any, labels: Any) -> None:
        """Fill in what is nearest; a place for which nothing was found stays as it was."""
        assert (queries.dtype, distances.dtype, labels.dtype) == (np.float32, np.float32, np.uint32)
        assert queries.shape[0] == n
        assert labels.shape == distances.shape == (n, k)
        assert k <= int(self.module.opened["topk"])
        rows = np.load(self.module.index_file())
        assert queries.shape[1] == rows.shape[1]
        far = ((queries[:, None].astype(np.float64) - rows[None]) ** 2).sum(2)
        order = np.argsort(far, axis=1, kind="stable")[:, : min(k, self.module.finds)]
        labels[:, : order.shape[1]] = order
        distances[:, : order.shape[1]] = np.take_along_axis(far, order, 1)


class PuckModule(types.ModuleType):
    """puck.py_puck_api as documented."""

    def __init__(self) -> None:
        super().__init__("puck.py_puck_api", __doc__)
        self.known: dict[str, str] = Contract("puck").facts["flags"]
        self.flags: dict[str, str] = {}
        self.opened: dict[str, str] = {}
        self.opens, self.fails, self.finds, self.log = 0, False, 1_000, b""

    def update_gflag(self, key: str, value: str) -> None:
        """Set a flag of the process; both are text."""
        assert key in self.known, f"{key} is not documented"
        wrong = problems(self.known[key], value, key)
        assert not wrong, wrong
        self.flags[key] = value

    def swig_ptr(self, array: Any) -> Any:
        """A pointer to an array, which must be contiguous."""
        assert array.flags.c_contiguous, "the array is not contiguous"
        return array

    def PySearcher(self) -> Searcher:  # as documented
        """A new searcher."""
        return Searcher(self)

    def index_file(self) -> Path:
        """The file of the index."""
        return Path(self.flags["index_path"], "index.npy")

    def features(self) -> Any:
        """The vectors of the file, each after its number of dimensions."""
        folder, name = (self.flags[flag] for flag in FEATURES)
        d = int(self.flags["feature_dim"])
        raw = np.fromfile(Path(folder, name), np.int32).reshape(-1, d + 1)
        assert (raw[:, 0] == d).all()
        return raw[:, 1:].view(np.float32)


def install_puck(monkeypatch: pytest.MonkeyPatch) -> PuckModule:
    """The double in the place where Puck would be imported from."""
    puck_module, package = PuckModule(), types.ModuleType("puck")
    package.__spec__ = ModuleSpec("puck", None)
    package.py_puck_api = puck_module  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "puck", package)
    monkeypatch.setitem(sys.modules, "puck.py_puck_api", puck_module)
    return puck_module
