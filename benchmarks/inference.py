"""Check the error rates of the significance tests, and compare their speed with that of scipy.

speed: the randomisation test and the bootstrap of many queries and measures, each in its own process.
typeone: the share of false alarms in comparisons of systems that do not differ, with slices and measures.
power: how often a true difference is found, compared with the prediction.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import report
from numpy.typing import NDArray
from report import print_progress
from tools import peak_megabytes, time_call

from assay.core.tables import Scores
from assay.evaluation.compare import ComparisonOptions, compare_scores
from assay.evaluation.slices import Slice
from assay.stats import Estimate, estimate
from assay.stats.comparison import Comparison
from assay.stats.paired_tests import TESTS
from assay.stats.power import power
from assay.stats.resampling import PERMUTATIONS, randomisation, resampled_means

Floats = NDArray[np.float64]

PACKAGES = ("assay", "numpy", "scipy")
ALPHA = 0.05
MIN_SPEED_RATIO = 20  # the target at full size: time of scipy's randomisation test divided by Assay's
SCIPY_DRAWS = 2_000  # draws per measure with which scipy is timed, unless all are requested
CUTOFFS = (1, 3, 5, 10, 20, 100)
RANK_MEASURES = [f"R@{k}" for k in CUTOFFS] + ["RR@10", "RR@100", "nDCG@10", "nDCG@100"]
MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")
CATEGORIES, LENGTHS = 6, 4
QUERIES = 400  # in a simulated comparison
SIZES = (100, 300, 1000)
DRAWS = 1_000  # permutations and resamples in a simulated comparison
SETTINGS = [("t", "holm"), ("t", "bh"), ("t", "none"), *((test, "holm") for test in TESTS if test != "t")]


@dataclass(frozen=True)
class SimulationSize:
    """The amounts of work of all sections."""

    queries: int
    draws: int
    reps: int
    sims: int
    truth: int  # queries from which the true difference is computed
    strict: bool = True  # whether the speed ratio is checked


FULL = SimulationSize(6980, PERMUTATIONS, 3, 1000, 2_000_000)
QUICK = SimulationSize(300, 4000, 1, 40, 100_000, strict=False)


# speed


def differences(n: int, seed: int) -> Floats:
    """Simulate the differences of n queries with one relevant document each, by ten measures of its rank.

    Most ranks stay the same, so most differences are 0, and the others have few distinct values.
    """
    rng = np.random.default_rng(seed)
    before = rng.normal(1.4, 1.8, n)
    after = before + (rng.random(n) < 0.45) * rng.normal(-0.01, 0.8, n)
    return rank_measures(after) - rank_measures(before)


def rank_measures(logs: Floats) -> Floats:
    """Return the measures of documents at these ranks, which are logarithms."""
    rank = np.maximum(1.0, np.floor(np.exp(logs)))
    columns = [rank <= k for k in CUTOFFS]
    columns += [(rank <= k) / rank for k in (10, 100)] + [(rank <= k) / np.log2(rank + 1) for k in (10, 100)]
    return np.column_stack(columns).astype(np.float64)


def assay_p_values(values: Floats, draws: int, seed: int) -> Floats:
    return randomisation(values, draws, seed)


def assay_intervals(values: Floats, draws: int, seed: int) -> Floats:
    ends: Floats = np.quantile(resampled_means(values, draws, seed), [0.025, 0.975], axis=0)
    return ends


def scipy_p_values(values: Floats, draws: int, seed: int) -> Floats:
    from scipy.stats import permutation_test

    def p_value(column: Floats) -> float:
        result = permutation_test(
            (column, np.zeros(len(column))),
            lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
            permutation_type="samples", vectorized=True, n_resamples=draws, batch=200,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        return float(result.pvalue)

    return np.array([p_value(column) for column in values.T])


def scipy_intervals(values: Floats, draws: int, seed: int) -> Floats:
    from scipy.stats import bootstrap

    def interval(column: Floats) -> tuple[float, float]:
        result = bootstrap(
            (column,), np.mean, vectorized=True, method="percentile", n_resamples=draws, batch=50,
            rng=np.random.default_rng(seed),
        ).confidence_interval  # fmt: skip
        return float(result.low), float(result.high)

    return np.array([interval(column) for column in values.T]).T


Task = Callable[[Floats, int, int], Floats]
TASKS: dict[str, dict[str, Task]] = {
    "randomisation": {"assay": assay_p_values, "scipy": scipy_p_values},
    "bootstrap": {"assay": assay_intervals, "scipy": scipy_intervals},
}


def run_child(task: str, tool: str, queries: int, draws: int, seed: int) -> None:
    """Run one task in this process, and print its result, its time and its memory."""
    import scipy.stats  # noqa: F401  (loaded before the timing)

    values, megabytes_before = differences(queries, seed), peak_megabytes()
    result, wall, cpu = time_call(lambda: TASKS[task][tool](values, draws, seed))
    print(
        json.dumps(
            {
                "values": result.tolist(),
                "wall": wall,
                "cpu": cpu,
                "before": megabytes_before,
                "peak": peak_megabytes(),
            }
        )
    )


def run_process(*arguments: object) -> dict[str, Any]:
    """Run a task in its own process and return what it printed."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


