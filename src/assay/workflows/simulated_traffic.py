"""Write simulated traffic of two searches of the help centre: the logs that the demo and the guides use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from assay.core.errors import FormatError
from assay.core.recorded_run import first_documents
from assay.core.tables import Run
from assay.datasets import helpcentre
from assay.online.simulation import INTERLEAVED, TrafficSettings, simulate
from assay.search.in_memory import LSASearcher

_DEPTH = 10
_START = datetime(2026, 1, 5, tzinfo=UTC)
_BASELINE, _CANDIDATE = "baseline", "candidate"
_DIMENSIONS = {_BASELINE: 30, _CANDIDATE: 150}  # of latent semantic analysis
_LATENCY_MS = {_BASELINE: 40.0, _CANDIDATE: 40.0, INTERLEAVED: 60.0}
_COST = {_BASELINE: 0.00004, _CANDIDATE: 0.00004, INTERLEAVED: 0.00008}


@dataclass(frozen=True, kw_only=True)
class TrafficRequest:
    """The folder to write to, and the size of the traffic."""

    folder: str = "assay-demo/traffic"
    users: int = 1_500  # of the A/B test
    interleaved_users: int = 400
    days: int = 14
    start: datetime = _START
    seed: int = 0
    bots: int = 0
    dirt: float = 0.002


@dataclass(frozen=True)
class TrafficFiles:
    """The logs that were written, with their counts."""

    ab_test: Path
    interleaved: Path
    counts: Mapping[str, Mapping[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """Return the files and the counts as plain data."""
        return {
            "ab_test": str(self.ab_test),
            "interleaved": str(self.interleaved),
            "counts": {name: dict(counts) for name, counts in self.counts.items()},
        }


def write_traffic(request: TrafficRequest, runs: Mapping[str, Run] | None = None) -> TrafficFiles:
    """Simulate a fortnight: an A/B test of two searches, and other users who see interleaved lists.

    `runs` are those of the help centre by the names of the arms; without them, the baseline searches by 30
    dimensions of latent semantic analysis, and the candidate by 150.
    """
    queries, qrels, documents = helpcentre()
    if runs is None:
        searchers = {arm: LSASearcher(documents, arm, dimensions=n) for arm, n in _DIMENSIONS.items()}
        runs = {arm: searcher.search(queries, _DEPTH) for arm, searcher in searchers.items()}
    rankings = {name: list_documents(run) for name, run in runs.items()}
    folder = _make_folder(request.folder)
    files, counts = {}, {}
    for name, settings in _settings(request).items():
        traffic = simulate(rankings, queries, qrels, settings)
        files[name] = traffic.write(folder / f"{name}.ndjson")
        counts[name] = traffic.counts
    return TrafficFiles(files["ab_test"], files["interleaved"], counts)


def list_documents(run: Run) -> dict[str, list[str]]:
    """Return the first documents of each query of a run, the best first."""
    rankings: dict[str, list[str]] = {}
    for block in first_documents(run, _DEPTH):
        doc_ids = iter(block.doc_ids)
        for query, count in zip(block.query_ids, block.counts.tolist(), strict=True):
            rankings[query] = list(islice(doc_ids, count))
    return rankings


def _settings(request: TrafficRequest) -> dict[str, TrafficSettings]:
    ab_test = TrafficSettings(
        users=request.users,
        days=request.days,
        start=request.start,
        seed=request.seed,
        depth=_DEPTH,
        latency_ms=_LATENCY_MS,
        cost=_COST,
        bots=request.bots,
        dirt=request.dirt,
    )
    interleaved = replace(
        ab_test,
        users=request.interleaved_users,
        seed=request.seed + 1,
        arms={INTERLEAVED: 1.0},
        experiment_id="rankers-interleaved",
        bots=0,
    )
    return {"ab_test": ab_test, "interleaved": interleaved}


def _make_folder(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"cannot be made ({error.strerror}); name another folder", name) from None
    return folder
