"""Evaluations as experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.records import Experiment, Metric
from assay.core.tables import Qrels, Queries
from assay.evaluation import Evaluation
from assay.store.provenance import POLICY, code_version, environment


def experiment_from_evaluation(
    evaluation: Evaluation,
    name: str,
    *,
    kind: str = "eval",
    qrels: Qrels | None = None,
    queries: Queries | None = None,
    run: str | None = None,
    only_common: bool = False,
    configuration: Mapping[str, Any] | None = None,
    latency: Mapping[str, float] | None = None,
    figures: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    note: str = "",
) -> Experiment:
    """An evaluation as an experiment: its values, its data, and how it was measured."""
    digests = {"qrels": qrels and qrels.digest, "queries": queries and queries.digest, "run": run}
    return Experiment(
        name=name,
        kind=kind,
        configuration=configuration or {},
        metrics=tuple(_metrics(evaluation)),
        digests={role: digest for role, digest in digests.items() if digest},
        policy=_policy(evaluation, only_common),
        latency=latency or {},
        figures=figures or {},
        code=code_version(),
        environment=environment(),
        result={"run": evaluation.name, "counts": evaluation.counts._asdict(), **(result or {})},
        tags=tuple(tags),
        note=note,
    )


def _policy(evaluation: Evaluation, only_common: bool) -> dict[str, object]:
    """How the scores were computed."""
    policy = POLICY | ({"missing": "left out"} if only_common else {})
    if evaluation.order.single_precision:
        policy |= {"ties": "higher score as a 32-bit float, then larger document id"}
    if evaluation.weights is not None:
        policy |= {"population": evaluation.weights.population}
    if evaluation.pairs is not None:
        policy |= {"judgments": "a random sample of the pool, weighted by inclusion probability"}
    return policy | ({"scores": "lower is better"} if evaluation.order.lower_is_better else {})


def _metrics(evaluation: Evaluation) -> list[Metric]:
    metrics = [Metric(m, "", "", e.value, e.low, e.high, e.n) for m, e in evaluation.estimates.items()]
    for part in evaluation.slice_estimates:
        for m, e in part.estimates.items():
            metrics.append(Metric(m, part.column, part.value, e.value, e.low, e.high, e.n))
    return metrics
