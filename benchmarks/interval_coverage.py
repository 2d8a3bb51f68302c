"""Measure how often intervals cover the true value, by the shape of the scores and the number of queries.

means: intervals of measures between 0 and 1, by Gaffke's method, which is conservative.
shares: intervals of Robustness, Success and other shares, by Clopper and Pearson's, which is conservative.
differences: intervals of the mean of paired differences, by Student's t; `*` marks those that say of
themselves that they may be too narrow, with the share of such intervals.
share differences: intervals of paired differences of shares, by Bonett and Price's method.

A cell fails if fewer than 93 % of its intervals cover the true value or are marked.
"""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import report
from numpy.typing import NDArray
from report import print_progress

from assay import evaluate, read
from assay.stats import Estimate, estimate
from assay.stats.bounded_means import UNIT
from assay.stats.comparison import Subject, compare_columns

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

PACKAGES = ("assay", "numpy", "scipy")
LEVEL, LEAST = 0.95, 0.93
SIZES = (2, 5, 10, 20, 50, 100, 300, 1000)
SIMULATIONS = 2000
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "trec_dl2019"
MEASURES = ("nDCG@10", "AP", "RR@10", "P@10")
RUNS = ("bm25base_p", "p_bert")


class Shape(NamedTuple):
    """A distribution of the scores (or differences) of queries, and its mean."""

    draw: Draw
    mean: float


def mixture(share: float, first: Draw, second: Draw | float) -> Draw:
    """Draw from the first with this chance, else from the second, which may be a constant."""

    def draw(rng: np.random.Generator, n: int) -> Floats:
        other = second if isinstance(second, float) else second(rng, n)
        return np.where(rng.random(n) < share, first(rng, n), other)

    return draw


def constant(value: float) -> Draw:
    return lambda rng, n: np.full(n, value)


def beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n)


def uniform(low: float, high: float) -> Draw:
    return lambda rng, n: rng.uniform(low, high, n)


def normal(mean: float, deviation: float) -> Draw:
    return lambda rng, n: rng.normal(mean, deviation, n)


def resample(values: Floats) -> Shape:
    """Draw from these values with replacement."""
    return Shape(lambda rng, n: rng.choice(values, n), float(values.mean()))


def binary(share: float) -> Shape:
    return Shape(mixture(share, constant(1.0), 0.0), share)


MEAN_SHAPES = {
    "uniform": Shape(uniform(0, 1), 0.5),
    "U-shaped": Shape(beta(0.3, 0.3), 0.5),
    "bimodal": Shape(mixture(0.5, beta(2, 20), beta(20, 2)), 0.5),
    "skewed": Shape(beta(0.5, 4), 1 / 9),
    "6 % non-zero": Shape(mixture(0.06, uniform(0, 1), 0.0), 0.03),
    "6 % non-zero, skewed": Shape(mixture(0.06, beta(0.5, 2), 0.0), 0.012),
    "90 % ones": Shape(mixture(0.1, uniform(0, 1), 1.0), 0.95),
    "98 % ones": Shape(mixture(0.02, constant(0.5), 1.0), 0.99),
    "small, 2 % ones": Shape(mixture(0.02, constant(1.0), uniform(0, 0.05)), 0.02 + 0.98 * 0.025),
}
SHARE_SHAPES = {f"{share:.0%}": binary(share) for share in (0.01, 0.06, 0.3, 0.5, 0.9, 0.98)}
DIFFERENCE_SHAPES = {
    "normal": Shape(normal(0.01, 0.15), 0.01),
    "40 % differ": Shape(mixture(0.4, normal(0.02, 0.3), 0.0), 0.008),
    "6 % differ": Shape(mixture(0.06, uniform(-1, 1), 0.0), 0.0),
    "6 % better, none worse": Shape(mixture(0.06, uniform(0, 1), 0.0), 0.03),
    "20 % better, none worse": Shape(mixture(0.2, uniform(0, 1), 0.0), 0.1),
    "2 % lose all": Shape(mixture(0.02, constant(-1.0), 0.0), -0.02),
    "skewed": Shape(lambda rng, n: np.minimum(rng.exponential(0.1, n), 1), 0.1 * (1 - math.exp(-10))),
}


def trinomial(gained: float, lost: float) -> Shape:
    """Draw 1 with the chance of a gained query, -1 with that of a lost one, else 0."""
    chances = (lost, 1 - gained - lost, gained)
    return Shape(lambda rng, n: rng.choice((-1.0, 0.0, 1.0), n, p=chances), gained - lost)


