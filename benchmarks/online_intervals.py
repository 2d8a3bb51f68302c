"""Simulate A/B tests: how often intervals cover, and how often tests alarm although there is no difference.

coverage: 95 % intervals of each method on skewed values, with units of unequal size.
peeking: A/A tests looked at on each of 14 days, and the power of the same looks where the effect would be
found by one look at the end with a power of 0.8.
srm: the sample ratio looked at in each hour of 14 days, with equal shares and with shares of 51 : 49.
ramp: an A/A test whose candidate has 5, then 50 % of users, while the metric of all rises from 30 to 33 %.
latency: 95 % intervals of the 95th percentile of values of users who differ.

Each share stands beside its exact 95 % interval; a target is missed if the whole interval lies beyond it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from report import format_table, print_progress, print_sections

from assay.core.arrays import Floats
from assay.online.ab.analysis import analyse_sums
from assay.online.ab.cells import DAY, Cell, TestSums
from assay.online.ab.design import ABDesign, parse_phase
from assay.stats import Estimate
from assay.stats.clustered_quantiles import clustered_quantile
from assay.stats.difference_intervals import NormalSpread
from assay.stats.intervals import estimate_share, order_statistic
from assay.stats.moments import Moments, add_moments
from assay.stats.sample_ratio import SRM_ALPHA, SequentialSampleRatio, check_sample_ratio
from assay.stats.sequential.always_valid import AlwaysValidSpread, choose_rho
from assay.stats.sequential.group_sequential import GroupSequentialSpread, Looks
from assay.stats.unit_differences import UnitDifference, difference, relative_difference

SIMULATIONS = 2000
ALPHA, POWER, DRIFT = 0.05, 0.8, 2.8016  # standard errors at the end that one look finds with this power
UNITS, DAYS, DAY_UNITS = 1000, 14, 200  # units of each arm; of both arms together on a day
HOURS, HOUR_UNITS = 14 * 24, 60
LEAST_COVERED = 0.94
MOST_ALARMS = 0.05
Section = Callable[[], tuple[str, list[str]]]
Arms = tuple[Moments, Moments]


def share(hits: float, n: int) -> Estimate:
    return estimate_share(hits, n)


def format_share(e: Estimate) -> str:
    return f"{e.value:.3f} ({e.low:.3f} … {e.high:.3f})"


def draw_values(rng: np.random.Generator, lift: float, n: int) -> Mapping[str, Floats]:
    """Units of one arm: skewed revenue with a past, and clicks of unequal numbers of queries."""
    taste = 0.9 * rng.beta(2, 5, n)
    queries, past_queries = rng.geometric(0.25, (2, n))
    before = rng.gamma(1.0, 5.0, n)
    return {
        "revenue": (before + rng.gamma(1.0, 5.0, n)) * (1 + lift),
        "before": before,
        "clicks": rng.binomial(queries, taste * (1 + lift)).astype(np.float64),
        "queries": queries.astype(np.float64),
        "past clicks": rng.binomial(past_queries, taste).astype(np.float64),
        "past queries": past_queries.astype(np.float64),
    }


def _moments(values: Mapping[str, Floats], *names: str | None) -> Moments:
    parts = ("denominator", "covariate", "covariate_denominator")
    columns = {part: values[name] for part, name in zip(parts, names[1:], strict=False) if name}
    return Moments.from_values(values[str(names[0])], **columns)


def _strata(values: Mapping[str, Floats]) -> dict[str, Moments]:
    edges = (0.0, 2.0, 5.0, 10.0, math.inf)
    strata = {}
    for low, high in pairwise(edges):
        rows = (values["before"] >= low) & (values["before"] < high)
        strata[f"{low:g}"] = Moments.from_values(values["revenue"][rows])
    return strata


LIFT = 0.05
METHODS: Mapping[str, tuple[Callable[[Mapping[str, Floats]], object], bool, float]] = {
    "Welch": (lambda v: _moments(v, "revenue"), False, 10 * LIFT),
    "Welch, relative": (lambda v: _moments(v, "revenue"), True, LIFT),
    "ratio": (lambda v: _moments(v, "clicks", "queries"), False, 0.9 * 2 / 7 * LIFT),
    "ratio, relative": (lambda v: _moments(v, "clicks", "queries"), True, LIFT),
    "CUPED": (lambda v: _moments(v, "revenue", None, "before"), False, 10 * LIFT),
    "CUPED, ratio": (
        lambda v: _moments(v, "clicks", "queries", "past clicks", "past queries"),
        False,
        0.9 * 2 / 7 * LIFT,
    ),
    "post-stratified": (_strata, False, 10 * LIFT),
}


def coverage_section(simulations: int) -> tuple[str, list[str]]:
    """Return the shares of intervals that cover the true difference."""
    rng = np.random.default_rng(0)
    hits, widths = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0.0)
    print_progress("coverage")
    for _ in range(simulations):
        arms = [draw_values(rng, lift, UNITS) for lift in (0.0, LIFT)]
        for name, (sums, is_relative, truth) in METHODS.items():
            compare = relative_difference if is_relative else difference
            e = compare(sums(arms[0]), sums(arms[1])).estimate  # type: ignore[arg-type]
            hits[name] += bool(e.low is not None and e.high is not None and e.low <= truth <= e.high)
            widths[name] += (e.high or 0.0) - (e.low or 0.0)
    rows, missed = [], []
    for name, count in hits.items():
        covered = share(count, simulations)
        rows.append([name, format_share(covered), f"{widths[name] / simulations:.4f}"])
        if (covered.high or 1.0) < LEAST_COVERED:
            missed.append(f"coverage of {name}: {format_share(covered)} < {LEAST_COVERED}")
    head = ["method", "share of 95 % intervals that cover", "mean width"]
    title = f"## Coverage in {simulations:,} tests of {UNITS:,} units in each arm"
    return f"{title}\n\n{format_table(head, rows)}", missed


def _is_outside(spread: NormalSpread | GroupSequentialSpread | AlwaysValidSpread) -> bool:
    low, high = spread.interval(1 - ALPHA)
    return (low is not None and low > 0) or (high is not None and high < 0)


def _look(name: str, change: UnitDifference, day: int) -> bool:
    """Return whether a difference is shown on a day by one of the ways to look."""
    spread = change.spread
    assert isinstance(spread, NormalSpread)
    if name == "one look at the end":
        return day == DAYS and _is_outside(spread)
    if name == "p < 0.05 on any day":
        return _is_outside(spread)
    if name == "group-sequential":
        units = tuple(float(DAY_UNITS * d) for d in range(1, day + 1))
        looks = Looks(units, float(DAY_UNITS * DAYS), is_final=day == DAYS)
        return _is_outside(GroupSequentialSpread(spread.centre, spread.error, looks))
    rho = choose_rho(DAY_UNITS * DAYS, ALPHA)
    return _is_outside(AlwaysValidSpread(spread.centre, spread.error, change.n, rho))


LOOKS = ("one look at the end", "p < 0.05 on any day", "group-sequential", "always valid")


def watch_tests(effect: float, simulations: int, seed: int) -> dict[str, Estimate]:
    """Return the share of tests that show a difference on any of 14 days, for each way to look."""
    rng = np.random.default_rng(seed)
    shown = dict.fromkeys(LOOKS, 0)
    for _ in range(simulations):
        days = [
            [Moments.from_values(rng.gamma(2.0, 1.0, DAY_UNITS // 2) + e) for e in (0.0, effect)]
            for _ in range(DAYS)
        ]
        found: set[str] = set()
        arms = [Moments(), Moments()]
        for day, moments in enumerate(days, 1):
            arms = [before + new for before, new in zip(arms, moments, strict=True)]
            change = difference(arms[0], arms[1])
            found |= {name for name in LOOKS if name not in found and _look(name, change, day)}
        for name in found:
            shown[name] += 1
    return {name: share(count, simulations) for name, count in shown.items()}


def peeking_section(simulations: int) -> tuple[str, list[str]]:
    """Return the false alarms and the power of daily looks."""
    print_progress("peeking: false alarms")
    alarms = watch_tests(0.0, simulations, 1)
    error = math.sqrt(2.0 * 2 / (DAY_UNITS / 2 * DAYS))  # of two means of units with a variance of 2
    print_progress("peeking: power")
    power = watch_tests(DRIFT * error, simulations, 2)
    rows = [[name, format_share(alarms[name]), format_share(power[name])] for name in LOOKS]
    missed = [
        f"false alarms of {name}: {format_share(alarms[name])} > {MOST_ALARMS}"
        for name in LOOKS
        if name != "p < 0.05 on any day" and (alarms[name].low or 0.0) > MOST_ALARMS
    ]
    head = ["looks on 14 days", "false alarms", "power"]
    title = f"## Daily looks in {simulations:,} tests of {DAY_UNITS * DAYS:,} units, α {ALPHA}"
    return f"{title}\n\n{format_table(head, rows)}", missed


def watch_ratios(planned: float, simulations: int, seed: int) -> dict[str, Estimate]:
    """Return the share of tests whose sample ratio alarms in any hour."""
    rng = np.random.default_rng(seed)
    weights = {"a": 0.5, "b": 0.5}
    alarms = {"chi-squared in each hour": 0, "sequential in each hour": 0, "chi-squared at the end": 0}
    for _ in range(simulations):
        first = rng.binomial(HOUR_UNITS, planned, HOURS)
        totals = np.cumsum(first)
        sizes = HOUR_UNITS * np.arange(1, HOURS + 1)
        z = (2 * totals - sizes) / np.sqrt(sizes)
        critical = 3.2905  # two-sided at 0.001
        alarms["chi-squared in each hour"] += bool((np.abs(z) > critical).any())
        end = check_sample_ratio({"a": int(totals[-1]), "b": int(sizes[-1] - totals[-1])}, weights)
        alarms["chi-squared at the end"] += bool(end.is_mismatch())
        test = SequentialSampleRatio(weights)
        for count in first:
            test = test.update({"a": int(count), "b": HOUR_UNITS - int(count)})
        alarms["sequential in each hour"] += bool(test.result.is_mismatch())
    return {name: share(count, simulations) for name, count in alarms.items()}


def srm_section(simulations: int) -> tuple[str, list[str]]:
    """Return the false and the right alarms of the sample ratio."""
    print_progress("srm: equal shares")
    equal = watch_ratios(0.5, simulations, 3)
    print_progress("srm: unequal shares")
    unequal = watch_ratios(0.51, max(1, simulations // 5), 4)
    rows = [[name, format_share(equal[name]), format_share(unequal[name])] for name in equal]
    found = equal["sequential in each hour"]
    missed = [f"false alarms of the sequential sample ratio: {format_share(found)} > {SRM_ALPHA}"] * (
        (found.low or 0.0) > SRM_ALPHA
    )
    units = HOURS * HOUR_UNITS
    title = f"## Sample ratio in {simulations:,} tests of {units:,} units, {HOURS} hours, α {SRM_ALPHA}"
    head = ["test", "alarms at 50 : 50", f"at 51 : 49 ({max(1, simulations // 5):,} tests)"]
    return f"{title}\n\n{format_table(head, rows)}", missed


def draw_ramp(rng: np.random.Generator, users: int) -> TestSums:
    """Return an A/A test of 14 days that is ramped while the metric of all rises."""
    cells = []
    for day in range(DAYS):
        is_late = day >= DAYS // 2
        candidates = int(rng.binomial(users, 0.5 if is_late else 0.05))
        for variant, n in (("control", users - candidates), ("candidate", candidates)):
            clicks = float(rng.binomial(n, 0.33 if is_late else 0.30))
            cells.append(
                Cell(variant, (f"2026-01-{day + 1:02d}",), n, {"clicks": Moments(n, clicks, clicks)})
            )
    return TestSums(cells, (DAY,))


def ramp_section(simulations: int) -> tuple[str, list[str]]:
    """Return the false alarms of a ramp, pooled and by phase."""
    rng = np.random.default_rng(5)
    plans: dict[str, Sequence[str]] = {
        "planned phases": ["control=95,candidate=5", "2026-01-08:control=50,candidate=50"],
        "phases that are found": [],
    }
    alarms = {"pooled": 0, **dict.fromkeys(plans, 0)}
    unhealthy = 0
    print_progress("ramp")
    for _ in range(simulations):
        sums = draw_ramp(rng, 10_000)
        arms = [add_moments(c.metrics["clicks"] for c in sums.cells if c.variant == v) for v in sums.variants]
        alarms["pooled"] += (difference(arms[1], arms[0]).p or 1.0) < ALPHA
        for name, texts in plans.items():
            test = analyse_sums(sums, ABDesign(phases=[parse_phase(text) for text in texts]))
            alarms[name] += (test.metrics[0].absolute.p or 1.0) < ALPHA
            unhealthy += not texts and test.status.label == "Unhealthy"
    shares = {name: share(count, simulations) for name, count in alarms.items()}
    rows = [[name, format_share(value)] for name, value in shares.items()]
    missed = [
        f"false alarms of a ramp by {name}: {format_share(shares[name])} > {MOST_ALARMS}"
        for name in plans
        if (shares[name].low or 0.0) > MOST_ALARMS
    ]
    title = f"## An A/A test that is ramped, {simulations:,} times 14 days of 10,000 users, α {ALPHA}"
    note = f"Without planned shares, {unhealthy:,} of {simulations:,} are called Unhealthy."
    return f"{title}\n\n{format_table(['analysis', 'false alarms'], rows)}\n\n{note}", missed


def draw_latencies(rng: np.random.Generator, users: int) -> tuple[Floats, np.ndarray]:
    """Return latencies of users of different speed, who ask different numbers of queries."""
    counts = rng.geometric(0.1, users)
    owners = np.repeat(np.arange(users), counts)
    speed = rng.normal(0.0, 0.6, users)
    return np.exp(4.0 + speed[owners] + rng.normal(0.0, 0.4, len(owners))), owners


def latency_section(simulations: int) -> tuple[str, list[str]]:
    """Return the coverage of intervals of a percentile with clustered users."""
    rng = np.random.default_rng(6)
    print_progress("latency")
    truth = float(np.quantile(draw_latencies(rng, 200_000)[0], 0.95))
    hits = {"clustered by user": 0, "all values independent": 0}
    for _ in range(simulations):
        values, owners = draw_latencies(rng, 1000)
        ends = clustered_quantile(values, owners, 0.95).interval
        naive = order_statistic(values, 0.95, 0.95)[1:3]
        for name, (low, high) in zip(hits, (ends, naive), strict=True):
            hits[name] += bool(low is not None and high is not None and low <= truth <= high)
    shares = {name: share(count, simulations) for name, count in hits.items()}
    covered = shares["clustered by user"]
    missed = [f"coverage of p95: {format_share(covered)} < {LEAST_COVERED}"]
    title = f"## The 95th percentile of latency in {simulations:,} logs of 1,000 users"
    rows = [[name, format_share(value)] for name, value in shares.items()]
    table = format_table(["interval", "share of 95 % intervals that cover"], rows)
    return f"{title}\n\n{table}", missed * ((covered.high or 1.0) < LEAST_COVERED)


def sections(options: argparse.Namespace) -> Iterator[Section]:
    """Yield the sections that are asked for."""
    n = options.simulations
    named: dict[str, Section] = {
        "coverage": lambda: coverage_section(n),
        "peeking": lambda: peeking_section(n),
        "srm": lambda: srm_section(n),
        "ramp": lambda: ramp_section(max(1, n // 4)),
        "latency": lambda: latency_section(n),
    }
    yield from (section for name, section in named.items() if options.only in (None, name))


def main() -> None:
    """Print the tables; exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--simulations", type=int, default=SIMULATIONS, help=f"default: {SIMULATIONS:,}")
    parser.add_argument(
        "--only", choices=("coverage", "peeking", "srm", "ramp", "latency"), help="print one table"
    )
    print_sections(sections(parser.parse_args()))


if __name__ == "__main__":
    main()
