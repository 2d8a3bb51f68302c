"""Draw a sample of queries from a table or a log: what `assay dataset sample` does."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import InputError
from assay.core.suggestions import did_you_mean
from assay.core.tables import Queries
from assay.datasets import open_run, write
from assay.datasets.output_files import make_folder, open_for_writing
from assay.datasets.query_log import ALIASES, QueryLog, query_log_of_table, read_query_log
from assay.datasets.score_files import read_scores
from assay.evaluation.slices import label_queries
from assay.judging.families import DEFAULT_SIMILARITY, find_families
from assay.judging.sampling import (
    Draw,
    QueryFrame,
    Stratum,
    build_frame,
    describe_strata,
    design_effect,
    draw_proportional,
    draw_strata,
    select_below,
)
from assay.judging.topic_set_size import (
    DIFFERENCES,
    WIDTHS,
    Spread,
    TopicSetSize,
    plan_topic_set,
    spread_of_pilot,
    spread_of_variance,
)
from assay.models.encoder import Encoder
from assay.models.registry import load_encoder
from assay.stats.power import POWER
from assay.workflows.dataset_versions import PREFIX, open_collection

METHODS = ("uniform", "frequency", "stratified", "proportional", "hard", "zero-results")
_NEEDS_FREQUENCY = ("frequency", "proportional")


@dataclass(frozen=True, kw_only=True)
class PrecisionRequest:
    """What precision is wanted, and what is known about the spread of scores."""

    variance: float | None = None  # of the scores of one system
    pilot: str | None = None  # a file with scores of queries
    measure: str | None = None  # the column of the scores
    widths: Sequence[float] = WIDTHS
    differences: Sequence[float] = DIFFERENCES
    level: float = 0.95
    power: float = POWER

    def __post_init__(self) -> None:
        if self.variance is not None and self.pilot is not None:
            raise InputError("--variance and --pilot both give the spread of scores; give one")

    def plan(self, n: int | None = None, effect: float = 1.0) -> TopicSetSize:
        """Return how many queries the precision needs, and what n queries reach."""
        options: dict[str, Any] = {"level": self.level, "power": self.power, "n": n, "design_effect": effect}
        return plan_topic_set(self._spread(), widths=self.widths, differences=self.differences, **options)

    def _spread(self) -> Spread:
        if self.pilot is None:
            return spread_of_variance(self.variance)
        return spread_of_pilot(read_scores(self.pilot, self.measure))


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """Where queries are drawn from, how many and how."""

    source: str  # a query table, a folder, dataset:NAME, or a log with one row for each issued query
    n: int
    output: str | None = None  # the folder to write; None: nothing is written
    method: str = "uniform"
    by: Sequence[str] = ()  # the columns of a stratified sample
    allocation: str = "equal"  # of n among strata
    seed: int = 0
    near_duplicates: float | None = DEFAULT_SIMILARITY  # None: only equal texts are one family
    encoder: str | None = None  # a kind of encoder, to find near-duplicates by embeddings
    encoder_settings: Mapping[str, Any] = field(default_factory=dict)
    scores: str | None = None  # of queries, for hard queries
    run: str | None = None  # for hard queries and those without results
    below: float | None = None  # the highest score of a hard query
    columns: Mapping[str, str] = field(default_factory=dict)
    is_ubi: bool = False  # whether the source is a log of UBI events
    store: str | None = None  # of dataset:NAME
    precision: PrecisionRequest = PrecisionRequest()

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            hint = did_you_mean(self.method, METHODS)
            raise InputError(
                f"--method must be one of {', '.join(METHODS)}, found {self.method!r}{hint and f'; {hint}'}"
            )
        unknown = next((name for name in self.columns if name not in ALIASES), None)
        if unknown is not None:
            raise InputError(f"--columns: expected one of {', '.join(ALIASES)}, found {unknown!r}")
        self._check_method()

    def _check_method(self) -> None:
        """Raise InputError if an option and the method do not belong together."""
        if (self.method == "stratified") != bool(self.by):
            raise InputError("--method stratified and --by COLUMN are used together")
        if self.method == "hard" and (self.scores is None) == (self.run is None):
            raise InputError("--method hard needs --scores FILE or --run FILE")
        if self.method != "hard" and (self.scores is not None or self.below is not None):
            raise InputError("--scores and --below are for --method hard")
        if self.method not in ("hard", "zero-results") and self.run is not None:
            raise InputError("--run is for --method hard and zero-results")


@dataclass(frozen=True)
class QuerySample:
    """A sample of queries with inclusion probabilities, and how it was drawn."""

    queries: Queries
    counts: Mapping[str, int]  # rows, queries and families of the source, families of the frame and sample
    population: str  # what the frame is, if it is a part of the families
    strata: tuple[Stratum, ...]
    plan: TopicSetSize
    recipe: Mapping[str, Any]
    folder: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the sample as plain data, as `assay dataset sample --format json` prints it."""
        return {
            **self.recipe,
            "strata": [stratum.to_dict() for stratum in self.strata],
            "plan": self.plan.to_dict(),
            "folder": self.folder,
        }


