"""Whether two results may be compared, and if not, why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.errors import MeasureError
from assay.core.records import Experiment, Metric
from assay.core.trends import Reason
from assay.measures import Measure, parse

_POLICIES = {
    "formulas": "version of the formulas",
    "ties": "tie policy",
    "missing": "what a query missing from the run counts",
}
_PARAMETERS = {"rel": "relevance threshold"}


def reasons(
    a: Experiment, b: Experiment, measure: str | None = None, *, column: str = "", value: str = ""
) -> list[Reason]:
    """Why two results are not comparable: by one measure (of a slice), or by all that both have."""
    made = _judgments(a, b) + _queries(a, b, bool(column))
    for key, what in _POLICIES.items():
        made += _held(what, _text(a.policy.get(key)), _text(b.policy.get(key)))
    if measure is None:
        return made + _all_measures(a, b)
    return made + _one_measure(a, b, measure, (column, value))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _held(what: str, first: str | None, second: str | None) -> list[Reason]:
    """A reason where the two say different things, or one of them nothing."""
    if first is None or second is None:
        who = (
            "neither says"
            if first == second
            else f"the {'first' if first is None else 'second'} does not say"
        )
        return [Reason(what, first, second, f"{what}: cannot be known, {who}", "unknown")]
    if first == second:
        return []
    return [Reason(what, first, second, f"{what}: {_short(first)} and {_short(second)}")]


def _short(value: str) -> str:
    """A value in a sentence; of a digest, its beginning."""
    return value[:8] if len(value) >= 32 and value.isalnum() else value


def _judgments(a: Experiment, b: Experiment) -> list[Reason]:
    return _held("judgments", a.digests.get("qrels"), b.digests.get("qrels"))


def _queries(a: Experiment, b: Experiment, sliced: bool) -> list[Reason]:
    """Another query table: it matters to slices, and where the judgments do not say which queries count."""
    found = _held("queries and their slices", a.digests.get("queries"), b.digests.get("queries"))
    if sliced:
        return found
    agree = not _judgments(a, b)
    return [reason._replace(kind="note") if agree else reason for reason in found if reason.kind == "differs"]


def _one_measure(a: Experiment, b: Experiment, measure: str, part: tuple[str, str]) -> list[Reason]:
    found = [e.metric(measure, *part) for e in (a, b)]
    if found[0] is not None and found[1] is not None:
        return _counts(found[0], found[1])
    if found[0] is None and found[1] is None:
        return [Reason(measure, None, None, f"{measure}: not measured in either", "differs")]
    lacking = a if found[0] is None else b
    other = counterpart(measure, _names(lacking))
    if other is None or part != ("", ""):
        first, second = (None if m is None else measure for m in found)
        where = "first" if lacking is a else "second"
        return [Reason(measure, first, second, f"{measure}: not measured in the {where}")]
    return _parameters(other, measure) if lacking is a else _parameters(measure, other)


def _all_measures(a: Experiment, b: Experiment) -> list[Reason]:
    """What only one of the two measured, and how many queries stand behind what both did."""
    mine, theirs = _names(a), _names(b)
    shared = [name for name in mine if name in theirs]
    only_mine = [name for name in mine if name not in theirs]
    only_theirs = [name for name in theirs if name not in mine]
    made = []
    for name in only_mine:
        other = counterpart(name, only_theirs)
        if other is not None:
            made += _parameters(name, other)
            only_theirs.remove(other)
        else:
            made.append(Reason(name, name, None, f"{name}: not measured in the second", "note"))
    made += [Reason(name, None, name, f"{name}: not measured in the first", "note") for name in only_theirs]
    if not shared and not any(reason.kind == "differs" for reason in made):
        made.append(Reason("measures", None, None, "they have no measure in common"))
    return made + _all_counts(a, b, shared)


def _all_counts(a: Experiment, b: Experiment, shared: Sequence[str]) -> list[Reason]:
    """Another number of queries, said once however many measures have it."""
    made: dict[tuple[str | None, str | None], Reason] = {}
    for name in shared:
        first, second = a.metric(name), b.metric(name)
        for reason in _counts(first, second) if first and second else ():
            made.setdefault(reason[1:3], reason)
    return list(made.values())


def _counts(first: Metric, second: Metric) -> list[Reason]:
    if first.n is None or second.n is None or first.n == second.n:
        return []
    text = f"number of queries of {first.measure}: {first.n:,} and {second.n:,}"
    return [Reason("number of queries", str(first.n), str(second.n), text)]


def _names(e: Experiment) -> list[str]:
    return [m.measure for m in e.metrics if not m.column]


def counterpart(measure: str, names: Iterable[str]) -> str | None:
    """The measure with the same name and cutoff and another parameter.

    >>> counterpart("P@10", ["nDCG@10", "P(rel=2)@10"])
    'P(rel=2)@10'
    """
    wanted = _parsed(measure)
    for name in names if wanted else ():
        found = _parsed(name)
        if (
            found
            and wanted
            and (found.name, found.cutoff) == (wanted.name, wanted.cutoff)
            and found != wanted
        ):
            return name
    return None


def _parsed(name: str) -> Measure | None:
    """The measure of a name; None where it is somebody's own that is not defined here."""
    try:
        return parse(name)
    except MeasureError:
        return None


def _parameters(first: str, second: str) -> list[Reason]:
    """The parameters in which two measures of one name differ."""
    one, two = parse(first), parse(second)
    made = []
    for name, value in one.params.items():
        if value != two.params[name]:
            what = _PARAMETERS.get(name, name)
            ends = (f"{name}={value}", f"{name}={two.params[name]}")
            text = f"{what} of {one.name}: {ends[0]} and {ends[1]} ({first} and {second})"
            made.append(Reason(what, *ends, text))
    return made
