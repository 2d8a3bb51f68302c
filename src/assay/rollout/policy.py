"""The policy of a rollout: its steps, and what must hold at each; read from [rollout] of assay.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from assay.core.errors import ConfigurationError
from assay.core.settings import SettingsReader
from assay.rollout.assignment import Slot, TrafficSplit
from assay.rollout.machine import STAGES, Step

# shadow, then an A/B test on a tenth of the traffic for one to four weeks, then a ramp to all
DEFAULT_STEPS = (
    Step("gate"),
    Step("shadow", 0.0, 1.0, 1000),
    Step("ab", 0.10, 7.0, 1000, max_days=28.0),
    Step("ramp", 0.25, 1.0, 1000),
    Step("ramp", 0.50, 1.0, 1000),
    Step("full", 1.0, needs_approval=True),
)
ROLES = ("goal", "guardrail", "signal")  # a guardrail that is shown to be worse rolls back, a signal holds


APPROVAL_ROLES = ("engineer", "admin")


@dataclass(frozen=True)
class MetricRule:
    """What a metric of the A/B test decides."""

    metric: str
    role: str  # one of ROLES
    margin: float = (
        0.0  # a goal must be better by more; others may be worse by so much; a share of the control
    )
    is_dry_run: bool = False  # it is only reported
    lower_is_better: bool | None = None  # None: as the metric itself says

    @property
    def name(self) -> str:
        """The rule in words.

        >>> MetricRule("zero_result", "guardrail", 0.01).name
        'zero_result not worse by more than 1 %'
        """
        if not self.margin:
            return f"{self.metric} {'better' if self.role == 'goal' else 'not worse'}"
        words = "better by more than" if self.role == "goal" else "not worse by more than"
        return f"{self.metric} {words} {100 * self.margin:g} %"


@dataclass(frozen=True)
class Approvals:
    """Whose approval counts, and how many are needed where a step needs approval."""

    people: tuple[str, ...] = ()  # empty: everybody with the role
    role: str = "engineer"  # one of APPROVAL_ROLES
    count: int = 1

    def is_allowed(self, person: str, role: str) -> bool:
        """Whether a person with a role may approve."""
        is_listed = not self.people or person in self.people
        return is_listed and role in APPROVAL_ROLES[APPROVAL_ROLES.index(self.role) :]

    @property
    def words(self) -> str:
        """Who must approve.

        >>> Approvals(("ann", "bob"), count=2).words
        '2 approvals by ann or bob'
        """
        who = " or ".join(self.people) if self.people else f"somebody with the role {self.role}"
        return f"{self.count} approval{'s' * (self.count > 1)} by {who}"


@dataclass(frozen=True)
class Webhook:
    """An address that is told every move; the secret that signs is in a variable of the environment."""

    url: str
    secret_env: str


@dataclass(frozen=True)
class RolloutPolicy:
    """How a candidate is released, step by step."""

    steps: tuple[Step, ...] = DEFAULT_STEPS
    rules: tuple[MetricRule, ...] = ()
    alpha: float = 0.05  # of all guardrails and signals together, over the whole rollout
    min_traffic: float = 0.5  # share of the usual units of a day below which the traffic counts as missing
    max_shadow_errors: float = 0.01  # share of requests in which the candidate alone may fail
    approvals: Approvals = field(default_factory=Approvals)
    arms: tuple[str, str] = ("control", "treatment")
    salt: str = ""
    holdout: float = 0.0
    holdout_salt: str = "holdout"
    overrides: Mapping[str, str] = field(default_factory=dict)
    exclusive: Slot | None = None
    events: tuple[str, ...] = ()  # files of events, of units or of sums; empty: the saved A/B test
    webhooks: tuple[Webhook, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain data, as it is kept with the rollout."""
        parts = {
            "steps": [step._asdict() for step in self.steps],
            "rules": [vars(rule) for rule in self.rules],
            "approvals": vars(self.approvals),
            "exclusive": self.exclusive and self.exclusive._asdict(),
            "overrides": dict(self.overrides),
            "webhooks": [vars(webhook) for webhook in self.webhooks],
        }
        return {**vars(self), **parts}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> RolloutPolicy:
        """Return the policy of plain data."""
        slot, approvals = value["exclusive"], value["approvals"]
        parts = {
            "steps": tuple(Step(**step) for step in value["steps"]),
            "rules": tuple(MetricRule(**rule) for rule in value["rules"]),
            "approvals": Approvals(**{**approvals, "people": tuple(approvals["people"])}),
            "exclusive": Slot(**slot) if slot else None,
            "webhooks": tuple(Webhook(**webhook) for webhook in value["webhooks"]),
            "arms": tuple(value["arms"]),
            "events": tuple(value["events"]),
        }
        return cls(**{**value, **parts})

    @property
    def is_watched(self) -> bool:
        """Whether a metric decides; without one, only people move the rollout on from the A/B test."""
        return any(rule.role != "signal" and not rule.is_dry_run for rule in self.rules)

    def needs_approval(self, step: int) -> bool:
        """Whether a step is entered only with approval: it says so, or no metric watches over it."""
        is_exposed = self.steps[step].stage in ("ramp", "full")
        return self.steps[step].needs_approval or (is_exposed and not self.is_watched)

    def split(self, name: str, coverage: float, everyone: str = "") -> TrafficSplit:
        """Return how users are divided at a coverage."""
        return TrafficSplit(
            name,
            coverage,
            self.arms,
            self.salt,
            self.holdout,
            self.holdout_salt,
            self.exclusive,
            dict(self.overrides),
            everyone,
        )


