"""Which family serves a low or a high δ on these data, and which parameters raised the tail or might."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.bench.studies.families import FAMILIES, family_of_trial
from assay.bench.studies.parameter_studies import numeric_parameters, queries_per_second
from assay.bench.studies.pooled_families import near_recall
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.trials import Trial
from assay.stats.intervals import Estimate

HIGH_DELTA = 0.9
_EVIDENCE_TOLERANCE = 0.05  # around the target within which a configuration is where a search could start

_PROBES = {"nprobe": "more partitions are searched"}
_REFINEMENT = {"k_factor": "more candidates are compared again with the original vectors"}
# What raises the tail, by the beginning of the engine's name: its parameters, and what each of them does.
_TAIL_PARAMETERS = {
    "scann": {
        "pre_reorder_num_neighbors": "more candidates are compared again with the original vectors",
        "leaves_to_search": "more partitions are searched",
        "soar_lambda": "SOAR stores each vector in a second partition",
    },
    "faiss.ivfpq": _PROBES | _REFINEMENT,
    "faiss.fastscan": _PROBES | _REFINEMENT,
    "faiss.rabitq": _PROBES | _REFINEMENT,
    "faiss.ivf": _PROBES,
    "faiss.hnsw": {"efSearch": "more candidates are kept", "M": "each vector has more neighbours"},
    "hnswlib": {"ef": "more candidates are kept", "M": "each vector has more neighbours"},
    "diskann": {"complexity": "more candidates are kept", "graph_degree": "each vector has more neighbours"},
    "adaptive": {"budget": "hard queries get more of the work than easy ones"},
}


class FamilyRobustness(NamedTuple):
    """The mean robustness of the configurations of a family near one mean recall."""

    family: str
    configurations: int
    robustness: float


class FamilyAdvice(NamedTuple):
    """The families by their robustness at one δ, the best first."""

    delta: float
    recall: float  # near which they are compared
    tolerance: float
    families: list[FamilyRobustness]


class TailStep(NamedTuple):
    """Two configurations that differ in one parameter, and by how much the second fails less."""

    engine: str
    parameter: str
    before: float  # of the parameter
    after: float
    first: str  # the keys of the trials
    second: str
    first_failure: Estimate  # share of queries below δ
    second_failure: Estimate
    first_qps: float | None
    second_qps: float | None


class UntriedParameter(NamedTuple):
    """A parameter that can raise the tail of an engine, and that no two of its trials differ in."""

    engine: str
    parameter: str
    effect: str


@dataclass(frozen=True)
class Advice:
    """Advice with its evidence."""

    families: list[FamilyAdvice]
    steps: list[TailStep]
    untried: list[UntriedParameter]


def advise(scored_trials: Sequence[ScoredTrial], delta: float, recall: float, tolerance: float) -> Advice:
    """Return which family serves δ and a high δ at a mean recall, and what raises the tail at δ."""
    deltas = dict.fromkeys((delta, HIGH_DELTA))
    families = [_compare_families(scored_trials, at, recall, tolerance) for at in deltas]
    own = [one for one in scored_trials if family_of_trial(one.trial) != "exact"]
    return Advice(
        [advice for advice in families if len(advice.families) > 1],
        _tail_steps(own, delta, recall),
        _untried_parameters([one.trial for one in own]),
    )


def _compare_families(
    scored_trials: Sequence[ScoredTrial], delta: float, recall: float, tolerance: float
) -> FamilyAdvice:
    values: dict[str, list[float]] = {}
    for one in near_recall(scored_trials, recall, tolerance):
        share = one.robustness(delta).value
        if share is not None:
            values.setdefault(family_of_trial(one.trial), []).append(share)
    means = [
        FamilyRobustness(family, len(values[family]), sum(values[family]) / len(values[family]))
        for family in FAMILIES
        if family in values
    ]
    return FamilyAdvice(delta, recall, tolerance, sorted(means, key=lambda mean: -mean.robustness))


def _tail_steps(scored_trials: Sequence[ScoredTrial], delta: float, recall: float) -> list[TailStep]:
    """Return for each engine and parameter the best step from a trial near the target."""
    parameters = {one.trial.key: numeric_parameters(one.trial) for one in scored_trials}
    best: dict[tuple[str, str], TailStep] = {}
    for first in near_recall(scored_trials, recall, _EVIDENCE_TOLERANCE):
        for second in scored_trials:
            name = _only_difference(first.trial, second.trial, parameters)
            step = None if name is None else _step(first, second, name, parameters, delta)
            place = (first.trial.engine, name or "")
            if step is not None and (place not in best or _gain(step) > _gain(best[place])):
                best[place] = step
    return list(best.values())


def _only_difference(
    first: Trial, second: Trial, parameters: Mapping[str, Mapping[str, float]]
) -> str | None:
    """Return the one number in which two trials of an engine differ; None if there is none or another."""
    before, after = parameters[first.key], parameters[second.key]
    if first.engine != second.engine or before.keys() != after.keys():
        return None
    differing = [name for name in before if before[name] != after[name]]
    is_alike = len(differing) == 1 and _other_settings(first) == _other_settings(second)
    return differing[0] if is_alike else None


def _step(
    first: ScoredTrial,
    second: ScoredTrial,
    name: str,
    parameters: Mapping[str, Mapping[str, float]],
    delta: float,
) -> TailStep | None:
    """Return the step between two trials; None if the second does not fail less, or that is not known."""
    rates = first.failure(delta), second.failure(delta)
    if rates[0].value is None or rates[1].value is None or rates[1].value >= rates[0].value:
        return None
    before, after = (parameters[one.trial.key][name] for one in (first, second))
    qps = queries_per_second(first.trial), queries_per_second(second.trial)
    return TailStep(first.trial.engine, name, before, after, first.trial.key, second.trial.key, *rates, *qps)


def _other_settings(trial: Trial) -> tuple[object, ...]:
    """Return what must not differ besides one number: texts, threads and the number of neighbors."""
    texts = {
        name: value
        for name, value in [*trial.build.items(), *trial.search.items()]
        if name not in numeric_parameters(trial) and name not in ("config", "parameters")
    }
    return tuple(sorted(texts.items(), key=str)), trial.threads, trial.mode, trial.dataset


def _gain(step: TailStep) -> float:
    return (step.first_failure.value or 0.0) - (step.second_failure.value or 0.0)


def _untried_parameters(trials: Sequence[Trial]) -> list[UntriedParameter]:
    """Return the parameters in which the trials of an engine do not differ, of engines measured here."""
    untried = []
    for engine in dict.fromkeys(trial.engine for trial in trials if trial.source == "assay"):
        own = [{**trial.build, **trial.search} for trial in trials if trial.engine == engine]
        effects = next((known for name, known in _TAIL_PARAMETERS.items() if engine.startswith(name)), {})
        untried += [
            UntriedParameter(engine, name, effect)
            for name, effect in effects.items()
            if len({str(parameters.get(name)) for parameters in own}) < 2
        ]
    return untried