def sample_queries(request: SampleRequest) -> QuerySample:
    """Draw a sample and write its folder."""
    log = _read_source(request)
    _check_source(request, log)
    families = _families(request, log.queries)
    whole = build_frame(log.queries, log.frequencies, families)
    frame, population = _restrict(request, whole)
    labels = _labels(request, frame)
    draw = _draw(request, frame, labels)
    labels = labels or _proportional_labels(draw, len(frame))
    strata = describe_strata(
        labels, frame.frequencies, dict(zip(draw.rows.tolist(), draw.probabilities.tolist(), strict=True))
    )
    queries = _sample_table(frame, draw, log.has_frequencies)
    counts = {
        "rows": log.rows,
        "queries": len(log.queries),
        "families": len(whole),
        "frame": len(frame),
        "sample": len(queries),
        "problems": log.problems,
    }
    recipe = _recipe(request, log, queries, counts, population)
    sample = QuerySample(
        queries,
        counts,
        population,
        tuple(strata),
        request.precision.plan(len(queries), design_effect(draw.probabilities)),
        recipe,
        request.output,
    )
    if request.output is not None:
        _write(sample, request.output)
    return sample


def _read_source(request: SampleRequest) -> QueryLog:
    if not request.source.startswith(PREFIX):
        return read_query_log(request.source, request.columns, request.is_ubi)
    queries = open_collection(request.source, request.store).queries
    if queries is None:
        raise InputError(f"{request.source} has no query table: name the file of the queries")
    return query_log_of_table(queries, request.source)


def _check_source(request: SampleRequest, log: QueryLog) -> None:
    if "inclusion_probability" in log.queries.columns:
        raise InputError(
            f"{request.source} has a column inclusion_probability: it is a sample already; "
            "draw from the queries that it was drawn from"
        )
    if request.method in _NEEDS_FREQUENCY and not log.has_frequencies:
        raise InputError(
            f"--method {request.method} needs a column frequency (--columns frequency=…) or a log with one "
            f"row for each issued query; {request.source} has one row for each query and no frequency"
        )


def _families(request: SampleRequest, queries: Queries) -> Ints:
    """Return the family of each query: of the column `family` if there is one, else found by texts."""
    if "family" in queries.columns:
        places: dict[Any, int] = {}
        names = queries.columns["family"]
        keys = [query if name is None else ("", name) for query, name in zip(queries.ids, names, strict=True)]
        return np.array([places.setdefault(key, len(places)) for key in keys], np.int64)
    texts = queries.columns["text"]
    return find_families(texts, request.near_duplicates, _open_encoder(request, texts))


def _open_encoder(request: SampleRequest, texts: Sequence[str]) -> Encoder | None:
    if request.encoder is None:
        return None
    encoder = load_encoder(request.encoder, **request.encoder_settings)
    encoder.fit(texts)
    return encoder


def _restrict(request: SampleRequest, frame: QueryFrame) -> tuple[QueryFrame, str]:
    """Return the families that the sample is about, and what they are if these are not all."""
    if request.method == "hard":
        rows, limit = select_below(_scores(request, frame), request.below)
        noun = "a best retrieval score" if request.run else request.precision.measure or "a score"
        return frame.take(rows), f"queries with {noun} of at most {limit:.4g}"
    if request.method == "zero-results":
        return frame.take(_rows_without_results(request, frame)), "queries without results"
    return frame, ""