def read_policy(settings: Mapping[str, Any]) -> RolloutPolicy:
    """Return the policy of the table [rollout]; every problem is reported at once.

    >>> read_policy({"guardrails": [{"metric": "zero_result", "not_worse_than": 0.01}]}).rules[0].name
    'zero_result not worse by more than 1 %'
    """
    fields = SettingsReader(settings, "rollout")
    arms = _read_arms(fields)
    policy = RolloutPolicy(
        steps=_read_steps(fields),
        rules=tuple(rule for role in ROLES for rule in _read_rules(fields, role)),
        alpha=_share(fields, "alpha", 0.05),
        min_traffic=_share(fields, "min_traffic", 0.5),
        max_shadow_errors=_share(fields, "max_shadow_errors", 0.01),
        approvals=_read_approvals(fields.table("approvals")),
        arms=arms,
        salt=fields.text("salt") or "",
        holdout=_share(fields, "holdout", 0.0),
        holdout_salt=fields.text("holdout_salt") or "holdout",
        overrides=_read_overrides(fields, arms),
        exclusive=_read_slot(fields),
        events=tuple(fields.texts("events", "a path or a list of paths")),
        webhooks=tuple(_read_webhook(part) for part in fields.tables("webhooks")),
    )
    fields.refuse_unknown()
    if fields.problems:
        raise ConfigurationError(fields.problems)
    return policy


def _share(fields: SettingsReader, name: str, default: float) -> float:
    return fields.number(name, "a share from 0 to 1", lambda v: 0 <= v < 1, default)


def _read_arms(fields: SettingsReader) -> tuple[str, str]:
    expected = "two different names, that of the control first"
    names = fields.value("arms", expected, _are_two_names, ["control", "treatment"])
    return str(names[0]), str(names[1])


def _are_two_names(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) == 2 and value[0] != value[1]
    return is_list and all(isinstance(name, str) and name for name in value)


def _read_approvals(fields: SettingsReader) -> Approvals:
    approvals = Approvals(
        tuple(fields.texts("people", "a name or a list of names")),
        fields.one_of("role", APPROVAL_ROLES, "engineer"),
        fields.count("count", 1, 1),
    )
    fields.refuse_unknown()
    if approvals.people and len(approvals.people) < approvals.count:
        fields.add_problem("count", f"expected at most the {len(approvals.people)} people that are named")
    return approvals


def _read_overrides(fields: SettingsReader, arms: tuple[str, str]) -> dict[str, str]:
    expected = f"a table UNIT = ARM with the arms {arms[0]} and {arms[1]}"
    return dict(
        fields.value(
            "overrides",
            expected,
            lambda v: isinstance(v, Mapping) and all(arm in arms for arm in v.values()),
            {},
        )
    )


def _read_slot(fields: SettingsReader) -> Slot | None:
    """Return the part of the units of a group of experiments that exclude each other."""
    if "exclusive" not in fields.settings:
        fields.names_read.add("exclusive")
        return None
    part = fields.table("exclusive")
    group = part.text("group", "the name of a group of rollouts")
    start = part.number("start", "a share from 0 to 1", lambda v: 0 <= v <= 1, 0.0)
    end = part.number("end", "a share from 0 to 1", lambda v: 0 <= v <= 1, 1.0)
    if group is None:
        part.add_problem("group", "expected the name of a group of rollouts")
    if start >= end:
        part.add_problem("start", f"expected less than the end {end:g}, found {start:g}")
    part.refuse_unknown()
    return Slot(group or "", start, end)


def _read_webhook(fields: SettingsReader) -> Webhook:
    url, secret = fields.text("url"), fields.text("secret_env", "the name of a variable of the environment")
    if not (url or "").startswith(("http://", "https://")):
        fields.add_problem("url", "expected an address that begins with http:// or https://")
    if secret is None:
        fields.add_problem("secret_env", "expected the name of the variable that has the secret")
    fields.refuse_unknown()
    return Webhook(url or "", secret or "")


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
    longest = fields.number("max_days", "a number of days", lambda v: v >= days, 0.0)
    units, approval = fields.count("min_units", 0), fields.flag("approval")
    fields.refuse_unknown()
    return Step(stage, coverage, days, units, approval, longest)


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
        lower = part.flag("lower_is_better") if "lower_is_better" in part.settings else None
        part.refuse_unknown()
        rules.append(MetricRule(metric or "", role, margin, is_dry_run, lower))
    return rules
