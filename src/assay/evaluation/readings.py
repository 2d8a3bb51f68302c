"""What differences mean, in words, each reading with the numbers it rests on.

A reading is one function of what was compared; it gives None where it does not hold. `up` and `down`
(better and worse) are shown after correction; `same` is shown to lie within the margin; `open` is
neither, and no reading takes it for `same` without saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.measures import Measure, parse
from assay.stats.comparison import Comparison, apart
from assay.stats.power import size

Ends = tuple[float | None, float | None]


class Reading(NamedTuple):
    """What a change means."""

    key: str
    candidate: str
    text: str
    evidence: tuple[Comparison, ...]


class Compared:
    """The comparisons of one candidate, found by what their measures look at."""

    def __init__(
        self, rows: Sequence[Comparison], margin: float, ranges: Mapping[str, tuple[Ends, Ends]]
    ) -> None:
        self.rows, self.margin, self.ranges = rows, margin, ranges
        self.whole = [row for row in rows if not row.column]
        self.measure = {row.measure: parse(row.measure) for row in rows}
        self.first = self.whole[0]

    def those(self, looks_at: Callable[[Measure], bool]) -> list[Comparison]:
        """Over all queries, the measures that look at something."""
        return [row for row in self.whole if looks_at(self.measure[row.measure])]

    def state(self, row: Comparison) -> str:
        """Same, up, down or open."""
        return row.state(self.margin)

    def part(self, row: Comparison, column: str, value: str) -> Comparison | None:
        """The comparison of a slice by the measure of a row."""
        wanted = (row.measure, column, value)
        return next((r for r in self.rows if (r.measure, r.column, r.value) == wanted), None)

    def depth(self, row: Comparison) -> int | None:
        """How far down a row's measure looks."""
        return self.measure[row.measure].depth

    def traded(
        self, key: str, gained: Callable[[Measure], bool], other: Callable[[Measure], bool], text: str
    ) -> Reading | None:
        """One side rose while the other stayed, or fell."""
        others = self.those(other)
        if any(self.state(row) == "up" for row in others):
            return None
        for up in self.those(gained):
            for row in others if self.state(up) == "up" else ():
                if row.moved() == "down" and self.state(row) != "same":
                    return self.reading(key, text.format("worse"), up, row)
                if self.quiet(row):
                    return self.reading(key, text.format(self.still(row)), up, row)
        return None

    def reading(self, key: str, text: str, *evidence: Comparison) -> Reading:
        """A reading that cites its numbers."""
        cited = "; ".join(map(cite, evidence))
        return Reading(key, self.first.candidate_name, f"{text}: {cited}.", evidence)

    def quiet(self, row: Comparison) -> bool:
        """Whether a measure stayed within the margin, or shows no sign of a move even before correction."""
        alpha = 1 - row.difference.level
        return self.state(row) == "same" or (self.state(row) == "open" and (row.p is None or row.p > alpha))

    def still(self, row: Comparison) -> str:
        """How to say that a measure is not shown to have moved."""
        return f"unchanged (within ±{self.margin:g})" if self.state(row) == "same" else "not shown to move"


def coverage(m: Measure) -> bool:
    """Measures of how much of what is relevant was found."""
    return m.name in ("R", "RCap")


def first_hit(m: Measure) -> bool:
    """Measures of the first relevant document."""
    return m.name == "RR" or (m.cutoff == 1 and m.name in ("P", "Success", "nDCG"))


def precision(m: Measure) -> bool:
    """Measures of how much of what was found is relevant."""
    return m.name == "P" and m.cutoff != 1


def tail(m: Measure) -> bool:
    """Measures of the queries that fail."""
    low = m.name == "Robustness" and float(m.params["delta"]) <= 0.5
    return low or m.name == "ZeroHit" or (m.name == "Quantile" and float(m.params["q"]) < 0.5)


def complete(m: Measure) -> bool:
    """Measures of the queries for which nearly all was found."""
    return m.name == "Robustness" and float(m.params["delta"]) > 0.5


