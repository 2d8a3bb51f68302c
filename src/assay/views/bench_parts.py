"""The figures of a benchmark, each with what is seen in it, said from the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from assay.indexes.choice.tradeoff import Plane, tradeoff
from assay.indexes.study.families import FAMILIES, Ratio, failure_ratio, family_of
from assay.indexes.study.findings import Finding, Findings, percentile
from assay.indexes.study.matched import WITHIN, Matched
from assay.indexes.study.observed import Observed, Study
from assay.indexes.trials import robustness_name
from assay.views import bench_rows as rows
from assay.views import figures
from assay.views.drawn import Part
from assay.views.estimates import times, with_interval
from assay.views.marks import COLOURS
from assay.views.sections import Section

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
_PANELS = 12  # of ratios; what is left is in the table
_NEAR = 0.05  # of the target: farther off, two mean recalls are not the same


@dataclass(frozen=True)
class Told:
    """What a report tells of: trials, what was found in them, and the mean recall they are compared at."""

    study: Study
    found: Findings
    recall: float = 0.9

    @cached_property
    def by_key(self) -> dict[str, Observed]:
        """The trials that can be compared."""
        keys = {one.key for one in self.found.trials}
        there = [one for one in self.study.observed if one.trial.key in keys]
        return {one.trial.key: one for one in sorted(there, key=_order)}

    @cached_property
    def pairs(self) -> list[Matched]:
        """Of each two engines the matched pair that is nearest to the target; two families come first."""
        made: dict[str, Matched] = {}
        for pair in sorted(self.found.matched, key=lambda pair: _rank(pair, self.recall)):
            made.setdefault(_engines(self, pair), pair)
        return list(made.values())

    @cached_property
    def level(self) -> float:
        """The mean recall to look at: that of the first matched pair, where it is near the target."""
        found = (sum(recall.value or 0.0 for recall in pair.recalls) / 2 for pair in self.pairs[:1])
        return next((level for level in found if abs(level - self.recall) <= _NEAR), self.recall)

    @cached_property
    def near(self) -> list[Observed]:
        """Of each engine and family the configuration whose mean recall is nearest to that, and near."""
        made: dict[tuple[str, str], Observed] = {}
        for one in sorted(self.by_key.values(), key=self._away):
            if family_of(one.trial) != "exact" and self._away(one) <= _NEAR:
                made.setdefault((one.trial.engine, family_of(one.trial)), one)
        return sorted(made.values(), key=_order)

    def _away(self, one: Observed) -> float:
        return abs((one.recall.value or 0.0) - self.level)

    @cached_property
    def colours(self) -> dict[str, str]:
        """A colour for each engine."""
        engines = dict.fromkeys(one.trial.engine for one in self.by_key.values())
        return {engine: COLOURS[at % len(COLOURS)] for at, engine in enumerate(engines)}

    def finding(self, one: Observed) -> Finding:
        """What was found of a trial."""
        return next(each for each in self.found.trials if each.key == one.trial.key)


def _order(one: Observed) -> tuple[int, str, float]:
    return FAMILIES.index(family_of(one.trial)), one.trial.engine, one.recall.value or 0.0


def in_words(told: Told) -> list[str]:
    """For how many queries each of those near the target finds nothing, and for how many everything."""
    return [
        f"At a mean recall of {spread.mean:.3f}, {one.trial.label} finds nothing for {spread.counts[0]:,} of "
        f"{spread.n:,} queries, and all {spread.k} for {spread.counts[-1]:,}."
        for one, spread in rows.spreads(told.near)
    ]


def figure_parts(told: Told) -> list[Part]:
    """Every part that there is something to draw for."""
    made = (
        _distribution(told),
        _against_recall(told),
        _information(told),
        _ratios(told),
        _severity(told),
        _tradeoff(told),
        _percentiles(told),
        _difficulty(told),
    )
    return [part for part in made if part is not None]


def _distribution(told: Told) -> Part | None:
    title = f"Recall of queries, at a mean recall near {told.recall:g}"
    if not told.near:
        if not told.by_key:
            return None
        none = f"no configuration has a mean recall within {_NEAR:g} of {told.recall:g}"
        return Part(Section(title, [f"{none}, so that none is shown: name another with --recall"]))
    curves = [(one, curve) for one in told.near if (curve := told.finding(one).curve)]
    if not curves:
        return None
    counted = rows.histogram_rows(told.near, told.colours)
    drawn = [figures.histogram(counted)] if counted else []
    drawn.append(figures.curve(rows.curve_rows(curves, told.colours)))
    return Part(Section(title, [*in_words(told), *_ends_of_curves(curves), *_unmatched(told)]), drawn)


def _unmatched(told: Told) -> list[str]:
    """What to keep in mind where those that are drawn do not have the same mean recall."""
    recalls = [one.recall.value or 0.0 for one in told.near]
    apart = max(recalls) - min(recalls)
    return [
        f"Their mean recalls differ by up to {apart:.3f}, and who finds more fails less: measure them at the "
        "same one (assay bench --recall)."
    ] * (apart > WITHIN)


def _ends_of_curves(curves: Sequence[tuple[Observed, rows.Curve]]) -> list[str]:
    """Who is best at the lowest δ and who at the highest."""
    if len(curves) < 2:
        return []
    said = []
    for end in (0, -1):
        (last, worst), *_, (first, best) = sorted(
            ((one, curve[end]) for one, curve in curves), key=lambda pair: pair[1][1].value or 0
        )
        if best[1].value == worst[1].value:
            said.append(f"At δ = {best[0]:g} all serve the same share of queries, {with_interval(best[1])}.")
            continue
        said.append(
            f"At δ = {best[0]:g} the most queries are served by {first.trial.label}, "
            f"{with_interval(best[1])}; the fewest by {last.trial.label}, {with_interval(worst[1])}."
        )
    return said


def _against_recall(told: Told) -> Part | None:
    made = rows.recall_rows(list(told.by_key.values()), told.colours, told.found.k)
    if not made:
        return None
    r2 = {one.measure: one.r2 for one in told.found.information if one.r2 is not None}
    names = (robustness_name(delta, told.found.k) for delta in rows.DELTAS)
    known = ", ".join(f"{r2[name]:.2f} for {name}" for name in names if name in r2)
    said = [f"r² with the mean recall is {known}."] * bool(known)
    head = "Each mark is a configuration; where those of one mean recall lie apart, the mean hides something."
    return Part(Section("Robustness against mean recall", [head, *said]), [figures.against_recall(made)])


def _information(told: Told) -> Part | None:
    known = sorted((one.r2, one.measure, one.n) for one in told.found.information if one.r2 is not None)
    if not known:
        return None
    (least, first, n), (most, last, _) = known[0], known[-1]
    drawn = figures.information([{"measure": name, "r2": r2, "n": of} for r2, name, of in known])
    note = (
        f"Across {n} configurations, the mean recall tells least of {first} (r² {least:.2f}) and most of "
        f"{last} (r² {most:.2f}): what has a low r² is worth a look of its own."
    )
    return Part(Section("Which measures add to the mean recall", [note]), [drawn])


def _ratios(told: Told) -> Part | None:
    every = told.pairs
    found = {pair: _over_deltas(told, pair) for pair in every[:_PANELS]}
    made = rows.ratio_rows({_engines(told, pair): ratios for pair, ratios in found.items()})
    if not made:
        return None
    said = [
        f"{_pair(told, pair)}: {', '.join(map(_times, (ratios[0], ratios[-1])))}."
        for pair, ratios in found.items()
    ]
    note = "How many times as often the first fails as the second, at the same mean recall."
    left = len(every) - len(found)
    said += [f"{left} more pairs of engines are in the table below."] * bool(left)
    return Part(Section("Failures of one index over another", [note, *said]), [figures.ratios(made)])


def _rank(pair: Matched, target: float) -> tuple[bool, float]:
    return pair.families[0] == pair.families[1], abs((pair.recalls[0].value or 0) - target)


def _engines(told: Told, pair: Matched) -> str:
    engines = (told.by_key[key].trial.engine for key in (pair.first, pair.second))
    return " over ".join(f"{engine} ({kind})" for engine, kind in zip(engines, pair.families, strict=True))


def _pair(told: Told, pair: Matched) -> str:
    first, second = (told.by_key[key].trial.label for key in (pair.first, pair.second))
    recalls = " and ".join(f"{recall.value:.3f}" for recall in pair.recalls)
    return f"{first} over {second} (mean recall {recalls})"


def _over_deltas(told: Told, pair: Matched) -> list[Ratio]:
    first, second = told.by_key[pair.first], told.by_key[pair.second]
    every = (failure_ratio(first, second, delta) for delta in RATIOS)
    return [one for one in every if one.first.value is not None and one.second.value is not None]


def _times(found: Ratio) -> str:
    ratio, at = found.ratio, f"at δ = {found.delta:g}"
    counts = f"{_percent(found.first.value)} against {_percent(found.second.value)}"
    if ratio.value is None:
        return f"more than {times(ratio.low)} times {at} ({counts})" if ratio.low else f"neither fails {at}"
    ends = ["–" if end is None else times(end) for end in (ratio.low, ratio.high)]
    known = f", {' … '.join(ends)}" if (ratio.low, ratio.high) != (None, None) else ""
    return f"{times(ratio.value)} times {at} ({counts}{known})"


def _severity(told: Told) -> Part | None:
    known = [(one, of_it) for one in told.near if (of_it := told.finding(one).severity) is not None]
    failed = [(one, of_it) for one, of_it in known if of_it.outside.value is not None]
    if not failed:
        return None
    said = [
        f"{one.trial.label}: of what the {of_it.failed:,} queries with recall ≤ {told.found.at_most:g} were "
        f"given, {with_interval(of_it.outside)} lies beyond the {of_it.edges[-1]} nearest."
        for one, of_it in failed
    ]
    none = [one.trial.label for one, of_it in known if not of_it.failed]
    said += [f"No such query: {', '.join(none)}."] * bool(none)
    said.append("The line is the interval of the place where the last band begins.")
    return Part(Section("How bad the failures are", said), [figures.severity(rows.severity_rows(failed))])


def _tradeoff(told: Told) -> Part | None:
    there = list(told.by_key.values())
    planes = [p for p in tradeoff(there, told.found.delta, {"recall": told.recall}) if p.points]
    if not planes:
        return None
    said = [_on_front(plane, len(there)) for plane in planes]
    drawn = figures.planes(rows.plane_rows(planes, there, told.colours))
    return Part(Section("The trade-off, with one of three held at a floor", said), [drawn])


def _on_front(plane: Plane, of: int) -> str:
    best = _listed([point.label for point in plane.points if point.on_front])
    left = f"With {rows.floor_words(plane)}, {len(plane.points)} of {of} configurations are left"
    return f"{left}; none is better in both of the others than {best}."


def _percentiles(told: Told) -> Part | None:
    made = rows.percentile_rows(told.near, told.colours)
    if not made:
        return None
    worst = [
        f"{one.trial.label} {with_interval(percentile(spread, 0.01), 2, 2)}"
        for one, spread in rows.spreads(told.near)
        if spread.n >= 100
    ]
    note = "The recall that at most so many percent of queries stay below"
    said = f"{note}; at 1 %: {', '.join(worst)}." if worst else f"{note}."
    return Part(Section("Percentiles of recall", [said]), [figures.percentiles(made)])


def _difficulty(told: Told) -> Part | None:
    found = [(one, told.finding(one).relations) for one in told.near if told.finding(one).relations]
    made = rows.difficulty_rows(found, told.colours)
    if not made:
        return None
    relations = [
        (abs(r.correlation.value), r, one) for one, each in found for r in each if r.correlation.value
    ]
    note = (
        f"The share of queries whose recall is below {told.found.delta:g}, in each quarter of them: the "
        "first has the least of a measure, the last the most."
    )
    said = []
    if relations:
        _, strongest, one = max(relations, key=lambda each: each[0])
        said.append(
            f"Recall goes most with {rows.FEATURES[strongest.feature]}: rank correlation "
            f"{with_interval(strongest.correlation)} for {one.trial.label}."
        )
    return Part(Section("Which queries are hard", [note, *said]), [figures.difficulty(made)])


def _listed(labels: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(labels[:-1]), labels[-1])))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2%}"
