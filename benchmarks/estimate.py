"""Measure how often estimates from few human and many model labels cover the value by human labels.

pairs: the mean grade and the shares of relevant pairs of rag25_judgments (10,284 pairs with the labels of
people and of a language model), from random pairs that people labelled.
differences: nDCG@10 of two simulated systems on simulated queries, each with documents of one query of
rag25_judgments, from queries that people labelled.
single pairs: P@10 and DCG@10 of these systems, and their differences, from random pairs that people labelled.
no help: the model's labels in a random order: the interval must not be wider than that of people alone.
next labels: a third of the labels are those that `judge_next` names, weighted by their probabilities.

A cell is the share of intervals that cover the value by all human labels. Width: that of the interval over
that of human labels alone. A row fails if both kinds of labels cover less than 93 % or more than 97 % from
100 labels on, or if the width without help exceeds 1.02 from 50 labels on.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import report
from numpy.typing import NDArray
from report import print_progress

from assay import Qrels, read
from assay.core.tables import Run
from assay.judging.estimate.estimates import estimate_from_labels
from assay.judging.estimate.pairs import join_labels
from assay.judging.estimate.values import run_values
from assay.stats.prediction_powered import LabelledUnits, PoweredEstimate, estimate_powered

Floats = NDArray[np.float64]
Labels = dict[str, dict[str, float]]

PACKAGES = ("assay", "numpy", "scipy", "polars")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "rag25_judgments"
LEAST, MOST, WIDEST = 0.93, 0.97, 1.02
SIMULATIONS, SIZES = 1000, (20, 50, 100, 300)
MEASURES = ("grade", "relevant", "relevant(rel=2)")
UNIVERSE, QUERIES, DOCUMENTS = 4000, 1000, 30
NOISE = {"first": 2.0, "second": 1.5}  # of the grades by which the simulated systems rank


class Data(NamedTuple):
    """The labels of people and of the model of the same pairs, by query."""

    human: Labels
    model: Labels


def read_data(folder: Path) -> Data:
    human, model = (
        read(folder / name, "qrels").to_dict()
        for name in ("qrels.rag25.test.txt", "qrels.rag25.test-umbrela2.txt")
    )
    return Data({q: {d: docs[d] for d in model[q]} for q, docs in human.items()}, model)


class Tally:
    """How often the intervals of one row cover, and how wide they are."""

    def __init__(self) -> None:
        self.count, self.covering, self.widths, self.worth = 0, np.zeros(3), list[float](), list[float]()
        self.halves = list[float]()

    def add(self, powered: PoweredEstimate, truth: float) -> None:
        self.count += 1
        for i, e in enumerate((powered.combined, powered.human_only, powered.model_only)):
            covers = e.low is not None and e.high is not None and e.low - 1e-12 <= truth <= e.high + 1e-12
            self.covering[i] += covers
        if powered.combined.low is not None and powered.combined.high is not None:
            self.halves.append((powered.combined.high - powered.combined.low) / 2)
        if powered.width_ratio is not None:
            self.widths.append(powered.width_ratio)
            self.worth.append((powered.effective_n or 0.0) / powered.combined.n)

    @property
    def coverage(self) -> float:
        return float(self.covering[0] / self.count)

    @property
    def width(self) -> float:
        return float(np.mean(self.widths))

    def cells(self) -> list[str]:
        shares = [f"{share:.3f}" for share in self.covering / self.count]
        half = f"±{float(np.mean(self.halves)):.4f}"
        return [*shares, half, f"{self.width:.3f}", f"{float(np.mean(self.worth)):.2f}"]


HEAD = ["both cover", "people alone", "model alone", "interval", "width", "labels are worth"]
Table = dict[tuple[str, int], Tally]


def make_section(
    title: str, head: str, table: Table, is_exact: bool = True, widest: float = 9.0
) -> tuple[str, list[str]]:
    """Return the table of a section, and the rows that miss their targets."""
    rows = [[name, str(n), *tally.cells()] for (name, n), tally in table.items()]
    problems = []
    for (name, n), tally in table.items():
        slack = 3 * (LEAST * (1 - LEAST) / tally.count) ** 0.5 if not is_exact else 0.0
        most = MOST if is_exact else 1.0
        if not LEAST - slack <= tally.coverage <= most:
            problems.append(f"{title}: {name}, {n}: {tally.coverage:.3f} cover")
        if tally.width > widest:
            problems.append(f"{title}: {name}, {n}: width {tally.width:.3f}")
    simulations = max(tally.count for tally in table.values())
    text = report.format_table(["value", head, *HEAD], rows)
    return f"## {title}, {simulations:,} samples\n\n{text}", problems


def sample_pairs(data: Labels, n: int, rng: np.random.Generator) -> Labels:
    """Return n random pairs of labels."""
    pairs = [(query, doc) for query, docs in data.items() for doc in docs]
    sample: Labels = {}
    for place in rng.choice(len(pairs), n, replace=False).tolist():
        query, doc = pairs[place]
        sample.setdefault(query, {})[doc] = data[query][doc]
    return sample


def pair_truths(human: Labels) -> dict[str, float]:
    grades = np.array([grade for docs in human.values() for grade in docs.values()])
    return dict(zip(MEASURES, (grades.mean(), (grades >= 1).mean(), (grades >= 2).mean()), strict=True))


def pairs_section(data: Data, sizes: Sequence[int], sims: int, seed: int) -> tuple[str, list[str]]:
    truths, model, table = pair_truths(data.human), Qrels(data.model), Table()
    for n in sizes:
        print_progress(f"pairs: {n} human labels")
        for number in range(sims):
            human = Qrels(sample_pairs(data.human, n, np.random.default_rng([seed, n, number])))
            result = estimate_from_labels(model, human, measures=MEASURES, unit="pair", next_count=0)
            for e in result.estimates:
                table.setdefault((e.target.measure, n), Tally()).add(e.estimate, truths[e.target.measure])
    title = "Pairs of rag25_judgments"
    text, _ = make_section(title, "human labels", dict(sorted(table.items())))
    checked = {key: tally for key, tally in table.items() if key[1] >= 100}
    return text, make_section(title, "human labels", checked, sims >= SIMULATIONS)[1] if checked else []


def no_help_section(data: Data, sizes: Sequence[int], sims: int, seed: int) -> tuple[str, list[str]]:
    """Estimate the mean grade with the labels of the model in a random order."""
    human = np.array([grade for docs in data.human.values() for grade in docs.values()])
    model = np.array([data.model[q][d] for q, docs in data.human.items() for d in docs])
    table = Table()
    for n in sizes:
        for number in range(sims):
            rng = np.random.default_rng([seed, n, number])
            rows, shuffled = rng.choice(len(human), n, replace=False), rng.permutation(model)
            units = LabelledUnits(human[rows], shuffled[rows], shuffled)
            table.setdefault(("grade", n), Tally()).add(estimate_powered([units]), float(human.mean()))
    text, _ = make_section("No help", "human labels", table)
    checked = {key: tally for key, tally in table.items() if key[1] >= 50}
    return text, make_section("No help", "", checked, False, WIDEST)[1] if checked else []


class Simulation(NamedTuple):
    """Labels of simulated queries by people and by the model, and the runs of two systems."""

    human: Labels
    model: Labels
    runs: list[Run]


def simulate(data: Data, queries: int, seed: int) -> Simulation:
    """Return queries with documents of one real query each; systems rank by noisy human grades."""
    rng, names = np.random.default_rng(seed), list(data.human)
    human, model = Labels(), Labels()
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in NOISE}
    for number in range(queries):
        source = names[int(rng.integers(len(names)))]
        docs = [list(data.human[source])[i] for i in rng.choice(len(data.human[source]), DOCUMENTS, False)]
        human[f"q{number}"] = {doc: data.human[source][doc] for doc in docs}
        model[f"q{number}"] = {doc: data.model[source][doc] for doc in docs}
        for name, noise in NOISE.items():
            values = rng.normal(0, noise, DOCUMENTS) + [data.human[source][doc] for doc in docs]
            scores[name][f"q{number}"] = dict(zip(docs, values.tolist(), strict=True))
    return Simulation(human, model, [Run(ranking, name=name) for name, ranking in scores.items()])


def differences_section(
    data: Data, sizes: Sequence[int], sims: int, seed: int, queries: int
) -> tuple[str, list[str]]:
    """Estimate nDCG@10 of queries drawn from many simulated ones, some of them labelled by people."""
    print_progress("differences: the simulated queries")
    universe = simulate(data, queries, seed)
    pairs = join_labels(Qrels(universe.model), Qrels(universe.human))
    single, differences = run_values(pairs, universe.runs, ["nDCG@10"])
    table = Table()
    for target in (*single, *differences):
        name = f"nDCG@10, {target.run} − {target.baseline}" if target.baseline else f"nDCG@10, {target.run}"
        truth = float(target.human.mean())
        for n in sizes:
            for number in range(sims):
                rng = np.random.default_rng([seed, n, number])
                drawn = rng.choice(queries, QUERIES)  # the queries of one evaluation
                human, model = target.human[drawn], target.model[drawn]
                units = LabelledUnits(human[:n], model[:n], model)
                powered = estimate_powered([units], bounds=target.bounds)
                table.setdefault((name, n), Tally()).add(powered, truth)
    title = f"nDCG@10 of two simulated systems, {QUERIES:,} queries"
    text, _ = make_section(title, "human-labelled queries", table)
    checked = {key: tally for key, tally in table.items() if key[1] >= 100}
    return text, make_section(title, "", checked, sims >= SIMULATIONS)[1] if checked else []


def single_pairs_section(data: Data, sims: int, seed: int) -> tuple[str, list[str]]:
    """Estimate sums over rankings, pair by pair, for fixed queries and for queries like them."""
    universe, table = simulate(data, 400, seed), Table()
    model, measures = Qrels(universe.model), ["P@10", "DCG@10"]
    pairs = join_labels(model, Qrels(universe.human))
    single, differences = run_values(pairs, universe.runs, measures)
    truths = {(t.measure, t.baseline, t.run): float(t.human.mean()) for t in (*single, *differences)}
    print_progress("single pairs")
    for number in range(sims):
        human = Qrels(sample_pairs(universe.human, 1200, np.random.default_rng([seed, number])))
        result = estimate_from_labels(
            model, human, universe.runs, measures, unit="pair", is_fixed=True, next_count=0
        )
        for e in (*result.estimates, *result.differences):
            t = e.target
            name = f"{t.measure}, {t.run} − {t.baseline}" if t.baseline else f"{t.measure}, {t.run}"
            table.setdefault((name, 1200), Tally()).add(e.estimate, truths[t.measure, t.baseline, t.run])
    return make_section("Single pairs, 400 queries", "human labels", table, is_exact=False)


def next_labels_section(data: Data, sims: int, seed: int) -> tuple[str, list[str]]:
    """Label two thirds at random and the third that is named; compare with as many random pairs."""
    universe, table = simulate(data, 400, seed), Table()
    print_progress("next labels")
    pairs_of_data, pairs_of_run = (
        Simulation(data.human, data.model, []),
        universe._replace(runs=universe.runs[:1]),
    )
    joined = join_labels(Qrels(universe.model), Qrels(universe.human))
    dcg = float(run_values(joined, universe.runs[:1], ["DCG@10"])[0][0].human.mean())
    tasks = (
        ("grade", 300, pairs_of_data, pair_truths(data.human)["grade"]),
        ("DCG@10", 600, pairs_of_run, dcg),
    )
    for measure, n, labels, truth in tasks:
        for number in range(sims):
            first = sample_pairs(labels.human, n * 2 // 3, np.random.default_rng([seed, number]))
            _, pool = estimate_value(labels, measure, first, n // 3)
            more = {query: {doc: labels.human[query][doc] for doc in docs} for query, docs in pool.items()}
            named, _ = estimate_value(labels, measure, more, 0, Run(pool))
            table.setdefault((f"{measure}, a third named", n), Tally()).add(named, truth)
            both = sample_pairs(labels.human, n, np.random.default_rng([seed, number]))
            drawn, _ = estimate_value(labels, measure, both, 0)
            table.setdefault((f"{measure}, all at random", n), Tally()).add(drawn, truth)
    return make_section("Next labels", "human labels", table, is_exact=False)


def estimate_value(
    labels: Simulation, measure: str, human: Labels, next_count: int, chances: Run | None = None
) -> tuple[PoweredEstimate, Labels]:
    """Return the estimate for these queries, and the pool to label next with its probabilities."""
    result = estimate_from_labels(
        Qrels(labels.model),
        Qrels(human),
        labels.runs,
        [measure],
        unit="pair",
        is_fixed=True,
        chances=chances,
        next_count=next_count,
    )
    pool: Labels = {}
    for pair in result.next_labels.pool:
        pool.setdefault(pair.query_id, {})[pair.doc_id] = pair.inclusion_probability
    return result.estimates[0].estimate, pool


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sims", type=int, default=SIMULATIONS, help=f"samples of a row ({SIMULATIONS:,})")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="human labels")
    parser.add_argument(
        "--queries", type=int, default=UNIVERSE, help=f"simulated queries to draw from ({UNIVERSE:,})"
    )
    parser.add_argument("--data", type=Path, default=DATA, help="the folder rag25_judgments")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    print(report.machine_heading(PACKAGES))
    if not arguments.data.exists():
        raise SystemExit(f"expected the data in {arguments.data}, found none")
    data, sims, seed = read_data(arguments.data), arguments.sims, arguments.seed
    few = max(1, sims // 4)  # of the sections whose samples take longer
    sections: list[Callable[[], tuple[str, list[str]]]] = [
        partial(pairs_section, data, arguments.sizes, sims, seed),
        partial(differences_section, data, arguments.sizes, sims, seed, arguments.queries),
        partial(no_help_section, data, arguments.sizes, sims, seed),
        partial(single_pairs_section, data, few, seed),
        partial(next_labels_section, data, few, seed),
    ]
    report.print_sections(sections)


if __name__ == "__main__":
    main()
