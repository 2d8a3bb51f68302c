"""Whether two experiments may be compared, and if not, why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.core.errors import MeasureError
from assay.core.records import Experiment, Metric
from assay.measures import Measure, parse

_POLICIES = {
    "formulas": "version of the formulas",
    "ties": "tie policy",
    "missing": "what a query missing from the run counts",
}
_PARAMETERS = {"rel": "relevance threshold"}


class ComparabilityReason(NamedTuple):
    """Why two results are not comparable, or not known to be."""

    aspect: str  # what differs: judgments, a policy, a measure, one of its parameters …
    first: str | None
    second: str | None
    kind: str = "differs"  # or `unknown`: one of them does not say; or `note`: worth knowing
    topic: str = "value"  # or `not measured`, `no measure`, `count`, `parameter`: what the sentence is about
    measures: tuple[str, ...] = ()  # that a count or a parameter belongs to
    names: tuple[str, str] = ("", "")  # of the versions of the evaluation set, if they are known

    @property
    def blocks(self) -> bool:
        """Whether the two must not be compared; what neither of them says is only a doubt."""
        is_one_sided = (self.first is None) != (self.second is None)
        return self.kind == "differs" or (self.kind == "unknown" and is_one_sided)


Reasons = list[ComparabilityReason]


def comparability_reasons(
    a: Experiment, b: Experiment, measure: str | None = None, *, column: str = "", value: str = ""
) -> Reasons:
    """Return why two results are not comparable: by one measure (of a slice), or by all that both have."""
    reasons = _compare_judgments(a, b) + _compare_queries(a, b, bool(column))
    for key, aspect in _POLICIES.items():
        reasons += _compare_values(aspect, _to_text(a.policy.get(key)), _to_text(b.policy.get(key)))
    if measure is None:
        return reasons + _compare_all_measures(a, b)
    return reasons + _compare_measure(a, b, measure, (column, value))


def _to_text(value: object) -> str | None:
    return None if value is None else str(value)


def _compare_values(aspect: str, first: str | None, second: str | None) -> Reasons:
    """Return a reason if the two values differ, or one of them is missing."""
    if first is None or second is None:
        return [ComparabilityReason(aspect, first, second, "unknown")]
    return [] if first == second else [ComparabilityReason(aspect, first, second)]


def _compare_judgments(a: Experiment, b: Experiment) -> Reasons:
    return _compare_values("judgments", a.digests.get("qrels"), b.digests.get("qrels"))


def _compare_queries(a: Experiment, b: Experiment, is_sliced: bool) -> Reasons:
    """Return a reason for different query tables.

    They matter to slices, and if the judgments do not say which queries count.
    """
    reasons = _compare_values("queries and their slices", a.digests.get("queries"), b.digests.get("queries"))
    if is_sliced:
        return reasons
    has_same_judgments = not _compare_judgments(a, b)
    return [
        reason._replace(kind="note") if has_same_judgments else reason
        for reason in reasons
        if reason.kind == "differs"
    ]


def _compare_measure(a: Experiment, b: Experiment, measure: str, part: tuple[str, str]) -> Reasons:
    first, second = a.metric(measure, *part), b.metric(measure, *part)
    if first is not None and second is not None:
        return _compare_counts(first, second)
    if first is None and second is None:
        return [ComparabilityReason(measure, None, None, topic="not measured")]
    other = find_counterpart(measure, _measure_names(a if first is None else b))
    if other is None or part != ("", ""):
        before, after = (None, measure) if first is None else (measure, None)
        return [ComparabilityReason(measure, before, after, topic="not measured")]
    return _compare_parameters(other, measure) if first is None else _compare_parameters(measure, other)


def _compare_all_measures(a: Experiment, b: Experiment) -> Reasons:
    """Return the measures that only one of the two has, and differing counts of those that both have."""
    first_names, second_names = _measure_names(a), _measure_names(b)
    shared_names = [name for name in first_names if name in second_names]
    only_first = [name for name in first_names if name not in second_names]
    only_second = [name for name in second_names if name not in first_names]
    reasons = []
    for name in only_first:
        other = find_counterpart(name, only_second)
        if other is not None:
            reasons += _compare_parameters(name, other)
            only_second.remove(other)
        else:
            reasons.append(ComparabilityReason(name, name, None, "note", "not measured"))
    reasons += [ComparabilityReason(name, None, name, "note", "not measured") for name in only_second]
    if not shared_names and not any(reason.kind == "differs" for reason in reasons):
        reasons.append(ComparabilityReason("measures", None, None, topic="no measure"))
    return reasons + _compare_all_counts(a, b, shared_names)


def _compare_all_counts(a: Experiment, b: Experiment, names: Sequence[str]) -> Reasons:
    """Return the differing numbers of queries, each once however many measures have it."""
    reasons: dict[tuple[str | None, str | None], ComparabilityReason] = {}
    for name in names:
        first, second = a.metric(name), b.metric(name)
        for reason in _compare_counts(first, second) if first and second else ():
            reasons.setdefault((reason.first, reason.second), reason)
    return list(reasons.values())


def _compare_counts(first: Metric, second: Metric) -> Reasons:
    if first.n is None or second.n is None or first.n == second.n:
        return []
    reason = ComparabilityReason("number of queries", str(first.n), str(second.n), topic="count")
    return [reason._replace(measures=(first.measure,))]


def _measure_names(e: Experiment) -> list[str]:
    return [m.measure for m in e.metrics if not m.column]


def find_counterpart(measure: str, names: Iterable[str]) -> str | None:
    """Return the measure with the same name and cutoff and another parameter.

    >>> find_counterpart("P@10", ["nDCG@10", "P(rel=2)@10"])
    'P(rel=2)@10'
    """
    target = _parse_known(measure)
    for name in names if target else ():
        other = _parse_known(name)
        if other and target and other != target and _has_same_base(other, target):
            return name
    return None


def _has_same_base(first: Measure, second: Measure) -> bool:
    return (first.name, first.cutoff) == (second.name, second.cutoff)


def _parse_known(name: str) -> Measure | None:
    """Return the measure of a name; None if it is a user's own measure that is not defined here."""
    try:
        return parse(name)
    except MeasureError:
        return None


def _compare_parameters(first: str, second: str) -> Reasons:
    """Return the parameters in which two measures of one name differ."""
    first_params, second_params = parse(first).params, parse(second).params
    return [
        ComparabilityReason(
            _PARAMETERS.get(name, name),
            f"{name}={value}",
            f"{name}={second_params[name]}",
            topic="parameter",
            measures=(first, second),
        )
        for name, value in first_params.items()
        if value != second_params[name]
    ]