Timings = dict[str, list[dict[str, Any]]]


def time_alternately(task: str, size: SimulationSize, scipy_draws: int, seed: int) -> Timings:
    """Time Assay and scipy alternately, so that other work on the machine affects both."""
    timings: Timings = {"assay": [], "scipy": []}
    for rep in range(size.reps):
        for tool, draws in (("assay", size.draws), ("scipy", scipy_draws)):
            print_progress(f"speed {rep + 1}/{size.reps}: {task}, {tool}")
            timings[tool].append(run_process(task, tool, size.queries, draws, seed + rep))
    return timings


def speed_section(size: SimulationSize, seed: int, full: bool) -> tuple[str, list[str]]:
    """Compare the speed of Assay and scipy, and check that their results agree."""
    scipy_draws = size.draws if full else min(size.draws, SCIPY_DRAWS)
    rows, tables, problems = [], [], []
    for task in TASKS:
        timings = time_alternately(task, size, scipy_draws, seed)
        cells, median_ratio = speed_cells(timings, size.draws / scipy_draws)
        table, agree = agreement_table(task, timings, size, scipy_draws, seed)
        rows.append([task, *cells])
        tables.append(table)
        if not agree:
            problems.append(f"{task}: assay and scipy differ by more than chance")
        if task == "randomisation" and size.strict and median_ratio < MIN_SPEED_RATIO:
            problems.append(
                f"randomisation: {median_ratio:.1f} times as fast as scipy, expected {MIN_SPEED_RATIO}"
            )
    head = ["work", "assay, s", "scipy, s", "ratio", "CPU of assay, s", "MB before", "peak, MB"]
    title = f"## Speed: {size.draws:,} draws of {size.queries:,} queries × {len(RANK_MEASURES)} measures"
    note = (
        f"scipy was timed on {scipy_draws:,} draws per measure, and the time multiplied by "
        f"{size.draws / scipy_draws:g} (`--full` times all draws)."
    )
    return "\n\n".join([title, report.format_table(head, rows), *([] if full else [note]), *tables]), problems


