"""What differences mean: readings, each with the comparisons it rests on.

A reading is one function of the comparisons of a candidate; it returns None if it does not apply. The
states `better` and `worse` are shown after correction; `same` is shown to lie within the
margin; `open` is neither, and no reading takes it for `same` without saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.evaluation.evaluate import UnjudgedRange
from assay.measures import Measure, parse
from assay.stats.comparison import Comparison, p_between_spreads
from assay.stats.power import BenchmarkSize, assess_size

MeasureFilter = Callable[[Measure], bool]


class Reading(NamedTuple):
    """What a change means, as facts; `views.readings` makes the sentence."""

    key: str
    candidate: str
    margin: float
    evidence: tuple[Comparison, ...]
    size: BenchmarkSize | None = None  # of the queries, if they are too few
    p: float | None = None  # of the difference between head and tail
    ranges: tuple[UnjudgedRange, UnjudgedRange] | None = None  # of the baseline and the candidate

    @property
    def is_open(self) -> bool:
        """Whether it says that nothing is shown."""
        return self.key in ("not shown after correction", "too few queries", "open")


class CandidateComparisons:
    """The comparisons of one candidate, selected by what their measures are about."""

    def __init__(
        self,
        rows: Sequence[Comparison],
        margin: float,
        ranges: Mapping[str, tuple[UnjudgedRange, UnjudgedRange]],
    ) -> None:
        self.rows, self.margin, self.ranges = rows, margin, ranges
        self.overall = [row for row in rows if not row.column]
        self.measures = {row.measure: parse(row.measure) for row in rows}
        self.first = self.overall[0]

    def select(self, is_wanted: MeasureFilter) -> list[Comparison]:
        """Return the comparisons over all queries by the measures that pass a filter."""
        return [row for row in self.overall if is_wanted(self.measures[row.measure])]

    def state(self, row: Comparison) -> str:
        """Return same, better, worse or open."""
        return row.state(self.margin)

    def find_slice(self, row: Comparison, column: str, value: str) -> Comparison | None:
        """Return the comparison of a slice by the measure of a row."""
        key = (row.measure, column, value)
        return next((r for r in self.rows if (r.measure, r.column, r.value) == key), None)

    def depth(self, row: Comparison) -> int | None:
        """Return the rank at which the measure of a row stops."""
        return self.measures[row.measure].depth

    def find_trade_off(self, key: str, is_gaining: MeasureFilter, is_other: MeasureFilter) -> Reading | None:
        """Return a reading if one group of measures rose while the other stayed the same or fell."""
        others = self.select(is_other)
        if any(self.state(row) == "better" for row in others):
            return None
        for gain in self.select(is_gaining):
            for row in others if self.state(gain) == "better" else ():
                fell = row.direction() == "worse" and self.state(row) != "same"
                if fell or self.is_unmoved(row):
                    return self.reading(key, gain, row)
        return None

    def reading(self, key: str, *evidence: Comparison) -> Reading:
        """Return a reading of this candidate with its evidence."""
        return Reading(key, self.first.candidate_name, self.margin, evidence)

    def is_unmoved(self, row: Comparison) -> bool:
        """Whether a measure stayed within the margin, or shows no sign of a move even before correction."""
        alpha = 1 - row.difference.level
        return self.state(row) == "same" or (self.state(row) == "open" and (row.p is None or row.p > alpha))


def is_coverage(m: Measure) -> bool:
    """Whether a measure is about how much of what is relevant was found."""
    return m.name in ("R", "RCap")


def is_first_hit(m: Measure) -> bool:
    """Whether a measure is about the first relevant document."""
    return m.name == "RR" or (m.cutoff == 1 and m.name in ("P", "Success", "nDCG"))


def is_precision(m: Measure) -> bool:
    """Whether a measure is about how much of what was found is relevant."""
    return m.name == "P" and m.cutoff != 1


def is_tail(m: Measure) -> bool:
    """Whether a measure is about the queries that fail."""
    is_low = m.name == "Robustness" and float(m.params["delta"]) <= 0.5
    return is_low or m.name == "ZeroHit" or (m.name == "Quantile" and float(m.params["q"]) < 0.5)


def is_completeness(m: Measure) -> bool:
    """Whether a measure is about the queries for which nearly everything was found."""
    return m.name == "Robustness" and float(m.params["delta"]) > 0.5


def read_headline(c: CandidateComparisons) -> Reading | None:
    """Better, worse or the same by the first measure; or why that is open."""
    state = c.state(c.first)
    if state == "open":
        return _read_open(c, c.first)
    return c.reading(state, c.first)


def _read_open(c: CandidateComparisons, row: Comparison) -> Reading:
    """Not shown after correction, too few queries to tell, or enough of them and still nothing shown."""
    if row.is_lost_to_correction:
        return c.reading("not shown after correction", row)
    is_paired = row.wins is not None
    size = assess_size(row.difference.n, row.deviation or 0.0, c.margin, 1 - row.difference.level)
    smallest = size.detectable_difference
    is_small = row.p is None if row.deviation is None else smallest is None or smallest > c.margin
    if (is_paired and is_small) or row.difference.n < 2:
        return c.reading("too few queries", row)._replace(size=size)
    return c.reading("open", row)


def read_conflict(c: CandidateComparisons) -> Reading | None:
    """Measures that moved against the first one."""
    opposite = {"better": "worse", "worse": "better"}.get(c.state(c.first))
    others = [row for row in c.overall if c.state(row) == opposite]
    return c.reading("torn", c.first, *others) if others else None


def read_more_complete(c: CandidateComparisons) -> Reading | None:
    """Coverage rose while the first hit stayed the same or fell."""
    return c.find_trade_off("more complete", is_coverage, is_first_hit)


def read_first_hit_better(c: CandidateComparisons) -> Reading | None:
    """The first hit rose while coverage stayed the same or fell."""
    return c.find_trade_off("first hit better", is_first_hit, is_coverage)


def read_noise(c: CandidateComparisons) -> Reading | None:
    """Recall rose and precision fell."""
    for recall in c.select(is_coverage):
        for precision in c.select(is_precision):
            if c.state(recall) == "better" and c.state(precision) == "worse":
                return c.reading("noise", recall, precision)
    return None


def read_tail(c: CandidateComparisons) -> Reading | None:
    """The average stayed the same while more, or fewer, queries fail."""
    for mean in c.select(is_coverage):
        tails = [row for row in c.select(is_tail) if row.direction() and c.depth(row) == c.depth(mean)]
        for direction, key in (("worse", "tail worse"), ("better", "tail better")):
            rows = [row for row in tails if row.direction() == direction]
            if rows and c.is_unmoved(mean):
                others = [row for row in tails if row.direction() != direction]
                others += [r for r in c.select(is_completeness) if r.direction() not in (None, direction)]
                return c.reading(key, mean, *rows, *others)
    return None


def read_head_over_tail(c: CandidateComparisons) -> Reading | None:
    """Frequent queries got better and rare ones worse, by more than chance explains."""
    pairs = [
        (c.find_slice(row, "frequency", "head"), c.find_slice(row, "frequency", "tail")) for row in c.overall
    ]
    for head, rare in pairs:
        if head is None or rare is None or (head.improvement or 0) <= 0 or (rare.improvement or 0) >= 0:
            continue
        p = p_between_spreads(head.spread, rare.spread)
        p = None if p is None else min(1.0, p * len(pairs))  # corrected for the number of measures
        if p is not None and p <= 1 - head.difference.level:
            return c.reading("head over tail", head, rare)._replace(p=p)
    return None


def read_slices_worse(c: CandidateComparisons) -> Reading | None:
    """Some slices got worse although all queries together did not."""
    overall = {row.measure: row for row in c.overall if c.state(row) != "worse"}
    worse = [row for row in c.rows if row.column and c.state(row) == "worse" and row.measure in overall]
    if not worse:
        return None
    rows = [overall[measure] for measure in dict.fromkeys(row.measure for row in worse)]
    return c.reading("slices worse", *rows, *worse)


def read_loss_in_slices(c: CandidateComparisons) -> Reading | None:
    """All queries together got worse, and only in some slices of a column."""
    for row in c.overall if len(c.rows) > len(c.overall) else ():
        parts = [part for part in c.rows if part.column and part.measure == row.measure]
        for column in dict.fromkeys(part.column for part in parts) if row.direction() == "worse" else ():
            inside = [part for part in parts if part.column == column]
            worse = [part for part in inside if part.direction() == "worse"]
            others = [part for part in inside if part not in worse]
            if worse and others and all((part.improvement or 0) >= 0 for part in others):
                return c.reading("loss in slices", row, *worse)
    return None


def read_unjudged_range(c: CandidateComparisons) -> Reading | None:
    """A difference that could be reversed by judging the unjudged documents."""
    rows = [
        row
        for row in c.overall
        if c.state(row) in ("better", "worse") and _could_reverse(row, c.ranges.get(row.measure))
    ]
    if not rows:
        return None
    return c.reading("inside the unjudged range", *rows)._replace(ranges=c.ranges[rows[0].measure])


def _could_reverse(row: Comparison, ranges: tuple[UnjudgedRange, UnjudgedRange] | None) -> bool:
    """Whether the system that looks worse would not if all its unjudged documents were relevant."""
    if ranges is None:
        return False
    before, after = ranges
    loser, winner = (before, after) if row.direction() == "better" else (after, before)
    if loser[1] is None or winner[0] is None:
        return False
    return loser[1] <= winner[0] if row.lower_is_better else loser[1] >= winner[0]


READERS: tuple[Callable[[CandidateComparisons], Reading | None], ...] = (
    read_headline,
    read_conflict,
    read_more_complete,
    read_first_hit_better,
    read_noise,
    read_tail,
    read_head_over_tail,
    read_slices_worse,
    read_loss_in_slices,
    read_unjudged_range,
)


def interpret(
    rows: Sequence[Comparison],
    margin: float,
    ranges: Mapping[str, tuple[UnjudgedRange, UnjudgedRange]],
) -> list[Reading]:
    """Return every reading that applies to the comparisons of one candidate."""
    comparisons = CandidateComparisons(rows, margin, ranges)
    return [reading for reader in READERS if (reading := reader(comparisons))]
