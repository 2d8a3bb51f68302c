"""Trials of indexes as experiments that can be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.records import Experiment, Metric
from assay.core.tables import Scores
from assay.indexes.hits import Judge
from assay.indexes.sweeps.plan import name_of
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.summary import per_query, scored
from assay.indexes.trials import Trial
from assay.store.saving import FORMULAS, code_version, environment

_FIGURES = ("build_seconds", "memory_bytes", "disk_bytes", "zero_hits", "errors")


def experiment_of_trial(
    trial: Trial, name: str, data: Mapping[str, Any], *, tags: Sequence[str] = (), note: str = ""
) -> Experiment:
    """A trial as an experiment: the exact truth stands for the judgments."""
    figures = {figure: getattr(trial, figure) for figure in _FIGURES}
    if trial.qps is not None:
        figures["qps"] = trial.qps.median
    known = data["digests"]
    truth = {**known, "metric": trial.metric, "k": trial.k}
    return Experiment(
        name=name,
        kind="bench",
        configuration={"engine": trial.engine, "build": dict(trial.build), "search": dict(trial.search)},
        metrics=tuple(Metric(m, "", "", e.value, e.low, e.high, e.n) for m, e in trial.measures.items()),
        digests={"qrels": name_of(truth), "queries": known["queries"]},
        policy={"formulas": FORMULAS, "ties": f"hits by {trial.policy}", "missing": "0"},
        latency={p: value for p, value in trial.latency.items() if value is not None},
        figures={figure: value for figure, value in figures.items() if value is not None},
        code=code_version(),
        environment=environment() | {"engine": f"{trial.engine} {trial.version}", "threads": trial.threads},
        result={"trial": trial.key, "mode": trial.mode, "indexed": trial.indexed, **trial.asking},
        tags=tuple(tags),
        note=note,
    )


def scores_of_trial(results: Results, trial: Trial, judge: Judge) -> Scores:
    """The measures of each query, which is named by its number."""
    values = per_query(scored(results.repetition(trial.key, 0), judge))
    return Scores([str(number) for number in range(len(judge.out_of))], values)
