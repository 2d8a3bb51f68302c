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
    """Better, worse or the same by the first measure; nothing where that is open."""
    row = c.first
    words = {
        "up": f"{row.candidate_name} is better than {row.baseline_name}",
        "down": f"{row.candidate_name} is worse than {row.baseline_name}",
        "same": f"no difference that matters (none beyond ±{c.margin:g})",
    }
    state = c.state(row)
    key = {"up": "better", "down": "worse", "same": "same"}.get(state)
    return c.reading(key, words[state], row) if key else None


def more_complete(c: Compared) -> Reading | None:
    """Coverage rose while the first hit stayed."""
    for found in c.those(coverage):
        for first in c.those(first_hit):
            if c.state(found) == "up" and c.quiet(first):
                text = f"more complete, but the first hit is {c.still(first)}"
                return c.reading("more complete", text, found, first)
    return None


def first_hit_better(c: Compared) -> Reading | None:
    """The first hit rose while coverage stayed."""
    for first in c.those(first_hit):
        for found in c.those(coverage):
            if c.state(first) == "up" and c.quiet(found):
                text = f"the first hit is better, but coverage is {c.still(found)}"
                return c.reading("first hit better", text, first, found)
    return None


def noise(c: Compared) -> Reading | None:
    """Recall rose and precision fell."""
    for found in c.those(coverage):
        for kept in c.those(precision):
            if c.state(found) == "up" and kept.moved() == "down":
                text = "recall is up and precision is down: what was added is mostly noise"
                return c.reading("noise", text, found, kept)
    return None


def tail_moved(c: Compared) -> Reading | None:
    """The average stands while the queries that fail got more, or fewer."""
    for mean in c.those(coverage):
        moved = [row for row in c.those(tail) if row.moved()]
        for way, word in (("down", "worse"), ("up", "better")):
            rows = [row for row in moved if row.moved() == way]
            if rows and c.quiet(mean):
                others = [row for row in c.those(complete) if row.moved() not in (None, way)]
                turn = " (while the queries that were nearly complete moved the other way)" if others else ""
                text = f"mean recall is {c.still(mean)}, but the tail is {word}{turn}"
                return c.reading(f"tail {word}", text, mean, *rows, *others)
    return None


def head_over_tail(c: Compared) -> Reading | None:
    """Frequent queries got better and rare ones worse, more than chance would part them."""
    for row in c.whole:
        parts = {p.value: p for p in c.rows if p.column == "frequency" and p.measure == row.measure}
        if not {"head", "tail"} <= parts.keys():
            continue
        head, rare = parts["head"], parts["tail"]
        if (head.improvement or 0) <= 0 or (rare.improvement or 0) >= 0:
            continue
        p = apart(head.spread, rare.spread)
        if p is not None and p <= 1 - head.difference.level:
            text = f"head up and tail down (they part by {shown_p(p)}): over-fitting to frequent queries"
            return c.reading("head over tail", text, head, rare)
    return None


def slices_worse(c: Compared) -> Reading | None:
    """Some slices got worse although the whole did not."""
    for row in c.whole:
        worse = [p for p in c.rows if p.column and p.measure == row.measure and p.moved() == "down"]
        if worse and row.moved() != "down":
            names = ", ".join(p.slice for p in worse)
            text = f"worse for {names}, although not over all queries"
            return c.reading("slices worse", text, row, *worse)
    return None


def too_few(c: Compared) -> Reading | None:
    """The first measure is open because the queries cannot tell a difference that matters."""
    row = c.first
    if c.state(row) != "open":
        return None
    made = size(row.difference.n, row.deviation or 0.0, c.margin, 1 - row.difference.level)
    if made.detectable is not None and made.detectable <= c.margin:
        return None
    return c.reading("too few queries", f"too few queries to tell ({made.words})", row)


def within_unjudged(c: Compared) -> Reading | None:
    """A difference that judging what nobody judged could turn round."""
    rows = [row for row in c.whole if row.moved() and _could_turn(row, c.ranges.get(row.measure))]
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
    too_few,
    more_complete,
    first_hit_better,
    noise,
    tail_moved,
    head_over_tail,
    slices_worse,
    within_unjudged,
)


def read_out(
    rows: Sequence[Comparison], margin: float, ranges: Mapping[str, tuple[Ends, Ends]]
) -> list[Reading]:
    """Everything that the comparisons of one candidate say."""
    compared = Compared(rows, margin, ranges)
    return [made for reading in READINGS if (made := reading(compared))]
