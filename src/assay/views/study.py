"""What trials show beyond their mean recall, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from assay.indexes.study.difficulty import Relation
from assay.indexes.study.findings import PERCENTILES, Finding, Findings
from assay.indexes.study.information import DELTAS
from assay.indexes.study.matched import Matched
from assay.stats.intervals import Estimate
from assay.views.sections import WIDTH, Section
from assay.views.text import width

_NONE = "–"
_SHOWN = 10  # numbers of queries in a row
_LEAST = 12  # characters that are left of a label


def sections(findings: Findings) -> list[Section]:
    """The findings, a table for each question."""
    return [
        _spread(findings),
        _curves(findings),
        _matched(findings),
        _severity(findings),
        *_difficulty(findings),
        _failing(findings),
        _information(findings),
        Section("What to know", findings.notes),
    ]


def _spread(found: Findings) -> Section:
    columns: dict[str, Callable[[Finding], str]] = {
        "index": lambda one: one.label,
        "family": lambda one: one.family,
        f"R@{found.k}": lambda one: _estimate(one.recall),
        **{f"p{p}": lambda one, p=p: _decimals(one.percentiles[f"p{p}"], 2) for p in PERCENTILES},  # type: ignore[misc]
        f"below {found.delta:g}": lambda one: _estimate(one.failure, 4),
    }
    if found.delta * found.k > 1:  # else they are the same queries
        columns["no hit"] = lambda one: _value(one.zero_hit)
    rows = [[column(one) for column in columns.values()] for one in found.trials]
    said = [
        "p5 is the recall that at most 5 % of queries stay below; "
        f"below {found.delta:g}, the share of queries with a recall below it"
    ]
    return Section("Behind the mean", said, list(columns), _fitted(list(columns), rows))


def _curves(found: Findings) -> Section:
    head = ["δ", *(f"{delta:g}" for delta in DELTAS)]
    rows = [[one.label, *(_at(one, delta) for delta in DELTAS)] for one in found.trials if one.curve]
    return Section(
        f"Robustness-δ@{found.k}", ["the share of queries whose recall reaches δ"], head, _fitted(head, rows)
    )


def _at(one: Finding, delta: float) -> str:
    """Robustness at δ, which is that of the next recall there is; a curve of single points has no next."""
    for step, share in one.curve:
        if abs(step - delta) < 1e-9 or (step > delta and one.histogram is not None):
            return _value(share)
    return _NONE


def _matched(found: Findings) -> Section:
    both = [f"R@{found.k}", f"below {found.delta:g}"]
    head = ["index", *both, "against", *both, "times as often"]
    labels = {one.key: one.label for one in found.trials}
    rows = [
        [
            labels[pair.first],
            _value(pair.recalls[0]),
            _value(pair.ratio.first),
            labels[pair.second],
            _value(pair.recalls[1]),
            _value(pair.ratio.second),
            _times(pair),
        ]
        for pair in found.matched
    ]
    return Section("At the same mean recall", [], head, _fitted(head, rows, (0, 3)))


def _times(pair: Matched) -> str:
    ratio = pair.ratio.ratio
    if ratio.value is None:
        return _NONE if ratio.low is None else f"at least {ratio.low:.1f}"
    if ratio.low is None and ratio.high is None:
        return f"{ratio.value:.1f}"
    ends = (_NONE if end is None else f"{end:.1f}" for end in (ratio.low, ratio.high))
    return f"{ratio.value:.1f} ({' … '.join(ends)})"


def _severity(found: Findings) -> Section:
    known = [(one.label, one.severity) for one in found.trials if one.severity is not None]
    if not known:
        return Section("")
    edges = known[0][1].edges
    bands = [f"{low + 1}–{high}" for low, high in pairwise(edges)]
    head = ["index", "queries", *bands, f"outside {edges[-1]}", "missing"]
    rows = [
        [
            label,
            f"{bad.failed:,}",
            *(f"{count:,}" for count in bad.bands),
            _estimate(bad.outside),
            f"{bad.missing:,}",
        ]
        for label, bad in known
    ]
    said = f"where in the truth the answers stand of queries with a recall of at most {found.at_most:g}"
    return Section("How bad failures are", [said], head, _fitted(head, rows))


def _difficulty(found: Findings) -> list[Section]:
    known = [one for one in found.trials if one.relations]
    if not known:
        return []
    head = ["index", *(relation.feature for relation in known[0].relations)]
    rows = [[one.label, *(_correlation(r.correlation) for r in one.relations)] for one in known]
    ends = [[one.label, *map(_ends, one.relations)] for one in known]
    share = (
        f"The share below {found.delta:g}, of the quarter of queries with the least of it and with the most"
    )
    return [
        Section("What makes queries hard: rank correlation with recall", [], head, _fitted(head, rows)),
        Section(share, [], head, _fitted(head, ends)),
    ]


def _correlation(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return _NONE
    return f"{found.value:+.2f} ({found.low:.2f} … {found.high:.2f})"


def _ends(relation: Relation) -> str:
    return f"{_value(relation.quartiles[0])} → {_value(relation.quartiles[-1])}"


def _failing(found: Findings) -> Section:
    if found.failing is None:
        return Section("")
    labels = {one.key: one.label for one in found.trials}
    groups = {"on every index": found.failing.everywhere}
    groups |= {f"on each {name} index, and no other": them for name, them in found.failing.families.items()}
    groups |= {f"only on {labels[key]}": them for key, them in found.failing.alone.items()}
    rows = [[name, f"{len(them):,}", _numbers(them)] for name, them in groups.items() if them]
    head = ["where", "queries", "their numbers"]
    return Section(f"Which queries have recall below {found.delta:g}", [], head, _fitted(head, rows))


def _numbers(them: Sequence[int]) -> str:
    return " ".join(map(str, them[:_SHOWN])) + " …" * (len(them) > _SHOWN)


def _information(found: Findings) -> Section:
    rows = [
        [one.measure, _decimals(one.r2, 3), str(one.n)] for one in found.information if one.r2 is not None
    ]
    said = f"r² with R@{found.k} across configurations: what is near 1 is told by the mean already"
    return Section(
        "Which measures tell more than the mean", [said], ["measure", "r²", "configurations"], rows
    )


def _fitted(
    head: Sequence[str], rows: Sequence[Sequence[str]], columns: tuple[int, ...] = (0,)
) -> list[list[str]]:
    """Rows whose labels are cut in the middle, as far as a line of a terminal needs it."""
    widths = [max(map(width, column)) for column in zip(head, *rows, strict=True)]
    room = WIDTH - 2 * (len(widths) - 1) - sum(widths[at] for at in range(len(widths)) if at not in columns)
    most = dict(enumerate(widths))
    for left, at in zip(range(len(columns), 0, -1), sorted(columns, key=widths.__getitem__), strict=True):
        most[at] = max(_LEAST, min(widths[at], room // left))  # what a short label leaves is the others'
        room -= most[at]
    return [[_cut(cell, most[at]) for at, cell in enumerate(row)] for row in rows]


def _cut(label: str, most: int) -> str:
    """A label without its middle, since its end says how it is searched.

    >>> _cut("hnswlib M=16 / ef=40", 14)
    'hnswlib…ef=40'
    """
    if len(label) <= most:
        return label
    last = (most - 1) // 2
    return f"{label[: most - 1 - last].rstrip()}…{label[-last:].lstrip()}"


def _estimate(found: Estimate, digits: int = 3) -> str:
    if found.low is None or found.high is None:
        return _value(found)
    return f"{_value(found)} ({found.low:.{digits}f} … {found.high:.{digits}f})"


def _value(found: Estimate) -> str:
    return _NONE if found.value is None else f"{found.value:.4f}"


def _decimals(value: float | None, digits: int) -> str:
    return _NONE if value is None else f"{value:.{digits}f}"
