"""All that trials show beyond their mean recall, as far as they tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from assay.indexes.foreign.curves import place
from assay.indexes.study.difficulty import Doubles, Relation, difficulty, relations
from assay.indexes.study.failing import Failing, failing
from assay.indexes.study.families import family_of
from assay.indexes.study.information import FEWEST, SPAN, Information, information
from assay.indexes.study.matched import WITHIN, Matched, matched
from assay.indexes.study.observed import Distribution, Observed, Study
from assay.indexes.study.severity import DEPTH, Severity, severity
from assay.stats.intervals import Estimate, order_statistic

PERCENTILES = (1, 5, 10, 50)


@dataclass(frozen=True)
class Finding:
    """What one configuration shows."""

    key: str
    label: str
    family: str
    recall: Estimate
    failure: Estimate  # the share of queries whose recall is below δ
    zero_hit: Estimate
    percentiles: Mapping[str, Estimate]  # p5: the recall that at most 5 % of queries stay below
    histogram: list[int] | None  # queries with 0, 1, … K of their K nearest
    curve: list[tuple[float, Estimate]]  # δ and Robustness-δ@K
    severity: Severity | None
    relations: list[Relation]  # of how hard queries are with how they did


@dataclass(frozen=True)
class Findings:
    """What all trials of a study show; what cannot be known is None or empty, and a note says why."""

    source: str
    k: int
    delta: float
    at_most: float  # the recall of queries whose severity is told
    level: float
    trials: list[Finding]
    matched: list[Matched]
    information: list[Information]
    failing: Failing | None
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The findings as plain data."""
        made: dict[str, Any] = _plain(self)
        return made


def findings(study: Study, delta: float = 0.1, at_most: float = 0.3) -> Findings:
    """What the trials of a study show; those that failed or were not indexed are left out."""
    there = [one for one in study.observed if not _why_left_out(one)]
    compared = [one for one in there if family_of(one.trial) != "exact"]
    asked = any(one.hits is not None for one in there)
    features = difficulty(study.data) if study.data is not None and asked else {}
    pairs = matched(compared, delta)
    return Findings(
        source=study.source,
        k=study.k,
        delta=delta,
        at_most=at_most,
        level=0.95,
        trials=[_finding(one, study, features, delta, at_most) for one in there],
        matched=pairs,
        information=information(replace(study, observed=tuple(compared))),
        failing=failing(compared, delta),
        notes=[
            *_begun(study),
            *_left_out(study, there),
            *_unknown(study, there, compared, pairs),
            *_none_failed(there, delta),
        ],
    )


def _finding(
    one: Observed, study: Study, features: Mapping[str, Doubles], delta: float, at_most: float
) -> Finding:
    spread = one.distribution
    return Finding(
        key=one.trial.key,
        label=one.trial.label,
        family=family_of(one.trial),
        recall=one.recall,
        failure=one.failure(delta),
        zero_hit=one.failure(1 / one.trial.k),
        percentiles={f"p{p}": percentile(spread, p / 100) for p in PERCENTILES},
        histogram=spread.counts.tolist() if spread else None,
        curve=_curve(one),
        severity=severity(one, study.data.truth, at_most) if study.data is not None else None,
        relations=relations(one, features, delta),
    )


def percentile(spread: Distribution | None, share: float, level: float = 0.95) -> Estimate:
    """The recall that at most this share of queries stay below, with a distribution-free interval."""
    if spread is None or not spread.n:
        return Estimate(None, None, None, level, 0)
    ends = order_statistic(np.repeat(np.arange(spread.k + 1) / spread.k, spread.counts), share, level)
    low, high = 0.0 if ends.low is None else ends.low, 1.0 if ends.high is None else ends.high
    return Estimate(spread.percentile(share), low, high, level, spread.n)


