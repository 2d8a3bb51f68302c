"""What trials show beyond their mean recall, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from assay.indexes.study.findings import PERCENTILES, Finding, Findings
from assay.indexes.study.information import DELTAS
from assay.indexes.study.matched import Matched
from assay.stats.intervals import Estimate
from assay.views.estimates import p_value, times, with_interval
from assay.views.fitting import NONE, fitted, known
from assay.views.sections import Section

_SHOWN = 10  # numbers of queries in a row


def sections(findings: Findings, style: str = "table") -> list[Section]:
    """The findings, a table for each question with an answer; names are cut in a terminal alone."""
    made = [known(*one) for one in _tables(findings)]
    if style == "table":
        made = list(map(fitted, made))
    return [*(one for one in made if one.rows), Section("What to know", findings.notes)]


def _tables(found: Findings) -> list[tuple[Section, int]]:
    """Every table, and how many of its columns say what a row is of."""
    return [
        (_spread(found), 2),
        (_curves(found), 1),
        (_matched(found), 2),
        (_severity(found), 1),
        (_correlations(found), 1),
        (_quarters(found), 2),
        (_failing(found), 1),
        (_information(found), 1),
    ]


def _spread(found: Findings) -> Section:
    columns: dict[str, Callable[[Finding], str]] = {
        "index": lambda one: one.label,
        "family": lambda one: one.family,
        f"R@{found.k}": lambda one: with_interval(one.recall),
        **{f"p{p}": lambda one, p=p: with_interval(one.percentiles[f"p{p}"], 2, 2) for p in PERCENTILES},  # type: ignore[misc]
        f"below {found.delta:g}": lambda one: with_interval(one.failure, ends=4),
    }
    if found.delta * found.k > 1:  # else they are the same queries
        columns["no hit"] = lambda one: with_interval(one.zero_hit, ends=4)
    rows = [[column(one) for column in columns.values()] for one in found.trials]
    return Section("Behind the mean", _said_of_spread(found), list(columns), rows)


def _said_of_spread(found: Findings) -> list[str]:
    failing = f"below {found.delta:g} is the share of queries with a recall below it"
    said = [failing] if any(one.failure.value is not None for one in found.trials) else []
    if any(one.percentiles["p5"].n for one in found.trials):
        said.insert(0, "p5 is the recall that at most 5 % of queries stay below")
    asked = sorted({one.failure.n for one in found.trials if one.failure.n})
    of = f"{asked[0]:,}" + (f" to {asked[-1]:,}" if len(asked) > 1 else "") if asked else ""
    return [
        *said,
        *[f"intervals are of {100 * found.level:g} %, over {of} queries"] * bool(of),
    ]


def _curves(found: Findings) -> Section:
    there = sorted({step for one in found.trials for step, _ in one.curve})
    steps = there if len(there) <= len(DELTAS) else list(DELTAS)
    rows = [[one.label, *(_at(one, step) for step in steps)] for one in found.trials if one.curve]
    said = ["the share of queries whose recall reaches δ"]
    return Section(f"Robustness-δ@{found.k}", said, ["δ", *(f"{step:.3g}" for step in steps)], rows)


def _at(one: Finding, delta: float) -> str:
    """Robustness at δ, which is that of the next recall there is; a curve of single points has no next."""
    for step, share in one.curve:
        if abs(step - delta) < 1e-9 or (step > delta and one.histogram is not None):
            return with_interval(share)
    return NONE


def _matched(found: Findings) -> Section:
    """A pair on two lines; its ratio stands on the first."""
    head = ["index", "family", f"R@{found.k}", f"below {found.delta:g}", "times as often", "p"]
    labels = {one.key: one.label for one in found.trials}
    rows = []
    for pair in found.matched:
        first, second = map(with_interval, pair.recalls)
        fails, against = (with_interval(rate, ends=4) for rate in (pair.ratio.first, pair.ratio.second))
        rows.append([labels[pair.first], pair.families[0], first, fails, _times(pair), p_value(pair.ratio.p)])
        rows.append([f"against {labels[pair.second]}", pair.families[1], second, against, "", ""])
    said = [
        "how many times as often the first fails as the one it is held against; below 1, less often",
        "p by McNemar: whether they fail equally often",
    ]
    return Section("At the same mean recall", said, head, rows)


def _times(pair: Matched) -> str:
    ratio = pair.ratio.ratio
    if ratio.value is None:
        return NONE if ratio.low is None else f"at least {times(ratio.low)}"
    if ratio.low is None and ratio.high is None:
        return times(ratio.value)
    ends = (NONE if end is None else times(end) for end in (ratio.low, ratio.high))
    return f"{times(ratio.value)} ({' … '.join(ends)})"


def _severity(found: Findings) -> Section:
    known_of = [(one.label, one.severity) for one in found.trials if one.severity is not None]
    if not known_of:
        return Section("")
    edges = known_of[0][1].edges
    bands = [f"{low + 1}–{high}" for low, high in pairwise(edges)]
    head = ["index", "queries", *bands, f"outside {edges[-1]}", "missing"]
    rows = [
        [
            label,
            f"{bad.failed:,}",
            *(f"{count:,}" for count in bad.bands),
            with_interval(bad.outside),
            f"{bad.missing:,}",
        ]
        for label, bad in known_of
    ]
    said = f"where in the truth the answers stand of queries with a recall of at most {found.at_most:g}"
    return Section("How bad failures are", [said], head, rows)


def _correlations(found: Findings) -> Section:
    known_of = [one for one in found.trials if one.relations]
    head = ["index", *(relation.feature for one in known_of[:1] for relation in one.relations)]
    rows = [[one.label, *(_correlation(r.correlation) for r in one.relations)] for one in known_of]
    return Section("What makes queries hard: rank correlation with recall", [], head, rows)


def _correlation(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return NONE
    return f"{found.value:+.2f} ({found.low:.2f} … {found.high:.2f})"


def _quarters(found: Findings) -> Section:
    """The failure rate at both ends of each feature, of the configurations on which any query fails."""
    rows = [
        [one.label, relation.feature, *(with_interval(relation.quartiles[end], ends=4) for end in (0, -1))]
        for one in found.trials
        if one.failure.value
        for relation in one.relations
    ]
    share = (
        f"The share below {found.delta:g}, of the quarter of queries with the least of it and with the most"
    )
    return Section(share, [], ["index", "of what", "with the least", "with the most"], rows)


def _failing(found: Findings) -> Section:
    if found.failing is None:
        return Section("")
    labels = {one.key: one.label for one in found.trials}
    groups = {"on every index": found.failing.everywhere}
    groups |= {f"on each {name} index, and no other": them for name, them in found.failing.families.items()}
    groups |= {f"on some {name} indexes, and no other": them for name, them in found.failing.some.items()}
    groups |= {f"only on {labels[key]}": them for key, them in found.failing.alone.items()}
    groups["on some of several families"] = found.failing.mixed
    rows = [[name, f"{len(them):,}", _numbers(them)] for name, them in groups.items() if them]
    head = ["where", "queries", "their numbers"]
    return Section(f"Which queries have recall below {found.delta:g}", [], head, rows)


def _numbers(them: Sequence[int]) -> str:
    return " ".join(map(str, them[:_SHOWN])) + " …" * (len(them) > _SHOWN)


def _information(found: Findings) -> Section:
    rows = [[one.measure, f"{one.r2:.3f}", str(one.n)] for one in found.information if one.r2 is not None]
    said = f"r² with R@{found.k} across configurations: what is near 1 is told by the mean already"
    return Section(
        "Which measures tell more than the mean", [said], ["measure", "r²", "configurations"], rows
    )
