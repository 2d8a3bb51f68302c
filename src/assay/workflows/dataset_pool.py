"""Choose the pairs to judge from the top of several runs: what `assay dataset pool` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.core.arrays import Bools, Floats
from assay.core.csv_rows import format_csv_row
from assay.core.errors import InputError, UndecidableError
from assay.core.score_order import ScoreOrder
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels, Queries
from assay.datasets.output_files import open_for_writing, refuse_inputs_as_outputs
from assay.evaluation.evaluate import DEFAULT_ORDER
from assay.judging.adaptive_pooling import pool_by_bandit, pool_by_difference, pool_by_move_to_front
from assay.judging.pool_coverage import DepthCost, RunCoverage, cost_by_depth, cover_runs
from assay.judging.pooling import (
    Pool,
    PoolFrame,
    build_pool_frame,
    pool_by_depth,
    pool_by_strata,
    shuffle_pairs,
)
from assay.workflows.dataset_sample import write_recipe
from assay.workflows.inputs import TableFiles
from assay.workflows.pool_inputs import read_pooled_runs

METHODS = ("depth", "stratified", "move-to-front", "bandit", "difference")
DEFAULT_DEPTH, DEFAULT_RATE = 10, 120.0


@dataclass(frozen=True, kw_only=True)
class PoolRequest:
    """The runs to pool, how deep and how."""

    files: TableFiles  # runs, queries and the judgments that exist, if any
    depth: int = DEFAULT_DEPTH
    method: str = "depth"
    budget: int | None = None  # pairs to judge, or the pairs of one step
    output: str | None = None  # .jsonl or .csv; None: nothing is written
    with_ranks: bool = False  # show raters the rank in every run
    cutoff: int = 10  # of Judged@k
    rate: float = DEFAULT_RATE  # pairs judged in an hour
    rel: int = 1  # the lowest relevant grade
    seed: int = 0
    order: ScoreOrder = DEFAULT_ORDER  # in which scores order documents
    store: str | None = None  # of experiment:NAME

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = did_you_mean(self.method, METHODS)
            raise InputError(
                f"--method must be one of {', '.join(METHODS)}, found {self.method!r}{hint and f'; {hint}'}"
            )
        if self.method != "depth" and self.budget is None:
            raise InputError(f"--method {self.method} needs --budget N, the number of pairs to judge")
        if self.depth < 1:
            raise InputError(f"--depth must be 1 or more, found {self.depth}")
        for name, value in (("budget", self.budget), ("cutoff", self.cutoff), ("pairs-per-hour", self.rate)):
            if value is not None and value < 1:
                raise InputError(f"--{name} must be 1 or more, found {value:g}")
        if self.output is not None and _format(self.output) not in _WRITERS:
            raise InputError(f"-o expects a file .jsonl or .csv, found {self.output}")


@dataclass(frozen=True)
class PoolResult:
    """The pairs to judge, what they cost and what they cover."""

    frame: PoolFrame
    pool: Pool
    method: str
    cutoff: int
    rate: float
    judged: int  # pairs of the frame that have a label
    depths: tuple[DepthCost, ...]
    runs: tuple[RunCoverage, ...]
    recipe: Mapping[str, Any]
    output: str | None

    @property
    def hours(self) -> float:
        """The time that judging the pool takes."""
        return len(self.pool.rows) / self.rate

    def to_dict(self) -> dict[str, Any]:
        """Return the cost and coverage as plain data, as `assay dataset pool --format json` prints them."""
        return {
            **self.recipe,
            "hours": self.hours,
            "coverage": {
                "depths": [cost.to_dict() for cost in self.depths],
                "runs": [run.to_dict() for run in self.runs],
            },
            "output": self.output,
        }


def pool_runs(request: PoolRequest) -> PoolResult:
    """Choose the pairs to judge and write them."""
    deepest = max(request.depth, request.cutoff)  # Judged@k may look deeper than the pool
    inputs = (*request.files.runs, request.files.qrels, request.files.queries)
    refuse_inputs_as_outputs((request.output,), inputs)
    runs = read_pooled_runs(request.files, request.order, request.depth, deepest, request.store)
    qrels, queries = _read_known(request.files)
    whole = build_pool_frame(runs.tops, deepest, None if queries is None else queries.ids)
    frame, places = whole.cut(request.depth)
    judged = ~np.isnan(whole.grades(qrels))
    pool = _choose(request, frame, qrels)
    in_pool = np.zeros(len(whole), np.bool_)
    in_pool[places[pool.rows]] = True
    digests = {**runs.digests} | ({"qrels": qrels.digest} if qrels is not None else {})
    count = int(judged[places].sum())
    result = PoolResult(
        frame,
        pool,
        request.method,
        request.cutoff,
        request.rate,
        count,
        tuple(cost_by_depth(whole, judged, request.depth, request.cutoff, request.rate)),
        tuple(cover_runs(whole, judged, in_pool, request.cutoff)),
        _recipe(request, frame, pool, count, digests),
        request.output,
    )
    if request.output is not None:
        _write(result, request)
    return result


def _choose(request: PoolRequest, frame: PoolFrame, qrels: Qrels | None) -> Pool:
    """Return the pairs to judge in a random order."""
    grades = frame.grades(qrels)
    judged = ~np.isnan(grades)
    if judged.all():
        raise UndecidableError(f"all {len(frame):,} pairs down to rank {request.depth} have labels already")
    rng = np.random.default_rng(request.seed)
    return shuffle_pairs(frame, _CHOICES[request.method](request, frame, grades, judged, rng), rng)


def _read_known(files: TableFiles) -> tuple[Qrels | None, Queries | None]:
    """Return the labels that exist and the queries to pool, if files are given for them."""
    queries, _ = files.open_unjudged()
    if files.qrels is None:
        return None, queries
    tables = TableFiles(qrels=files.qrels, columns=files.columns, formats=files.formats).open()
    return tables.qrels, queries


_Choice = Callable[[PoolRequest, PoolFrame, Floats, Bools, np.random.Generator], Pool]


def _by_depth(
    request: PoolRequest, frame: PoolFrame, grades: Floats, judged: Bools, rng: np.random.Generator
) -> Pool:
    return pool_by_depth(frame, judged, request.depth, request.budget)


def _by_strata(
    request: PoolRequest, frame: PoolFrame, grades: Floats, judged: Bools, rng: np.random.Generator
) -> Pool:
    return pool_by_strata(frame, judged, request.budget or 0, rng)


def _by_move_to_front(
    request: PoolRequest, frame: PoolFrame, grades: Floats, judged: Bools, rng: np.random.Generator
) -> Pool:
    return pool_by_move_to_front(frame, grades, request.budget or 0, rng, request.rel)


def _by_bandit(
    request: PoolRequest, frame: PoolFrame, grades: Floats, judged: Bools, rng: np.random.Generator
) -> Pool:
    return pool_by_bandit(frame, grades, request.budget or 0, rng, request.rel)


def _by_difference(
    request: PoolRequest, frame: PoolFrame, grades: Floats, judged: Bools, rng: np.random.Generator
) -> Pool:
    return pool_by_difference(frame, grades, request.budget or 0, request.rel)


_CHOICES: Mapping[str, _Choice] = {
    "depth": _by_depth,
    "stratified": _by_strata,
    "move-to-front": _by_move_to_front,
    "bandit": _by_bandit,
    "difference": _by_difference,
}


def _recipe(
    request: PoolRequest, frame: PoolFrame, pool: Pool, judged: int, digests: Mapping[str, str]
) -> dict[str, Any]:
    """Return how the pool was chosen."""
    has_chances = not np.isnan(pool.probabilities).any()
    return {
        "method": request.method,
        "depth": pool.depth or request.depth,
        "budget": request.budget,
        "rel": request.rel,
        "seed": request.seed,
        "runs": list(frame.runs),
        "has_inclusion_probabilities": has_chances,
        "digests": dict(digests),
        "counts": {
            "queries": len(frame.query_ids),
            "pairs": len(frame),
            "judged": judged,
            "pool": len(pool.rows),
            "pool_queries": len(np.unique(frame.query[pool.rows])),
        },
    }


def _write(result: PoolResult, request: PoolRequest) -> None:
    assert request.output is not None
    rows = _rows(result, request.with_ranks)
    with open_for_writing(request.output) as file:
        for line in _WRITERS[_format(request.output)](rows):
            file.write(line.encode() + b"\n")
    write_recipe({"pool": result.recipe}, recipe_path(request.output))


def recipe_path(output: str) -> Path:
    """Return the path of the recipe of a pool.

    >>> recipe_path("a/pool.jsonl").as_posix()
    'a/pool.recipe.json'
    """
    path = Path(output)
    return path.with_name(f"{path.name.removesuffix(path.suffix)}.recipe.json")


def _format(path: str) -> str:
    return Path(path).suffix.lower()


def _rows(result: PoolResult, with_ranks: bool) -> list[dict[str, Any]]:
    """Return the rows of the pool: the pair, its probability and stratum, and only if asked its ranks."""
    frame, pool = result.frame, result.pool
    rows = []
    for place, (query, doc) in enumerate(frame.pairs(pool.rows)):
        chance = float(pool.probabilities[place])
        row = {
            "query_id": query,
            "doc_id": doc,
            "inclusion_probability": None if chance != chance else chance,
        }
        row |= {"stratum": pool.strata[place]} if pool.strata else {}
        if with_ranks:
            ranks = frame.ranks[pool.rows[place]].tolist()
            row |= {f"rank {run}": rank or None for run, rank in zip(frame.runs, ranks, strict=True)}
        rows.append(row)
    return rows


def _jsonl_lines(rows: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(row, ensure_ascii=False) for row in rows]


def _csv_lines(rows: list[dict[str, Any]]) -> list[str]:
    head = list(rows[0])
    cells = [["" if row[name] is None else str(row[name]) for name in head] for row in rows]
    return [format_csv_row(line) for line in (head, *cells)]


_WRITERS = {".jsonl": _jsonl_lines, ".csv": _csv_lines}
