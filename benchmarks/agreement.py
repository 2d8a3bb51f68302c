"""Compare the speed of agreement coefficients with other libraries, and measure how often intervals cover.

speed: 100,000 items × 5 raters with missing labels. Assay's times include the interval of each
coefficient; the other libraries give none. They alternate, from the same matrix, and must agree.
coverage: the share of simulated tables in which the interval of a coefficient contains its value in a
table of a million items, by the kind of labels and the number of items. A cell fails below 92 %.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import krippendorff
import numpy as np
import report
from report import print_progress
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from tools import time_call

from assay.core.arrays import Floats
from assay.core.judgments import Judgments
from assay.judging.agreement import Labels, compute_agreement
from assay.judging.agreement import coefficients as assay_coefficients
from assay.judging.agreement.coefficients import METRICS, WEIGHTS, krippendorff_alpha, measure_agreement
from assay.judging.agreement.pairs import compare_raters
from assay.stats import Estimate

PACKAGES = ("assay", "numpy", "krippendorff", "statsmodels", "scikit-learn")
ITEMS, RATERS, GRADES, MISSING = 100_000, 5, 5, 0.05
REPETITIONS = 5
LEAST_RATIO = 1.0  # at full size: the time of the other library divided by Assay's
SIMULATIONS, TRUTH_ITEMS = 1000, 1_000_000
SIZES = (20, 50, 100, 300)
LEAST_COVERAGE = 0.92
MOST_UNDEFINED = 0.5  # cells with more tables without an interval are shown, not checked

Values = Sequence[float]


# speed


class Task(NamedTuple):
    """One piece of work, by Assay and by another library; both return the same values."""

    name: str
    other: str
    by_assay: Callable[[Floats], Values]
    by_other: Callable[[Floats], Values]
    needs_all_labels: bool = False


def simulate_grades(items: int, seed: int) -> Floats:
    """Return grades near a common one, some of them missing."""
    rng = np.random.default_rng(seed)
    common = rng.integers(0, GRADES, (items, 1))
    grades: Floats = np.clip(common + rng.integers(-1, 2, (items, RATERS)), 0, GRADES - 1).astype(float)
    grades[rng.random(grades.shape) < MISSING] = np.nan
    return grades


def assay_alpha(metrics: Sequence[str], grades: Floats) -> Values:
    labels = Labels.from_matrix(grades)
    return [krippendorff_alpha(labels, metric).value or 0.0 for metric in metrics]


def other_alpha(metrics: Sequence[str], grades: Floats) -> Values:
    return [float(krippendorff.alpha(grades.T, level_of_measurement=metric)) for metric in metrics]  # type: ignore[arg-type]


def assay_fleiss(grades: Floats) -> Values:
    return [assay_coefficients.fleiss_kappa(Labels.from_matrix(grades)).value or 0.0]


def other_fleiss(grades: Floats) -> Values:
    return [float(fleiss_kappa(aggregate_raters(grades.astype(int))[0]))]


def assay_kappas(raters: int, weights: Sequence[str], grades: Floats) -> Values:
    pairs = compare_raters(Labels.from_matrix(grades[:, :raters]))
    return [float(value) for name in weights for value in pairs.kappa[name].value]


def other_kappas(raters: int, weights: Sequence[str], grades: Floats) -> Values:
    values = []
    for name in weights:
        for first, second in combinations(range(raters), 2):
            both = grades[:, [first, second]]
            both = both[~np.isnan(both).any(axis=1)].astype(int)
            values.append(cohen_kappa_score(*both.T, weights=None if name == "none" else name))
    return values


def build_tasks() -> list[Task]:
    tasks = [
        Task(f"α {metric}", "krippendorff", partial(assay_alpha, [metric]), partial(other_alpha, [metric]))
        for metric in METRICS
    ]
    return [
        *tasks,
        Task("α, 3 metrics", "krippendorff", partial(assay_alpha, METRICS), partial(other_alpha, METRICS)),
        Task("Fleiss κ", "statsmodels", assay_fleiss, other_fleiss, True),
        Task(
            "κ of 2 raters",
            "scikit-learn",
            partial(assay_kappas, 2, ["none"]),
            partial(other_kappas, 2, ["none"]),
        ),
        Task(
            "κ of 10 pairs × 3 weights",
            "scikit-learn",
            partial(assay_kappas, RATERS, WEIGHTS),
            partial(other_kappas, RATERS, WEIGHTS),
        ),
    ]


def time_alternately(task: Task, grades: Floats, repetitions: int) -> tuple[list[float], list[float], float]:
    """Return the seconds of both, and the largest difference of their values."""
    ours, theirs, difference = [], [], 0.0
    for _ in range(repetitions):
        values, seconds, _ = time_call(lambda: task.by_assay(grades))
        expected, other_seconds, _ = time_call(lambda: task.by_other(grades))
        ours.append(seconds)
        theirs.append(other_seconds)
        difference = max(difference, float(np.abs(np.subtract(values, expected)).max()))
    return ours, theirs, difference


def speed_section(items: int, repetitions: int, seed: int, is_strict: bool) -> tuple[str, list[str]]:
    """Return the times and ratios of all tasks, and what is slower or differs."""
    grades, rows, problems = simulate_grades(items, seed), [], []
    complete = np.nan_to_num(grades)
    for task in build_tasks():
        print_progress(f"speed: {task.name}")
        ours, theirs, difference = time_alternately(
            task, complete if task.needs_all_labels else grades, repetitions
        )
        ratios = [other / own for own, other in zip(ours, theirs, strict=True)]
        rows.append(
            [
                task.name,
                task.other,
                *map(report.format_spread, (ours, theirs)),
                report.format_spread(ratios, "×"),
                f"{difference:.0e}",
            ]
        )
        median_ratio = sorted(ratios)[len(ratios) // 2]
        if difference > 1e-9:
            problems.append(f"{task.name}: differs from {task.other} by {difference:.1e}")
        if is_strict and median_ratio < LEAST_RATIO:
            problems.append(f"{task.name}: {median_ratio:.2f} times as fast as {task.other}")
    title = f"## Speed: {items:,} items × {RATERS} raters, {MISSING:.0%} of the labels missing"
    head = ["work", "other library", "assay with intervals, s", "other, s", "ratio", "largest difference"]
    return "\n\n".join([title, report.format_table(head, rows), time_whole_report(grades)]), problems


def time_whole_report(grades: Floats) -> str:
    """Return how long the report of `assay judge agreement` takes from a table of judgments."""
    judgments = build_judgments(grades)
    _, seconds, _ = time_call(lambda: compute_agreement(judgments))
    return (
        "The whole report (every coefficient of all raters and of 10 pairs, biases, disagreements) from a "
        f"table of {len(judgments):,} judgments takes {seconds:.2f} s."
    )


def build_judgments(grades: Floats) -> Judgments:
    item, rater = np.nonzero(~np.isnan(grades))
    return Judgments(
        {
            "query_id": [f"q{number // 20}" for number in item],
            "doc_id": [f"d{number}" for number in item],
            "judge": [f"rater{number}" for number in rater],
            "grade": grades[item, rater].tolist(),
        }
    )


# coverage


class Shape(NamedTuple):
    """How labels are simulated: an item has a grade, which a rater gives with a chance, or else another."""

    raters: int
    shares: Sequence[float]  # of the grades
    accuracy: float
    is_near: bool = False  # whether the other grade is one next to it, not one by the shares
    missing: float = 0.0

    def draw(self, rng: np.random.Generator, items: int) -> Floats:
        grades = len(self.shares)
        own = rng.choice(grades, items, p=self.shares)[:, None]
        size = (items, self.raters)
        other = rng.choice(grades, size, p=self.shares)
        if self.is_near:
            other = np.clip(own + rng.choice([-1, 1], size), 0, grades - 1)
        labels: Floats = np.where(rng.random(size) < self.accuracy, own, other).astype(float)
        labels[rng.random(size) < self.missing] = np.nan
        return labels


SHAPES = {
    "4 even grades": Shape(2, (0.25, 0.25, 0.25, 0.25), 0.7, True),
    "4 grades, nearly equal": Shape(2, (0.6, 0.2, 0.1, 0.1), 0.98, True),
    "3 grades, by chance": Shape(2, (0.5, 0.3, 0.2), 0.0),
    "10 % of a grade": Shape(2, (0.9, 0.1), 0.9),
    "7 % of a grade, low agreement": Shape(2, (0.93, 0.07), 0.3),
    "5 % of a grade, by chance": Shape(2, (0.95, 0.05), 0.0),
    "3 raters": Shape(3, (0.4, 0.3, 0.2, 0.1), 0.8, True),
    "3 raters, two rare grades": Shape(3, (0.96, 0.02, 0.02), 0.5),
    "5 raters, 30 % missing": Shape(5, (0.5, 0.2, 0.2, 0.1), 0.6, True, 0.3),
}


def estimate_all(grades: Floats) -> dict[str, Estimate]:
    """Return the estimates whose coverage is measured."""
    labels = Labels.from_matrix(grades)
    agreement, pairs = measure_agreement(labels), compare_raters(labels)
    estimates = {"agreement": agreement.agreement, "Fleiss κ": agreement.fleiss}
    estimates |= {f"α {metric}": estimate for metric, estimate in agreement.alpha.items()}
    estimates |= {"AC1": agreement.ac1, "AC2 quadratic": agreement.ac2["quadratic"]}
    nothing = Estimate(None, None, None, 0.95, 0)
    for name in WEIGHTS:
        label = "κ" if name == "none" else f"κ {name}"
        estimates[label] = pairs.kappa[name].estimate(0) if len(pairs) else nothing
    return estimates


def measure_coverage(shape: Shape, items: int, sims: int, seed: int, truth: dict[str, Estimate]) -> list[str]:
    """Return for each coefficient the share of intervals that cover, `-` if most have no interval."""
    hits: dict[str, list[bool]] = {name: [] for name in truth}
    for number in range(sims):
        for name, e in estimate_all(shape.draw(np.random.default_rng([seed, items, number]), items)).items():
            if e.low is not None and e.high is not None:
                hits[name].append(e.low - 1e-9 <= (truth[name].value or 0.0) <= e.high + 1e-9)
    least = (1 - MOST_UNDEFINED) * sims
    return ["-" if len(values) < least else f"{np.mean(values):.3f}" for values in hits.values()]


def coverage_section(sizes: Sequence[int], sims: int, seed: int, truth_items: int) -> tuple[str, list[str]]:
    """Return the coverage of each coefficient by shape and number of items, and the cells that fail."""
    rows, problems, names = [], [], list[str]()
    slack = 3 * math.sqrt(LEAST_COVERAGE * (1 - LEAST_COVERAGE) / sims)
    for label, shape in SHAPES.items():
        truth = estimate_all(shape.draw(np.random.default_rng([seed, 1]), truth_items))
        names = list(truth)
        for items in sizes:
            print_progress(f"coverage: {label}, {items} items")
            cells = measure_coverage(shape, items, sims, seed, truth)
            rows.append([label, str(items), *cells])
            problems += [
                f"{label}, {items} items: {name} covers {cell}"
                for name, cell in zip(names, cells, strict=True)
                if cell != "-" and float(cell) < LEAST_COVERAGE - slack
            ]
    table = report.format_table(["labels", "items", *names], rows)
    return f"## Coverage of 95% intervals, {sims:,} tables of each kind\n\n{table}", problems


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="speed, coverage (default: both)")
    parser.add_argument("--items", type=int, default=ITEMS, help=f"items of the speed test ({ITEMS:,})")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--sims", type=int, default=SIMULATIONS, help=f"tables of a cell ({SIMULATIONS:,})")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="numbers of items")
    parser.add_argument("--truth", type=int, default=TRUTH_ITEMS, help="items of the table with the truth")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    print(report.machine_heading(PACKAGES))
    sections = {
        "speed": partial(
            speed_section, arguments.items, arguments.repetitions, arguments.seed, arguments.items >= ITEMS
        ),
        "coverage": partial(
            coverage_section, arguments.sizes, arguments.sims, arguments.seed, arguments.truth
        ),
    }
    report.print_sections([sections[name] for name in arguments.sections or sections])


if __name__ == "__main__":
    main()
