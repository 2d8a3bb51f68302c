"""Rules that a release must meet, parsed from plain settings; all problems are reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.errors import ConfigurationError, MeasureError
from assay.core.settings import SettingsReader
from assay.measures import Measure, parse
from assay.stats.corrections import CORRECTIONS

SUBJECTS = ("measure", "latency", "slo_ms", "figure")
ONLINE_METRIC = "metric"  # what units of an online experiment did; always compared with the control
CONDITIONS = {
    "at_least": "at least",
    "at_most": "at most",
    "not_worse_than": "not worse by more than",
    "better_by": "better by",
}
COMPARING = ("not_worse_than", "better_by")
UNDECIDED = ("hold", "pass", "fail")


@dataclass(frozen=True)
class Rule:
    """A condition on one subject."""

    subject: str  # one of SUBJECTS, or ONLINE_METRIC
    of: Measure | str | float  # the measure, the percentile (p95), the milliseconds or the figure's name
    condition: str  # one of CONDITIONS
    threshold: float
    by: tuple[str, ...] = ()  # also checked in each slice of these columns
    min_n: int = 0  # slices with fewer queries are skipped
    priority: int = 1
    is_relative: bool = False  # the threshold is a share of the baseline's value

    @property
    def name(self) -> str:
        """The subject, the condition and the threshold.

        >>> Rule("measure", parse("nDCG@10"), "not_worse_than", 0.02).name
        'nDCG@10 not worse by more than 0.02'
        """
        of = f"{self.of:g}" if isinstance(self.of, float) else str(self.of)
        if self.subject == ONLINE_METRIC and not self.threshold:
            return f"{of} {'better' if self.condition == 'better_by' else 'not worse'}"
        subject = {"latency": f"latency {of} in ms", "slo_ms": f"share within {of} ms"}.get(self.subject, of)
        threshold = f"{100 * self.threshold:g} %" if self.is_relative else f"{self.threshold:g}"
        return f"{subject} {CONDITIONS[self.condition]} {threshold}"

    @property
    def compares(self) -> bool:
        """Whether the rule is about the difference from a baseline."""
        return self.condition in COMPARING

    @property
    def percentile(self) -> float:
        """The share of requests that the percentile of a latency rule stands for."""
        return float(str(self.of).removeprefix("p")) / 100


@dataclass(frozen=True)
class Rules:
    """All rules of a decision, and how they are decided."""

    rules: tuple[Rule, ...]
    level: float = 0.95
    correction: str = "holm"
    min_queries: int = 0
    undecided_policy: str = "hold"
    seed: int = 0
    measures: tuple[Measure, ...] = field(init=False)
    by: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        measures = (rule.of for rule in self.rules if isinstance(rule.of, Measure))
        object.__setattr__(self, "measures", tuple(dict.fromkeys(measures)))
        object.__setattr__(self, "by", tuple(dict.fromkeys(c for rule in self.rules for c in rule.by)))

    @property
    def figures(self) -> list[str]:
        """The names of the figures that the rules are about."""
        return [str(rule.of) for rule in self.rules if rule.subject == "figure"]

    @property
    def needs_baseline(self) -> bool:
        """Whether a rule compares with a baseline."""
        return any(rule.compares for rule in self.rules)


def read_rules(settings: Mapping[str, Any]) -> Rules:
    """Return the rules of settings such as the table [gate] of assay.toml.

    >>> read_rules({"rules": [{"measure": "nDCG@10", "at_least": 0.4}]}).rules[0].threshold
    0.4
    """
    fields = SettingsReader(settings, "gate")
    rules = parse_rules(fields)
    if fields.problems:
        raise ConfigurationError(fields.problems)
    return rules


def parse_rules(fields: SettingsReader) -> Rules:
    """Return the rules of a table of settings, and note its problems in the fields."""
    rules = [_parse_rule(rule) for rule in fields.tables("rules")]
    key = f"{fields.prefix}.rules"
    if not rules and key not in fields.problems:
        fields.add_problem("rules", f"expected at least one rule ([[{key}]]), found none")
    parsed_rules = Rules(
        tuple(rule for rule in rules if rule),
        fields.number("level", "a number between 0 and 1", lambda v: 0 < v < 1, 0.95),
        fields.one_of("correction", CORRECTIONS, "holm"),
        fields.count("min_queries", 0),
        fields.one_of("undecided", UNDECIDED, "hold"),
        fields.count("seed", 0),
    )
    fields.refuse_unknown()
    return parsed_rules


def _parse_rule(fields: SettingsReader) -> Rule | None:
    """Return one rule, or None if its subject or its condition is missing."""
    fields.accept_old_name("no_worse_than", "not_worse_than")
    subject = fields.exactly_one(SUBJECTS, "what the rule is about")
    condition = fields.exactly_one(tuple(CONDITIONS), "what must hold")
    of = _parse_subject(fields, subject) if subject else ""
    threshold = _parse_threshold(fields, condition, _is_bounded(subject, of)) if condition else 0.0
    by = tuple(fields.texts("by", "a column or a list of columns"))
    min_n, priority = fields.count("min_n", 0), fields.count("priority", 1, least=1)
    _check_condition(fields, subject, condition)
    fields.refuse_unknown()
    return Rule(subject, of, condition, threshold, by, min_n, priority) if subject and condition else None


def _parse_threshold(fields: SettingsReader, condition: str, is_bounded: bool) -> float:
    """Return the threshold as a share: 95 % is written 0.95, and a margin of two points 0.02."""
    if condition in COMPARING and is_bounded:
        return fields.number(condition, "0 or more, below 1 (two points are 0.02)", lambda v: 0 <= v < 1, 0.0)
    if condition in COMPARING:
        return fields.number(condition, "0 or more", lambda v: v >= 0, 0.0)
    if is_bounded:
        return fields.number(condition, "a number between 0 and 1", lambda v: 0 <= v <= 1, 0.0)
    return fields.number(condition, "a number", lambda v: True, 0.0)


def _is_bounded(subject: str | None, of: Measure | str | float) -> bool:
    return subject == "slo_ms" or (isinstance(of, Measure) and of.is_bounded)


def _parse_subject(fields: SettingsReader, subject: str) -> Measure | str | float:
    """Return what a rule is about."""
    if subject == "measure":
        try:
            return parse(fields.settings[subject])
        except MeasureError as error:
            fields.add_problem(subject, str(error))
            return ""
    if subject == "slo_ms":
        return fields.number(subject, "milliseconds above 0", lambda v: v > 0, 1.0)
    if subject == "latency":
        return str(fields.value(subject, "a percentile such as p95", _is_percentile, "p95"))
    return fields.text(subject, "the name of a figure") or ""


def _check_condition(fields: SettingsReader, subject: str | None, condition: str | None) -> None:
    """Note a condition that does not apply to its subject."""
    if subject in (None, "measure"):
        return
    if condition in COMPARING:
        fields.add_problem(
            str(condition),
            f"compares with the baseline query by query, which {subject} cannot; use at_least or at_most",
        )
    if "by" in fields.settings:
        fields.add_problem("by", f"slices are of the queries' measures, not of {subject}")


def _is_percentile(value: Any) -> bool:
    digits = str(value).removeprefix("p")
    has_form = isinstance(value, str) and value.startswith("p") and digits.replace(".", "", 1).isdecimal()
    return has_form and 0 < float(digits) < 100