def _curve(one: Observed) -> list[tuple[float, Estimate]]:
    """Robustness at every δ that recall can have, or, where that is not known, at every δ that is stated."""
    if one.distribution is not None:
        return one.distribution.curve()
    places = filter(None, map(place, (*one.trial.measures, *one.trial.reported)))
    steps = sorted({at.delta for at in places if at.k == one.trial.k})
    return [(step, one.robustness(step)) for step in steps]


def _begun(study: Study) -> list[str]:
    """Trials whose passes are not all made yet."""
    passes: dict[int, list[str]] = {}
    for trial in (one.trial for one in study.observed):
        if trial.status == "begun":
            passes.setdefault(trial.qps.repetitions if trial.qps else 0, []).append(trial.label)
    of = study.about.get("options", {}).get("repetitions", "so many")
    return [
        f"begun: {made} of {of} passes; the same bench command goes on: {_listed(labels)}"
        for made, labels in passes.items()
    ]


def _why_left_out(one: Observed) -> str:
    if one.trial.status == "failed":
        return "failed"
    if one.trial.indexed is False:
        return "not indexed: brute force answered, which says nothing about an index"
    return "" if one.recall.value is not None else "no recall is known"


def _left_out(study: Study, there: Sequence[Observed]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for one in study.observed:
        if _why_left_out(one):
            reasons.setdefault(_why_left_out(one), []).append(one.trial.label)
    said = [f"left out ({reason}): {_listed(labels)}" for reason, labels in reasons.items()]
    exact = [one.trial.label for one in there if family_of(one.trial) == "exact"]
    return said + [f"exact, so left out where indexes are compared: {_listed(exact)}"] * bool(exact)


def _unknown(
    study: Study, there: Sequence[Observed], compared: Sequence[Observed], pairs: Sequence[Matched]
) -> list[str]:
    """What is not told, and why; of no trial there is nothing to say."""
    if not there:
        return []
    said = []
    single = [one.trial.label for one in there if one.hits is None]
    if single:
        said.append(
            f"only figures are known, and no single query, of {_listed(single, there)}: how bad failures "
            "are, which queries fail and what makes them hard cannot be told"
        )
    bare = [one.trial.label for one in there if one.distribution is None]
    if bare:
        said.append(f"the distribution of recall is not known of {_listed(bare, there)}: no percentiles")
    if not pairs:
        said.append(
            f"no two configurations of different engines have a mean recall within {WITHIN:g}: "
            "nothing is compared at matched recall"
        )
    if len(compared) < FEWEST:
        said.append(f"r² takes {FEWEST} configurations or more, and there are {len(compared)}")
    elif (apart := float(np.ptp([one.recall.value for one in compared]))) < SPAN - 1e-9:
        said.append(
            f"r² is withheld: mean recall differs by {apart:.4f} among {len(compared)} configurations, and "
            f"over less than {SPAN:g} what goes with it is chance"
        )
    if study.data is not None and study.data.truth.k < DEPTH:
        said.append(f"the truth has {study.data.truth.k} neighbours: outside means not among those")
    return said


def _none_failed(there: Sequence[Observed], delta: float) -> list[str]:
    """The rule of three, for those that no query failed of."""
    rates = [(one.trial.label, one.failure(delta)) for one in there]
    none = [(label, rate.n) for label, rate in rates if rate.value == 0 and rate.n]
    return [
        f"no query of {n:,} failed at δ = {delta:g}, which shows only that fewer than 3 in {n:,} do: "
        f"{_listed([label for label, of in none if of == n])}"
        for n in dict.fromkeys(n for _, n in none)
    ]


def _listed(labels: Sequence[str], all_of: Sequence[Observed] = (), most: int = 5) -> str:
    """Labels in a sentence; of many, the first.

    >>> _listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    if len(labels) == len(all_of) > 1:
        return "any trial"
    more = len(labels) - most
    return ", ".join(labels[:most]) + (f" and {more} more" if more > 0 else "")


def _plain(value: Any) -> Any:
    """Values, named tuples and what holds them as plain data."""
    if isinstance(value, Estimate):
        return value.to_dict()
    if isinstance(value, Findings | Finding):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