SHARE_DIFFERENCE_SHAPES = {
    f"{gained:.0%} gained, {lost:.0%} lost": trinomial(gained, lost)
    for gained, lost in ((0.2, 0.1), (0.05, 0.05), (0.06, 0.0), (0.02, 0.01), (0.3, 0.02))
}


def real_scores(folder: Path) -> dict[str, dict[str, Floats]]:
    """Return the scores of each query of two runs of TREC DL 2019 by measure; empty without the data."""
    if not folder.exists():
        return {}
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    evaluations = [evaluate(qrels, read(folder / f"input.{run}.gz", "run"), MEASURES) for run in RUNS]
    return {
        measure: {run: e.scores[measure] for run, e in zip(RUNS, evaluations, strict=True)}
        for measure in MEASURES
    }


def estimate_mean(values: Floats) -> Estimate:
    return estimate(values, "mean", LEVEL, bounds=UNIT)


def estimate_share(values: Floats) -> Estimate:
    return estimate(values, "share", LEVEL)


def estimate_difference(differences: Floats, kind: str = "mean") -> Estimate:
    """Return the difference of two systems as a comparison reports it."""
    baseline = np.maximum(-differences, 0.0)[:, None]
    subject = Subject("nDCG@10", kind)
    (comparison,) = compare_columns([subject], baseline, baseline + differences[:, None], level=LEVEL)
    return comparison.difference


class Cell(NamedTuple):
    """How many intervals cover the true value, are marked as too narrow, and either of these."""

    covering: float
    marked: float
    sound: float

    def __str__(self) -> str:
        return f"{self.covering:.3f}" + f" *{self.marked:.2f}" * (self.marked > 0)


def measure_cell(shape: Shape, n: int, method: Callable[[Floats], Estimate], sims: int, seed: int) -> Cell:
    """Simulate samples of n queries; an interval that is unknown is marked, not covering."""
    covering, marked = np.zeros(sims, bool), np.zeros(sims, bool)
    for number in range(sims):
        e = method(shape.draw(np.random.default_rng([seed, n, number]), n))
        marked[number] = e.is_narrow or e.low is None
        if e.low is not None and e.high is not None:
            covering[number] = e.low - 1e-9 <= shape.mean <= e.high + 1e-9
    return Cell(float(covering.mean()), float(marked.mean()), float((covering | marked).mean()))


def coverage_section(
    name: str,
    shapes: Mapping[str, Shape],
    method: Callable[[Floats], Estimate],
    sizes: Sequence[int],
    sims: int,
    seed: int,
) -> tuple[str, list[str]]:
    """Return a table of the coverage of each shape and number of queries, and the cells that fail."""
    rows, problems = [], []
    slack = 3 * math.sqrt(LEAST * (1 - LEAST) / sims)
    for label, shape in shapes.items():
        print_progress(f"{name}: {label}")
        cells = [measure_cell(shape, n, method, sims, seed) for n in sizes]
        rows.append([label, *map(str, cells)])
        problems += [
            f"{name}: {label}, {n} queries: {cell.covering:.3f} cover, {cell.marked:.3f} are marked"
            for n, cell in zip(sizes, cells, strict=True)
            if cell.sound < LEAST - slack
        ]
    table = report.format_table(["shape", *(f"n {n:,}" for n in sizes)], rows)
    return f"## Coverage of {LEVEL:.0%} intervals: {name}, {sims:,} samples\n\n{table}", problems


def build_sections(folder: Path) -> dict[str, tuple[dict[str, Shape], Callable[[Floats], Estimate]]]:
    """Return the shapes and the interval of each section."""
    scores = real_scores(folder)
    means = {f"{m}, {run}": resample(values) for m, runs in scores.items() for run, values in runs.items()}
    differences = {m: resample(runs[RUNS[1]] - runs[RUNS[0]]) for m, runs in scores.items()}
    return {
        "means": (MEAN_SHAPES | means, estimate_mean),
        "shares": (SHARE_SHAPES, estimate_share),
        "differences": (DIFFERENCE_SHAPES | differences, estimate_difference),
        "share differences": (SHARE_DIFFERENCE_SHAPES, partial(estimate_difference, kind="share")),
    }


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sims", type=int, default=SIMULATIONS, help=f"samples of a cell ({SIMULATIONS:,})")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="numbers of queries")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with TREC DL 2019")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    print(report.machine_heading(PACKAGES))
    if not arguments.data.exists():
        print(f"\nscores of real runs are left out: {arguments.data} is not there")
    report.print_sections(
        partial(coverage_section, name, shapes, method, arguments.sizes, arguments.sims, arguments.seed)
        for name, (shapes, method) in build_sections(arguments.data).items()
    )


if __name__ == "__main__":
    main()