def _scores(request: SampleRequest, frame: QueryFrame) -> list[float | None]:
    """Return the score of each query: the mean over the systems of the file."""
    if request.run:
        best = best_scores(request.run)
        return [best.get(query) for query in frame.queries.ids]
    assert request.scores is not None
    systems = list(read_scores(request.scores, request.precision.measure).values())
    values = [[scores[query] for scores in systems if query in scores] for query in frame.queries.ids]
    return [float(np.mean(v)) if v else None for v in values]


def best_scores(path: str) -> dict[str, float]:
    """Return the highest score that a run gives to a document of each query."""
    best: dict[str, float] = {}
    run = open_run(path)
    for block in run.blocks():
        for query, start, stop in zip(block.query_ids, block.offsets[:-1], block.offsets[1:], strict=True):
            if stop > start:
                best[query] = max(best.get(query, -np.inf), float(block.values[start:stop].max()))
    return best


def _rows_without_results(request: SampleRequest, frame: QueryFrame) -> Ints:
    if request.run:
        answered = best_scores(request.run)
        is_empty = [query not in answered for query in frame.queries.ids]
    elif "results" in frame.queries.columns:
        is_empty = [count == 0 for count in frame.queries.columns["results"]]
    else:
        raise InputError(
            "--method zero-results needs a column with the number of results (--columns results=…), or --run"
        )
    if not any(is_empty):
        raise InputError("no query is without results: there is nothing to draw")
    return np.flatnonzero(is_empty)


def _labels(request: SampleRequest, frame: QueryFrame) -> list[str]:
    """Return the stratum of each family; none for a sample in proportion to size."""
    if request.method == "proportional":
        return []
    if request.method == "frequency":
        counts = Queries({"query_id": frame.queries.ids, "frequency": frame.frequencies.tolist()})
        return label_queries("frequency", counts)
    columns = [label_queries(column, frame.queries) for column in request.by]
    return [" × ".join(parts) for parts in zip(*columns, strict=True)] if columns else ["all"] * len(frame)


def _draw(request: SampleRequest, frame: QueryFrame, labels: Sequence[str]) -> Draw:
    rng = np.random.default_rng(request.seed)
    if request.method == "proportional":
        return draw_proportional(frame.frequencies, request.n, rng)
    return draw_strata(labels, request.n, rng, request.allocation)


def _proportional_labels(draw: Draw, count: int) -> list[str]:
    labels = ["by size"] * count
    for row, stratum in zip(draw.rows.tolist(), draw.strata, strict=True):
        labels[row] = stratum
    return labels


def _sample_table(frame: QueryFrame, draw: Draw, has_frequencies: bool) -> Queries:
    """Return the queries that were drawn, with the columns that say how."""
    part = frame.take(draw.rows)
    columns = dict(part.queries.columns)
    if has_frequencies:
        columns["frequency"] = _plain_numbers(part.frequencies)
    columns.setdefault("family", part.queries.ids)
    columns["family_size"] = part.sizes.tolist()
    columns["stratum"] = draw.strata
    columns["inclusion_probability"] = draw.probabilities.tolist()
    return Queries(columns)


def _plain_numbers(values: Floats) -> list[float]:
    return [int(value) if value == int(value) else value for value in values.tolist()]


def _recipe(
    request: SampleRequest, log: QueryLog, queries: Queries, counts: Mapping[str, int], population: str
) -> dict[str, Any]:
    """Return how the sample was drawn."""
    return {
        "method": request.method,
        "n": request.n,
        "by": list(request.by),
        "allocation": request.allocation,
        "seed": request.seed,
        "near_duplicates": request.near_duplicates,
        "encoder": request.encoder,
        "population": population or "all families",
        "source": os.path.basename(os.path.normpath(request.source)),
        "digests": {"source": log.queries.digest, "queries": queries.digest},
        "counts": dict(counts),
    }


def _write(sample: QuerySample, output: str) -> None:
    folder = make_folder(output)
    write(sample.queries, folder / "queries.jsonl")
    strata = [stratum.to_dict() for stratum in sample.strata]
    write_recipe(
        {"sample": {**sample.recipe, "strata": strata, "plan": sample.plan.to_dict()}}, folder / "recipe.json"
    )


def write_recipe(recipe: Mapping[str, Any], path: Any) -> None:
    """Write a recipe as `assay dataset import --recipe` reads it."""
    with open_for_writing(path) as file:
        file.write(json.dumps(recipe, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n")