def speed_cells(timings: Timings, factor: float) -> tuple[list[str], float]:
    """Return the cells of a row, and the median of the ratios."""
    assay_timings, scipy_walls = timings["assay"], [factor * timing["wall"] for timing in timings["scipy"]]
    ratios = [
        scipy_seconds / timing["wall"]
        for timing, scipy_seconds in zip(assay_timings, scipy_walls, strict=True)
    ]
    cells = [
        report.format_spread([timing["wall"] for timing in assay_timings]),
        report.format_spread(scipy_walls),
        report.format_spread(ratios, "×"),
    ]
    cells += [
        report.format_number(max(timing[name] for timing in assay_timings))
        for name in ("cpu", "before", "peak")
    ]
    return cells, sorted(ratios)[len(ratios) // 2]


def agreement_table(
    task: str, timings: Timings, size: SimulationSize, scipy_draws: int, seed: int
) -> tuple[str, bool]:
    """Return a table of both results, and whether they differ by no more than chance."""
    ours, theirs = (np.atleast_2d(timings[tool][0]["values"]) for tool in ("assay", "scipy"))
    if task == "randomisation":  # scipy doubles the smaller of two shares, and so its error
        tolerance = (
            4 * np.sqrt(ours * (1 - ours) / size.draws + ours * (2 - ours) / scipy_draws) + 2 / scipy_draws
        )
    else:
        tolerance = np.broadcast_to(quantile_error(size, scipy_draws, seed), ours.shape)
    agreements = np.abs(ours - theirs) <= tolerance
    rows = [
        [name, format_values(a), format_values(b), f"{c.max():.2g}", "yes" if agrees.all() else "no"]
        for name, a, b, c, agrees in zip(
            RANK_MEASURES, ours.T, theirs.T, tolerance.T, agreements.T, strict=True
        )
    ]
    quantity = "p" if task == "randomisation" else "interval"
    head = ["measure", f"assay's {quantity}", f"scipy's {quantity}", "four standard errors", "agree"]
    return report.format_table(head, rows), bool(agreements.all())


def quantile_error(size: SimulationSize, scipy_draws: int, seed: int) -> Floats:
    """Return four standard errors of the end of an interval, plus the difference that one query makes.

    The standard error is that of a quantile of means, which are nearly normal.
    """
    error = differences(size.queries, seed).std(axis=0) / math.sqrt(size.queries)
    density = math.exp(-(1.959964**2) / 2) / math.sqrt(2 * math.pi)
    relative_error = math.sqrt(0.025 * 0.975 * (1 / size.draws + 1 / scipy_draws)) / density
    result: Floats = 4 * error * relative_error + 1 / size.queries
    return result


def format_values(values: Floats) -> str:
    return " to ".join(f"{value:.5f}" for value in values)


# false alarms


def simulate_scores(rng: np.random.Generator, n: int, lift: float = 0.0) -> tuple[Scores, Scores]:
    """Simulate two systems on n queries: a quarter has no hits, two in five have the same results in both."""
    ease = rng.beta(0.7, 1.5, n) * (rng.random(n) > 0.25)
    probabilities = [np.clip(ease * (1 + gain), 0, 1)[:, None] * 0.9 ** np.arange(10) for gain in (0.0, lift)]
    before, independent = (rng.random((n, 10)) < probability for probability in probabilities)
    after = np.where((rng.random(n) < 0.6)[:, None], independent, before)
    relevant = np.maximum(1 + rng.poisson(4, n), np.maximum(before.sum(axis=1), after.sum(axis=1)))
    ids = [f"q{number}" for number in range(n)]
    return Scores(ids, hit_measures(before, relevant)), Scores(ids, hit_measures(after, relevant))


def hit_measures(hits: NDArray[np.bool_], relevant: NDArray[np.int64]) -> dict[str, Floats]:
    """Return the measures of the top 10, of which `hits` are relevant."""
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.cumsum(discount)[np.minimum(relevant, 10) - 1]
    recall = hits.sum(axis=1) / relevant
    nothing = ~hits.any(axis=1)
    reciprocal = np.where(nothing, 0.0, 1 / (1 + hits.argmax(axis=1)))
    columns = (hits @ discount / ideal, recall, reciprocal, recall >= 0.3 - 1e-9, nothing)
    return {name: column.astype(np.float64) for name, column in zip(MEASURES, columns, strict=True)}


def simulate_slices(rng: np.random.Generator, n: int) -> list[Slice]:
    """Draw six categories of unequal size and four lengths: each query is in two slices."""
    weights = 1 / np.arange(1, CATEGORIES + 1)
    slices = []
    for column, shares in (
        ("category", weights / weights.sum()),
        ("length", np.array([0.15, 0.4, 0.3, 0.15])),
    ):
        labels = rng.choice(len(shares), n, p=shares)
        slices += [Slice(column, str(v), np.flatnonzero(labels == v).tolist()) for v in range(len(shares))]
    return slices


def simulate_comparison(seed: int, test: str, correction: str) -> list[Comparison]:
    """Compare two systems that do not differ, as a user would."""
    rng = np.random.default_rng(seed)
    before, after = simulate_scores(rng, QUERIES)
    options = ComparisonOptions(test, correction, seed=seed, permutations=DRAWS)
    return compare_scores(before, {"candidate": after}, simulate_slices(rng, QUERIES), options=options).rows


def has_false_alarm(rows: Sequence[Comparison]) -> bool:
    """Return whether any corrected p is significant."""
    return any(row.corrected_p is not None and row.corrected_p <= ALPHA for row in rows)


@dataclass
class FalseAlarms:
    """Which simulated comparisons raised a false alarm, and the share of their single tests that did."""

    any: list[bool]
    single: dict[str, list[float]]  # by test: for each comparison, the share of its tests that raise an alarm

    @property
    def share(self) -> Estimate:
        return estimate(np.array(self.any, np.float64), "share")


def requested_test(row: Comparison, test: str) -> str:
    """Return the requested test, also if another one replaced it because all differences are equal."""
    return "McNemar" if row.test == "McNemar" else test


def count_false_alarms(test: str, correction: str, sims: int, seed: int) -> FalseAlarms:
    """Simulate comparisons without a difference and count their false alarms."""
    counts = FalseAlarms([], {})
    for number in range(sims):
        rows = simulate_comparison(seed * 1_000_003 + number, test, correction)
        counts.any.append(has_false_alarm(rows))
        for name in ("McNemar", test):
            ps = [row.p for row in rows if requested_test(row, test) == name and row.p is not None]
            counts.single.setdefault(name, []).append(sum(p <= ALPHA for p in ps) / max(1, len(ps)))
    return counts


def false_alarm_section(size: SimulationSize, seed: int) -> tuple[str, list[str]]:
    """Return the share of comparisons with any false alarm, and that of single tests."""
    rows, problems = [], []
    single: dict[str, list[float]] = {}
    for test, correction in SETTINGS:
        print_progress(f"typeone: {test}, {correction}")
        start = time.perf_counter()
        counts = count_false_alarms(test, correction, size.sims, seed)
        single |= counts.single
        is_kept = (counts.share.low or 0.0) <= ALPHA
        if not is_kept and correction != "none":
            problems.append(f"{test} with {correction} raises false alarms in {counts.share.value:.3f}")
        milliseconds = f"{(time.perf_counter() - start) / size.sims * 1e3:.1f}"
        rows.append([test, correction, format_share(counts.share), "yes" if is_kept else "no", milliseconds])
    for name, shares in single.items():
        low = np.mean(shares) - 1.96 * np.std(shares) / math.sqrt(len(shares))
        if low > ALPHA:
            problems.append(f"{name} alone rejects in {np.mean(shares):.3f}")
    title = (
        f"## False alarms: {size.sims:,} comparisons of {QUERIES} queries without a difference, "
        f"{CATEGORIES + LENGTHS} slices × {len(MEASURES)} measures"
    )
    head = ["test", "correction", "any false alarm (95 %)", f"at most {ALPHA}", "ms per comparison"]
    single_rows = [[name, format_mean_share(shares)] for name, shares in single.items()]
    tables = [
        report.format_table(head, rows),
        report.format_table(["test alone", f"p ≤ {ALPHA} (95 %)"], single_rows),
    ]
    return "\n\n".join([title, *tables]), problems


def format_share(share: Estimate) -> str:
    return f"{share.value:.3f} ({share.low:.3f}–{share.high:.3f})"


def format_mean_share(shares: Sequence[float]) -> str:
    """Return a mean over comparisons with its interval (the tests of one comparison are not independent)."""
    mean, half = np.mean(shares), 1.96 * np.std(shares) / math.sqrt(len(shares))
    return f"{mean:.4f} ({mean - half:.4f}–{mean + half:.4f})"


# power


def true_difference(lift: float, n: int, seed: int) -> tuple[float, float]:
    """Return the true mean difference, and the standard deviation of the differences of queries."""
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, n, 100_000):
        before, after = simulate_scores(rng, min(100_000, n - first), lift)
        parts.append(after[MEASURES[0]] - before[MEASURES[0]])
    whole = np.concatenate(parts)
    return float(whole.mean()), float(whole.std())


