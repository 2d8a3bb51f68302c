"""Trials of indexes as experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.bench.sweeps.identity import content_key
from assay.bench.sweeps.pass_figures import query_measures
from assay.bench.trials import Trial
from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.indexes.hits import Hits
from assay.measures import parse
from assay.stats.intervals import Estimate
from assay.store.provenance import FORMULAS, code_version, environment

_FIGURE_FIELDS = ("build_seconds", "memory_bytes", "disk_bytes", "zero_hits", "errors")


def experiment_from_trial(
    trial: Trial, name: str, data: Mapping[str, Any], *, tags: Sequence[str] = (), note: str = ""
) -> Experiment:
    """A trial as an experiment, with the exact truth in place of the judgments."""
    figures = {figure: getattr(trial, figure) for figure in _FIGURE_FIELDS}
    if trial.qps is not None:
        figures["qps"] = trial.qps.median
    digests = data["digests"]
    truth = {**digests, "metric": trial.metric, "k": trial.k}
    return Experiment(
        name=name,
        kind="bench",
        configuration={"engine": trial.engine, "build": dict(trial.build), "search": dict(trial.search)},
        metrics=tuple(Metric(m, "", "", e.value, e.low, e.high, e.n) for m, e in trial.measures.items()),
        digests={"qrels": content_key(truth), "queries": digests["queries"]},
        policy={"formulas": FORMULAS, "ties": f"hits by {trial.policy}", "missing": "0"},
        latency={p: value for p, value in trial.latency.items() if value is not None},
        figures={figure: value for figure, value in figures.items() if value is not None},
        code=code_version(),
        environment=environment() | {"engine": f"{trial.engine} {trial.version}", "threads": trial.threads},
        result={"trial": trial.key, "mode": trial.mode, "indexed": trial.indexed, **trial.request},
        tags=tuple(tags),
        note=note,
    )


def scores_of_trial(hits: Hits) -> Scores:
    """The measures of each query from the hits of a trial; a query's id is its number."""
    return Scores([str(number) for number in range(len(hits.out_of))], query_measures(hits))


def trial_from_experiment(experiment: Experiment) -> Trial:
    """An experiment of `assay bench --save` as a trial; its throughput is a median without its passes."""
    request = dict(experiment.result)
    key, mode, indexed = request.pop("trial"), request.pop("mode"), request.pop("indexed")
    measures = {
        m.measure: Estimate(m.value, m.low, m.high, 0.95, m.n or 0)
        for m in experiment.metrics
        if not m.column and m.value is not None
    }
    figures = experiment.figures
    engine, _, version = str(experiment.environment.get("engine", "")).partition(" ")
    return Trial(
        key=key,
        engine=experiment.configuration.get("engine", engine),
        build=experiment.configuration.get("build", {}),
        search=experiment.configuration.get("search", {}),
        mode=mode,
        request=request,
        threads=experiment.environment.get("threads"),
        version=version,
        k=_depth_of_recall(measures),
        indexed=indexed,
        measures=measures,
        latency=experiment.latency,
        reported={"qps": figures["qps"]} if "qps" in figures else {},
        **{name: figures[name] for name in _FIGURE_FIELDS if name in figures},
    )


def _depth_of_recall(measures: Mapping[str, Estimate]) -> int:
    """The K of a trial, which is that of its recall."""
    depths = (measure.depth for measure in map(parse, measures) if measure.name == "R")
    return next((depth for depth in depths if depth), 10)


def hits_of_scores(scores: Scores, k: int) -> Hits | None:
    """The hits of each query from the stored recall; None if it is not stored."""
    if f"R@{k}" not in scores.values:
        return None
    recall = scores[f"R@{k}"]
    has_truth = ~np.isnan(recall)
    counts = np.where(has_truth, np.rint(np.nan_to_num(recall) * k), 0).astype(np.int64)
    return Hits(counts, np.where(has_truth, k, 0), k, "ties")