def cite(row: Comparison) -> str:
    """A comparison as it is cited: R@10 +0.0397 (0.0121 … 0.0673), p 0.005, n 280."""
    e = row.difference
    where = f" in {row.slice}" if row.column else ""
    if e.value is None:
        return f"{row.measure}{where} undefined, n {e.n}"
    ends = "" if e.low is None or e.high is None else f" ({signed(e.low)} … {signed(e.high)})"
    p = "" if row.corrected is None else f", {shown_p(row.corrected)}"
    return f"{row.measure}{where} {signed(e.value)}{ends}{p}, n {e.n:,}"


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.02), signed(-0.1), signed(0.0)
    ('+0.0200', '−0.1000', '0.0000')
    """
    text = f"{abs(value):.4f}"
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


def shown_p(p: float) -> str:
    """p as it is cited.

    >>> shown_p(0.0312), shown_p(0.00001)
    ('p 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def headline(c: Compared) -> Reading | None:
    """Better, worse or the same by the first measure; or why that is open."""
    row, state = c.first, c.state(c.first)
    if state == "open":
        return _open(c, row)
    alike = row.wins == row.losses == 0
    key, text = {
        "up": ("better", f"{row.candidate_name} is better than {row.baseline_name} by {row.measure}"),
        "down": ("worse", f"{row.candidate_name} is worse than {row.baseline_name} by {row.measure}"),
        "same": ("same", f"no difference that matters (none beyond ±{c.margin:g})"),
    }[state]
    return c.reading(key, "every query scores the same" if alike else text, row)


def torn(c: Compared) -> Reading | None:
    """Measures that moved against the first one."""
    against = {"up": "down", "down": "up"}.get(c.state(c.first))
    others = [row for row in c.whole if c.state(row) == against]
    if not others:
        return None
    word = "worse" if against == "down" else "better"
    text = f"{word} by {', '.join(row.measure for row in others)}, against {c.first.measure}"
    return c.reading("torn", text, c.first, *others)


def _open(c: Compared, row: Comparison) -> Reading:
    """Too few queries to tell, or enough of them and nothing shown all the same."""
    paired = row.wins is not None
    made = size(row.difference.n, row.deviation or 0.0, c.margin, 1 - row.difference.level)
    few = row.p is None if row.deviation is None else made.detectable is None or made.detectable > c.margin
    if (paired and few) or row.difference.n < 2:
        return c.reading("too few queries", f"too few queries to tell ({made.words})", row)
    return c.reading("open", "neither a difference that matters nor its absence is shown", row)


def more_complete(c: Compared) -> Reading | None:
    """Coverage rose while the first hit stayed, or fell."""
    return c.traded("more complete", coverage, first_hit, "more complete, but the first hit is {}")


def first_hit_better(c: Compared) -> Reading | None:
    """The first hit rose while coverage stayed, or fell."""
    return c.traded("first hit better", first_hit, coverage, "the first hit is better, but coverage is {}")


def noise(c: Compared) -> Reading | None:
    """Recall rose and precision fell."""
    for found in c.those(coverage):
        for kept in c.those(precision):
            if c.state(found) == "up" and c.state(kept) == "down":
                text = "recall is up and precision is down: more is found, and with it more noise"
                return c.reading("noise", text, found, kept)
    return None


def tail_moved(c: Compared) -> Reading | None:
    """The average stands while the queries that fail got more, or fewer."""
    for mean in c.those(coverage):
        moved = [row for row in c.those(tail) if row.moved() and c.depth(row) == c.depth(mean)]
        for way, word in (("down", "worse"), ("up", "better")):
            rows = [row for row in moved if row.moved() == way]
            if rows and c.quiet(mean):
                others = [row for row in moved if row.moved() != way]
                others += [r for r in c.those(complete) if r.moved() not in (None, way)]
                turn = (
                    f" (while {' and '.join(r.measure for r in others)} moved the other way)"
                    if others
                    else ""
                )
                little = (
                    f" (by less than {c.margin:g})" if all(c.state(row) == "same" for row in rows) else ""
                )
                text = (
                    f"mean recall ({mean.measure}) is {c.still(mean)}, but the tail is {word}{little}{turn}"
                )
                return c.reading(f"tail {word}", text, mean, *rows, *others)
    return None


def head_over_tail(c: Compared) -> Reading | None:
    """Frequent queries got better and rare ones worse, more than chance would part them."""
    pairs = [(row, c.part(row, "frequency", "head"), c.part(row, "frequency", "tail")) for row in c.whole]
    for _, head, rare in pairs:
        if head is None or rare is None or (head.improvement or 0) <= 0 or (rare.improvement or 0) >= 0:
            continue
        p = apart(head.spread, rare.spread)
        p = None if p is None else min(1.0, p * len(pairs))  # corrected for the measures it is asked of
        if p is not None and p <= 1 - head.difference.level:
            text = f"head up and tail down (they part by {shown_p(p)}): over-fitting to frequent queries"
            return c.reading("head over tail", text, head, rare)
    return None


def slices_worse(c: Compared) -> Reading | None:
    """Some slices got worse although the whole did not."""
    fine = {row.measure: row for row in c.whole if c.state(row) != "down"}
    worse = [row for row in c.rows if row.column and c.state(row) == "down" and row.measure in fine]
    if not worse:
        return None
    names = ", ".join(dict.fromkeys(row.slice for row in worse))
    wholes = [fine[measure] for measure in dict.fromkeys(row.measure for row in worse)]
    return c.reading("slices worse", f"worse for {names}, although not over all queries", *wholes, *worse)


def loss_in_slices(c: Compared) -> Reading | None:
    """The whole got worse, and all of it in some slices of a column."""
    for row in c.whole if len(c.rows) > len(c.whole) else ():
        parts = [part for part in c.rows if part.column and part.measure == row.measure]
        for column in dict.fromkeys(part.column for part in parts) if row.moved() == "down" else ():
            inside = [part for part in parts if part.column == column]
            worse = [part for part in inside if part.moved() == "down"]
            others = [part for part in inside if part not in worse]
            if worse and others and all((part.improvement or 0) >= 0 for part in others):
                names = ", ".join(part.slice for part in worse)
                text = f"the loss is all in {names}; elsewhere {row.measure} did not fall"
                return c.reading("loss in slices", text, row, *worse)
    return None


def within_unjudged(c: Compared) -> Reading | None:
    """A difference that judging what nobody judged could turn round."""
    moved = [row for row in c.whole if c.state(row) in ("up", "down")]
    rows = [row for row in moved if _could_turn(row, c.ranges.get(row.measure))]
    if not rows:
        return None
    row = rows[0]
    before, after = (f"{low:.4f} … {high:.4f}" for low, high in c.ranges[row.measure])
    text = (
        f"the score moves inside the unjudged range ({row.measure}: {row.baseline_name} {before}, "
        f"{row.candidate_name} {after}): judge what is unjudged at the top first"
    )
    return c.reading("inside the unjudged range", text, *rows)


def _could_turn(row: Comparison, ends: tuple[Ends, Ends] | None) -> bool:
    """Whether the system that looks worse would not, were all its unjudged documents relevant."""
    if ends is None:
        return False
    before, after = ends
    loser, winner = (before, after) if row.moved() == "up" else (after, before)
    if loser[1] is None or winner[0] is None:
        return False
    return loser[1] <= winner[0] if row.lower_is_better else loser[1] >= winner[0]


READINGS: tuple[Callable[[Compared], Reading | None], ...] = (
    headline,
    torn,
    more_complete,
    first_hit_better,
    noise,
    tail_moved,
    head_over_tail,
    slices_worse,
    loss_in_slices,
    within_unjudged,
)


def read_out(
    rows: Sequence[Comparison], margin: float, ranges: Mapping[str, tuple[Ends, Ends]]
) -> list[Reading]:
    """Everything that the comparisons of one candidate say."""
    compared = Compared(rows, margin, ranges)
    return [made for reading in READINGS if (made := reading(compared))]