def detection_rate(lift: float, n: int, sims: int, seed: int) -> Estimate:
    """Return the share of simulated comparisons of n queries in which the t test finds a difference."""
    options = ComparisonOptions(correction="none")
    detections = []
    for number in range(sims):
        before, after = simulate_scores(np.random.default_rng([seed, n, number]), n, lift)
        reduced = [Scores(scores.query_ids, {MEASURES[0]: scores[MEASURES[0]]}) for scores in (before, after)]
        (row,) = compare_scores(reduced[0], {"candidate": reduced[1]}, options=options).rows
        detections.append(row.direction() == "better")
    return estimate(np.array(detections, np.float64), "share")


def power_section(size: SimulationSize, seed: int, lift: float = 0.2) -> tuple[str, list[str]]:
    """Compare the observed with the predicted power."""
    print_progress("power: the true difference")
    difference, deviation = true_difference(lift, size.truth, seed)
    rows, problems = [], []
    for n in SIZES:
        print_progress(f"power: {n} queries")
        predicted, observed = power(difference, deviation, n, ALPHA), detection_rate(lift, n, size.sims, seed)
        error = math.sqrt(predicted * (1 - predicted) / size.sims)
        agrees = abs((observed.value or 0.0) - predicted) <= 3 * error + 0.01
        rows.append([f"{n:,}", f"{predicted:.3f}", format_share(observed), "yes" if agrees else "no"])
        if not agrees:
            problems.append(f"power of {n} queries: predicted {predicted:.3f}, found {observed.value:.3f}")
    title = f"## Power: {MEASURES[0]} differs by {difference:.4f}, standard deviation {deviation:.4f}"
    head = ["queries", "predicted", f"found in {size.sims:,} (95 %)", "agree"]
    return f"{title}\n\n" + report.format_table(head, rows), problems


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = ("speed", "typeone", "power")
    parser.add_argument(
        "--only", nargs="+", choices=sections, default=sections, metavar="NAME", help=str(sections)
    )
    parser.add_argument("--sims", type=int, help=f"simulated comparisons (default: {FULL.sims:,})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--full", action="store_true", help="time all draws of scipy, once (takes ten minutes)"
    )
    parser.add_argument("--quick", action="store_true", help="small numbers, to check that everything works")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    if arguments.child:
        task, tool, *numbers = arguments.child
        run_child(task, tool, *map(int, numbers))
        return
    size = QUICK if arguments.quick else FULL
    size = replace(size, sims=arguments.sims or size.sims, reps=1 if arguments.full else size.reps)
    sections: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "speed": lambda: speed_section(size, arguments.seed, arguments.full),
        "typeone": lambda: false_alarm_section(size, arguments.seed),
        "power": lambda: power_section(size, arguments.seed),
    }
    print(report.machine_heading(PACKAGES))
    report.print_sections(sections[name] for name in arguments.only)


if __name__ == "__main__":
    main()
