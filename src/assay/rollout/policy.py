"""The policy of a rollout: its steps, and what must hold at each; read from [rollout] of assay.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.settings import SettingsReader
from assay.rollout.machine import STAGES, Step

# shadow, then an A/B test on a tenth of the traffic for a week, then a ramp to all
DEFAULT_STEPS = (
    Step("gate"),
    Step("shadow", 0.0, 1.0, 1000),
    Step("ab", 0.10, 7.0, 1000),
    Step("ramp", 0.25, 1.0, 1000),
    Step("ramp", 0.50, 1.0, 1000),
    Step("full", 1.0, needs_approval=True),
)
ROLES = ("goal", "guardrail", "signal")  # a guardrail that is shown to be worse rolls back, a signal holds


@dataclass(frozen=True)
class MetricRule:
    """What a metric of the A/B test decides."""

    metric: str
    role: str  # one of ROLES
    margin: float = (
        0.0  # a goal must be better by more; others may be worse by so much; a share of the control
    )
    is_dry_run: bool = False  # it is only reported

    @property
    def name(self) -> str:
        """The rule in words.

        >>> MetricRule("zero_result", "guardrail", 0.01).name
        'zero_result not worse by more than 1 %'
        """
        words = "better by more than" if self.role == "goal" else "not worse by more than"
        return f"{self.metric} {words} {100 * self.margin:g} %"


@dataclass(frozen=True)
class RolloutPolicy:
    """How a candidate is released, step by step."""

    steps: tuple[Step, ...] = DEFAULT_STEPS
    rules: tuple[MetricRule, ...] = ()
    alpha: float = 0.05  # of all guardrails and signals together, over the whole rollout
    holdout: float = 0.0
    min_traffic: float = 0.5  # share of the expected units below which the traffic counts as missing
    metadata: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data, as it is kept with the rollout."""
        return {
            "steps": [step._asdict() for step in self.steps],
            "rules": [vars(rule) for rule in self.rules],
            "alpha": self.alpha,
            "holdout": self.holdout,
            "min_traffic": self.min_traffic,
            "metadata": dict(self.metadata),
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> RolloutPolicy:
        """Return the policy of plain data."""
        steps = tuple(Step(**step) for step in value["steps"])
        rules = tuple(MetricRule(**rule) for rule in value["rules"])
        rest = {name: value[name] for name in ("alpha", "holdout", "min_traffic", "metadata")}
        return cls(steps, rules, **rest)


def read_policy(settings: Mapping[str, Any]) -> RolloutPolicy:
    """Return the policy of the table [rollout]; every problem is reported at once.

    >>> read_policy({"guardrails": [{"metric": "zero_result", "not_worse_than": 0.01}]}).rules[0].name
    'zero_result not worse by more than 1 %'
    """
    fields = SettingsReader(settings, "rollout")
    policy = RolloutPolicy(
        _read_steps(fields),
        tuple(rule for role in ROLES for rule in _read_rules(fields, role)),
        _share(fields, "alpha", 0.05),
        _share(fields, "holdout", 0.0),
        _share(fields, "min_traffic", 0.5),
    )
    fields.refuse_unknown()
    if fields.problems:
        raise ConfigurationError(fields.problems)
    return policy


def _share(fields: SettingsReader, name: str, default: float) -> float:
    return fields.number(name, "a share from 0 to 1", lambda v: 0 <= v < 1, default)


def _read_steps(fields: SettingsReader) -> tuple[Step, ...]:
    parts = fields.tables("steps")
    if not parts:
        return DEFAULT_STEPS
    steps = tuple(step for part in parts if (step := _read_step(part)))
    _check_order(fields, steps)
    return steps


def _read_step(fields: SettingsReader) -> Step | None:
    stage = fields.one_of("stage", STAGES, "")
    if not stage:
        fields.add_problem("stage", f"expected one of {', '.join(STAGES)}")
        return None
    default = 1.0 if stage == "full" else 0.0
    coverage = fields.number("coverage", "a share from 0 to 1", lambda v: 0 <= v <= 1, default)
    days = fields.number("min_days", "a number of days", lambda v: v >= 0, 0.0)
    units, approval = fields.count("min_units", 0), fields.flag("approval")
    fields.refuse_unknown()
    return Step(stage, coverage, days, units, approval)


def _check_order(fields: SettingsReader, steps: tuple[Step, ...]) -> None:
    problems = list(_order_problems(steps))
    if problems:
        fields.add_problem("steps", "; ".join(problems))


def _order_problems(steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield what is wrong: the stages follow one another, and the coverage grows to all traffic."""
    places = [STAGES.index(step.stage) for step in steps]
    if places != sorted(places):
        yield f"expected the stages in the order {', '.join(STAGES)}"
    if not steps or steps[0].stage != "gate" or (steps[-1].stage, steps[-1].coverage) != ("full", 1.0):
        yield "expected a first step gate, and a last step full with the coverage 1"
    for before, after in pairwise(steps):
        if after.coverage < before.coverage:
            yield (
                f"{after.label}: expected a coverage of {before.coverage:g} or more, found "
                f"{after.coverage:g}, with which users would lose their arm"
            )
    for step in steps:
        if step.stage in ("gate", "shadow") and step.coverage:
            yield f"{step.stage}: expected no coverage, found {step.coverage:g}"
        if step.stage in ("ab", "ramp") and not step.coverage:
            yield f"{step.stage}: expected a coverage above 0"


def _read_rules(fields: SettingsReader, role: str) -> list[MetricRule]:
    rules = []
    margin_name = "better_by" if role == "goal" else "not_worse_than"
    for part in fields.tables(f"{role}s"):
        metric = part.text("metric", "the name of a metric")
        if metric is None:
            part.add_problem("metric", "expected the name of a metric")
        margin = part.number(margin_name, "a share of the control, 0 or more", lambda v: v >= 0, 0.0)
        is_dry_run = part.flag("dry_run") if role == "guardrail" else False
        part.refuse_unknown()
        rules.append(MetricRule(metric or "", role, margin, is_dry_run))
    return rules
