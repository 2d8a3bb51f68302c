"""One rule held against all queries or one slice: what was found, in words, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.evaluation.readings import shown_p, signed
from assay.evaluation.rules import Rule
from assay.stats import Estimate
from assay.stats.power import needed


@dataclass(frozen=True)
class Check:
    """One rule held against all queries or one slice."""

    rule: Rule
    slice: str
    value: Estimate  # of the candidate; of the improvement, where the rule compares
    holds: float | None  # p against the rule: small, it is shown to hold
    fails: float | None  # p for the rule: small, it is shown to fail
    deviation: float | None = None
    figure: bool = False  # a single figure, which has no interval
    losers: tuple[str, ...] = ()
    corrected: float | None = None  # p of the failure, corrected for all rules
    status: str = "undecided"  # passed, failed, undecided, skipped
    family: int = 1  # how many failures are corrected together

    @property
    def text(self) -> str:
        """What was found, in words."""
        e = self.value
        if self.status == "skipped":
            return f"not looked at: {e.n} queries, the rule asks for {self.rule.min_n}"
        if e.value is None:
            return "no value: too few queries, or the measure is undefined for them"
        shown = signed if self.rule.compares else _SHOWN[self.rule.subject]
        low, high = ("–" if end is None else shown(end) for end in (e.low, e.high))
        ends = "" if e.low is None and e.high is None else f" ({low} … {high})"
        alone = "a single figure, no interval" if self.figure else "a figure"
        n = alone if self.rule.subject == "figure" else f"n {e.n:,}"
        return f"{shown(e.value)}{ends}, {n}{self._why()}"

    def _why(self) -> str:
        if self.status == "failed" and self.corrected is not None and self.rule.subject != "figure":
            return f": {_SHORT[self.rule.condition]}, {shown_p(self.corrected)}"
        if self.status != "undecided":
            return ""
        if self.worse:
            return ": worse, but too near to tell whether by more than that"
        near = self.value.value is not None and abs(self.value.value - self.edge) < 1e-6
        return ": too few to tell" if self.clear and not near else ": too near to tell"

    @property
    def worse(self) -> bool:
        """Whether a candidate that must be no worse looks worse, be it by more than the margin or not."""
        return self.rule.condition == "no_worse_than" and (self.value.high or 0.0) < 0

    @property
    def advice(self) -> str:
        """What to do about it; empty where it holds."""
        if self.status == "failed":
            if self.losers:
                return self._lost
            gap = abs((self.value.value or 0.0) - self.rule.threshold)
            where = " (assay failures shows the queries behind it)" if self.rule.subject == "measure" else ""
            return f"it lies {gap:.4g} on the wrong side of {self.rule.threshold:g}{where}"
        if self.status != "undecided":
            return ""
        return f"{self._lost}; {self._how_to_tell()}" if self.worse and self.losers else self._how_to_tell()

    @property
    def _lost(self) -> str:
        return f"look at the queries that lost most, such as {', '.join(self.losers)} (assay compare)"

    def _how_to_tell(self) -> str:
        """What would decide what is undecided."""
        move = "widen the margin" if self.rule.condition == "no_worse_than" else "move the threshold"
        what = "requests" if self.rule.subject in ("latency", "slo_ms") else "queries"
        if self.value.value is None:
            return f"judge {what} for which {self.rule.of} is defined"
        if self.rule.subject == "figure":
            return f"measure it more closely, or {move}"
        if abs(self.value.value - self.edge) < 1e-6:
            return f"it lies on the threshold, where no number of {what} can tell: {move}"
        if self.clear:
            return f"measure more {what}"
        enough = self.enough
        if enough is None or enough <= self.value.n:
            return f"measure more {what}, or {move}"
        if enough > _MANY * self.value.n:
            return f"it lies so near that even {_MANY} times as many {what} would not tell: {move}"
        where = "" if self.slice == "all" else " of this slice"
        now = f"now {self.value.n:,}; were the value to stay"
        return f"about {enough:,} {what}{where} would tell ({now}); or {move}"

    @property
    def edge(self) -> float:
        """The value that the rule turns on."""
        return -self.rule.threshold if self.rule.condition == "no_worse_than" else self.rule.threshold

    @property
    def clear(self) -> int:
        """1 where the whole interval lies on the right side of the edge, -1 on the wrong side, 0 between."""
        if self.rule.subject == "figure":  # its ends are all there is, and were looked at
            return 1 if self.holds == 0 else -1 if self.fails == 0 else 0
        low, high = self.value.low, self.value.high
        if self.rule.condition == "at_most":
            return 1 if high is not None and high <= self.edge else -int(low is not None and low > self.edge)
        return 1 if low is not None and low >= self.edge else -int(high is not None and high < self.edge)

    @property
    def enough(self) -> int | None:
        """How many queries would decide, were the value and its spread to stay."""
        if self.value.value is None or not self.deviation or abs(self.value.value - self.edge) < 1e-6:
            return None
        wrong = (self.value.value > self.edge) == (self.rule.condition == "at_most")
        family = self.family if wrong else 1  # a failure is corrected for all of them
        return needed(abs(self.value.value - self.edge), self.deviation, (1 - self.value.level) / family)


_MANY = 100  # more than this many times the queries there are is more than anybody will judge
_SHORT = {
    "at_least": "below it",
    "at_most": "above it",
    "no_worse_than": "worse by more than that",
    "better_by": "not better by that",
}
_SHOWN: dict[str, Callable[[float], str]] = {
    "measure": "{:.4f}".format,
    "slo_ms": "{:.4f}".format,
    "latency": "{:,.1f} ms".format,
    "figure": "{:.6g}".format,
}
