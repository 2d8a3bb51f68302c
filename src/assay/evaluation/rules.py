"""The rules of a gate, read from plain settings; everything wrong with them is said at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import ConfigurationError, MeasureError
from assay.core.settings import Fields
from assay.measures import Measure, parse
from assay.stats.families import CORRECTIONS

SUBJECTS = ("measure", "latency", "slo_ms", "figure")
CONDITIONS = {
    "at_least": "at least",
    "at_most": "at most",
    "no_worse_than": "no worse by",
    "better_by": "better by",
}
COMPARING = ("no_worse_than", "better_by")
UNDECIDED = ("hold", "pass", "fail")


@dataclass(frozen=True)
class Rule:
    """What must hold of one subject."""

    subject: str  # one of SUBJECTS
    of: Measure | str | float  # the measure, the percentile (p95), the milliseconds or the figure's name
    condition: str  # one of CONDITIONS
    threshold: float
    by: tuple[str, ...] = ()  # and in each slice of these columns
    min_n: int = 0  # slices with fewer queries are not looked at
    priority: int = 1

    @property
    def name(self) -> str:
        """The rule in words.

        >>> Rule("measure", parse("nDCG@10"), "no_worse_than", 0.02).name
        'nDCG@10 no worse by 0.02'
        """
        of = f"{self.of:g}" if isinstance(self.of, float) else str(self.of)
        what = {"latency": f"latency {of} in ms", "slo_ms": f"share within {of} ms"}.get(self.subject, of)
        return f"{what} {CONDITIONS[self.condition]} {self.threshold:g}"

    @property
    def compares(self) -> bool:
        """Whether it asks for a difference from the baseline."""
        return self.condition in COMPARING

    @property
    def percentile(self) -> float:
        """The share of requests that a latency's percentile asks for."""
        return float(str(self.of).removeprefix("p")) / 100


@dataclass(frozen=True)
class Rules:
    """All rules of a gate, and how they are decided."""

    rules: tuple[Rule, ...]
    level: float = 0.95
    correction: str = "holm"
    min_queries: int = 0
    undecided: str = "hold"
    seed: int = 0
    measures: tuple[Measure, ...] = field(init=False)
    by: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        measures = (rule.of for rule in self.rules if isinstance(rule.of, Measure))
        object.__setattr__(self, "measures", tuple(dict.fromkeys(measures)))
        object.__setattr__(self, "by", tuple(dict.fromkeys(c for rule in self.rules for c in rule.by)))

    @property
    def figures(self) -> list[str]:
        """The figures that are asked for."""
        return [str(rule.of) for rule in self.rules if rule.subject == "figure"]

    @property
    def compare(self) -> bool:
        """Whether a baseline is needed."""
        return any(rule.compares for rule in self.rules)


def read_rules(settings: Mapping[str, Any]) -> Rules:
    """The rules that settings say, as in the table [gate] of assay.toml.

    >>> read_rules({"rules": [{"measure": "nDCG@10", "at_least": 0.4}]}).rules[0].threshold
    0.4
    """
    fields = Fields(settings, "gate")
    made = rules_in(fields)
    if fields.problems:
        raise ConfigurationError(fields.problems)
    return made


def rules_in(fields: Fields) -> Rules:
    """The rules in a table of settings; what is wrong with them is noted there."""
    rules = [_rule(rule) for rule in fields.each("rules")]
    if not rules and "gate.rules" not in fields.problems:
        fields.wrong("rules", "expected at least one rule ([[gate.rules]]), found none")
    made = Rules(
        tuple(rule for rule in rules if rule),
        fields.number("level", "a number between 0 and 1", lambda v: 0 < v < 1, 0.95),
        fields.one_of("correction", CORRECTIONS, "holm"),
        fields.count("min_queries", 0),
        fields.one_of("undecided", UNDECIDED, "hold"),
        fields.count("seed", 0),
    )
    fields.done()
    return made


def _rule(fields: Fields) -> Rule | None:
    """One rule, or None where it lacks its subject or its condition."""
    subject = fields.exactly_one(SUBJECTS, "what the rule is about")
    condition = fields.exactly_one(tuple(CONDITIONS), "what must hold")
    of = _subject(fields, subject) if subject else ""
    threshold = _threshold(fields, condition, _is_bounded(subject, of)) if condition else 0.0
    by = tuple(fields.texts("by", "a column or a list of columns"))
    min_n, priority = fields.count("min_n", 0), fields.count("priority", 1, least=1)
    _check_fit(fields, subject, condition)
    fields.done()
    return Rule(subject, of, condition, threshold, by, min_n, priority) if subject and condition else None


def _threshold(fields: Fields, condition: str, bounded: bool) -> float:
    """What is compared with; 95 % is written 0.95, and a margin of two points 0.02."""
    if condition in COMPARING and bounded:
        return fields.number(condition, "0 or more, below 1 (two points are 0.02)", lambda v: 0 <= v < 1, 0.0)
    if condition in COMPARING:
        return fields.number(condition, "0 or more", lambda v: v >= 0, 0.0)
    if bounded:
        return fields.number(condition, "a number between 0 and 1", lambda v: 0 <= v <= 1, 0.0)
    return fields.number(condition, "a number", lambda v: True, 0.0)


def _is_bounded(subject: str | None, of: Measure | str | float) -> bool:
    return subject == "slo_ms" or (isinstance(of, Measure) and of.bounded)


def _subject(fields: Fields, subject: str) -> Measure | str | float:
    """What a rule is about."""
    if subject == "measure":
        try:
            return parse(fields.given[subject])
        except MeasureError as error:
            fields.wrong(subject, str(error))
            return ""
    if subject == "slo_ms":
        return fields.number(subject, "milliseconds above 0", lambda v: v > 0, 1.0)
    if subject == "latency":
        return str(fields.take(subject, "a percentile such as p95", _is_percentile, "p95"))
    return fields.text(subject, "the name of a figure") or ""


def _check_fit(fields: Fields, subject: str | None, condition: str | None) -> None:
    """Note a condition that makes no sense for its subject."""
    if subject in (None, "measure"):
        return
    if condition in COMPARING:
        fields.wrong(
            str(condition),
            f"compares with the baseline query by query, which {subject} cannot; use at_least or at_most",
        )
    if "by" in fields.given:
        fields.wrong("by", f"slices are of the queries' measures, not of {subject}")


def _is_percentile(value: Any) -> bool:
    digits = str(value).removeprefix("p")
    known = isinstance(value, str) and value.startswith("p") and digits.replace(".", "", 1).isdecimal()
    return known and 0 < float(digits) < 100
