"""The design of an A/B test: what is compared, in which role, and how the test was planned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.core.errors import InputError

ROLES = ("goal", "secondary", "guardrail")
CONTROL_NAMES = (
    "control",
    "baseline",
    "con",
    "ctrl",
    "current",
    "old",
    "production",
    "a",
    "off",
    "0",
    "false",
)
SEQUENTIAL_METHODS = ("fixed", "group-sequential", "always-valid")


@dataclass(frozen=True)
class Margin:
    """A difference, absolute or as a share of the control's value."""

    value: float = 0.0
    is_relative: bool = False

    def __str__(self) -> str:
        return f"{100 * self.value:g} %" if self.is_relative else f"{self.value:g}"


@dataclass(frozen=True)
class MetricRole:
    """What a metric decides, and the difference that matters."""

    role: str = "goal"
    margin: Margin = Margin()
    lower_is_better: bool = False


@dataclass(frozen=True)
class MetricColumns:
    """The columns of a table of units from which one metric is computed."""

    name: str
    value: str
    denominator: str | None = None  # of a ratio
    covariate: str | None = None  # measured before the test
    covariate_denominator: str | None = None
    quantile: float | None = None  # the metric is this quantile of the values


@dataclass(frozen=True)
class Phase:
    """The planned shares of the variants from a day on."""

    shares: Mapping[str, float]
    start: str | None = None  # None: from the beginning

    def expected(self, names: Sequence[str]) -> list[float]:
        """Return the share of each variant; the shares add up to 1."""
        total = sum(self.shares.values())
        return [self.shares.get(name, 0.0) / total for name in names]


@dataclass(frozen=True, kw_only=True)
class ABDesign:
    """How an A/B test was planned, and how it is analysed."""

    control: str | None = None
    phases: Sequence[Phase] = ()
    roles: Mapping[str, MetricRole] = field(default_factory=dict)
    level: float = 0.95
    correction: str = "holm"
    looks: int | None = None  # planned looks of a group-sequential test
    planned_days: int | None = None
    days: int | None = None  # that the data cover, if they have no column of days
    planned_n: int | None = None  # units of all variants together
    is_watched: bool = False  # looked at any number of times: always-valid intervals
    mde: Margin | None = None  # the smallest difference that matters
    power: float = 0.8
    min_n: int = 100  # units of each variant

    def __post_init__(self) -> None:
        problems = [
            (0 < self.level < 1, f"--level expects a number between 0 and 1, found {self.level:g}"),
            (0 < self.power < 1, f"--power expects a number between 0 and 1, found {self.power:g}"),
            (self.looks is None or self.looks >= 1, f"--looks expects 1 or more, found {self.looks}"),
            (not (self.looks and self.is_watched), "expected --looks or --watch, found both"),
            (self.planned_days is None or self.planned_days >= 1, "--planned-days expects 1 or more"),
            (self.days is None or self.days >= 1, f"--days expects 1 or more, found {self.days}"),
            (self.planned_n is None or self.planned_n >= 2, "--planned-n expects 2 or more units"),
            (self.min_n >= 2, f"--min-n expects 2 or more, found {self.min_n}"),
        ]
        for is_valid, message in problems:
            if not is_valid:
                raise InputError(message)
        if self.looks and not (self.planned_days or self.planned_n):
            raise InputError("--looks needs the planned end: --planned-days or --planned-n")

    @property
    def has_planned_end(self) -> bool:
        """Whether the test has a planned end, before which a fixed test is not decided."""
        return bool(self.planned_days or self.planned_n)

    @property
    def method(self) -> str:
        """One of SEQUENTIAL_METHODS."""
        return "always-valid" if self.is_watched else "group-sequential" if self.looks else "fixed"

    def role_of(self, metric: str) -> MetricRole:
        """Return the role of a metric; if no goal is named, all metrics without a role are goals."""
        if metric in self.roles and self.roles[metric].role:
            return self.roles[metric]
        has_goal = any(role.role == "goal" for role in self.roles.values())
        lower = self.roles[metric].lower_is_better if metric in self.roles else False
        return MetricRole("secondary" if has_goal else "goal", Margin(), lower)

    def find_control(self, names: Sequence[str]) -> str:
        """Return the control among the variants: the named one, or the one with a usual name."""
        if self.control is not None:
            if self.control not in names:
                raise InputError(f"there is no variant {self.control!r}; variants: {', '.join(names)}")
            return self.control
        for usual in CONTROL_NAMES:
            for name in names:
                if name.casefold() == usual:
                    return name
        raise InputError(
            f"which variant is the control? None is named control or baseline: "
            f"name it with --control; variants: {', '.join(names)}"
        )


def parse_margin(text: str, option: str) -> Margin:
    """Read a margin: 0.01 is absolute, 2% is relative to the control.

    >>> parse_margin("2%", "--mde"), parse_margin("0.01", "--mde")
    (Margin(value=0.02, is_relative=True), Margin(value=0.01, is_relative=False))
    """
    number = text.strip().removesuffix("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not value >= 0 or math.isinf(value):
        raise InputError(f"{option} expects a margin such as 0.01 or 2% (of the control), found {text!r}")
    return Margin(value / 100, True) if number != text.strip() else Margin(value)


def parse_named_margin(text: str, option: str) -> tuple[str, Margin]:
    """Read METRIC or METRIC=MARGIN.

    >>> parse_named_margin("latency=2%", "--guardrail")
    ('latency', Margin(value=0.02, is_relative=True))
    """
    name, separator, margin = text.partition("=")
    if not name:
        raise InputError(f"{option} expects METRIC or METRIC=MARGIN, found {text!r}")
    return name, parse_margin(margin, option) if separator else Margin()


def parse_phase(text: str) -> Phase:
    """Read planned shares, with the day from which they held if they changed.

    >>> parse_phase("control=90,candidate=10")
    Phase(shares={'control': 90.0, 'candidate': 10.0}, start=None)
    >>> parse_phase("2026-01-08:control=1,candidate=1").start
    '2026-01-08'
    """
    start, separator, listing = text.rpartition(":")
    shares = {}
    for part in listing.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share.strip().removesuffix("%"))
        except ValueError:
            shares[name.strip()] = math.nan
        if not name.strip() or not shares[name.strip()] >= 0 or math.isinf(shares[name.strip()]):
            raise InputError(
                f"--shares expects VARIANT=SHARE,… such as control=50,candidate=50, found {text!r}"
            )
    if not sum(shares.values()):
        raise InputError(f"--shares expects a share above 0, found {text!r}")
    return Phase(shares, start if separator else None)


def parse_columns(text: str, option: str) -> tuple[str, list[str]]:
    """Read METRIC=COLUMN or METRIC=COLUMN/COLUMN.

    >>> parse_columns("ctr=clicks/queries", "--ratio")
    ('ctr', ['clicks', 'queries'])
    """
    name, separator, columns = text.partition("=")
    parts = [part.strip() for part in columns.split("/")]
    if not separator or not name.strip() or not all(parts) or len(parts) > 2:
        raise InputError(f"{option} expects METRIC=COLUMN or METRIC=COLUMN/COLUMN, found {text!r}")
    return name.strip(), parts
