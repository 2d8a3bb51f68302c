"""Whether the tests keep what they promise, and how fast they are beside scipy.

speed: the randomisation test and the bootstrap of many queries and measures, each in a process of its own.
typeone: comparisons of systems that do not differ, with slices and measures as they come, and how many
of them raise a false alarm. power: how often a true difference is found, beside what was predicted.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import report
from numpy.typing import NDArray
from tools import clocked, peak

from assay.core.tables import Scores
from assay.evaluation.compare import Options, compare_scores
from assay.evaluation.slices import Slice
from assay.stats import Estimate, estimate
from assay.stats.comparison import Comparison
from assay.stats.paired import TESTS
from assay.stats.power import power
from assay.stats.resampling import PERMUTATIONS, randomisation, resampled_means

Floats = NDArray[np.float64]

ALPHA = 0.05
RATIO = 20  # how much faster than scipy the randomisation test must be at full size
TIMED = 2_000  # of scipy's draws for each measure, unless all are wanted
CUTS = (1, 3, 5, 10, 20, 100)
RANKED = [f"R@{k}" for k in CUTS] + ["RR@10", "RR@100", "nDCG@10", "nDCG@100"]
MEASURES = ("nDCG@10", "R@10", "RR@10", "Robustness(delta=0.3)@10", "ZeroHit@10")
CATEGORIES, LENGTHS = 6, 4
QUERIES = 400  # of a simulated comparison
SIZES = (100, 300, 1000)
DRAWS = 1_000  # permutations and resamples of a simulated comparison
SETTINGS = [("t", "holm"), ("t", "bh"), ("t", "none"), *((test, "holm") for test in TESTS if test != "t")]


@dataclass(frozen=True)
class Size:
    """How much is done."""

    queries: int
    draws: int
    reps: int
    sims: int
    truth: int  # queries from which the true difference is known
    strict: bool = True  # whether the ratio is asked for


FULL = Size(6980, PERMUTATIONS, 3, 1000, 2_000_000)
QUICK = Size(300, 4000, 1, 40, 100_000, strict=False)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# speed


def differences(n: int, seed: int) -> Floats:
    """Differences of n queries with one relevant document each, by ten measures of its rank.

    Most ranks stay, so most differences are 0, and the others come in steps.
    """
    rng = np.random.default_rng(seed)
    before = rng.normal(1.4, 1.8, n)
    after = before + (rng.random(n) < 0.45) * rng.normal(-0.01, 0.8, n)
    return by_rank(after) - by_rank(before)


def by_rank(logs: Floats) -> Floats:
    """The measures of documents at these ranks, given as logarithms."""
    rank = np.maximum(1.0, np.floor(np.exp(logs)))
    columns = [rank <= k for k in CUTS]
    columns += [(rank <= k) / rank for k in (10, 100)] + [(rank <= k) / np.log2(rank + 1) for k in (10, 100)]
    return np.column_stack(columns).astype(np.float64)


def our_ps(values: Floats, draws: int, seed: int) -> Floats:
    return randomisation(values, draws, seed)


def our_ends(values: Floats, draws: int, seed: int) -> Floats:
    made: Floats = np.quantile(resampled_means(values, draws, seed), [0.025, 0.975], axis=0)
    return made


def scipys_ps(values: Floats, draws: int, seed: int) -> Floats:
    from scipy.stats import permutation_test

    def one(column: Floats) -> float:
        found = permutation_test(
            (column, np.zeros(len(column))),
            lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
            permutation_type="samples", vectorized=True, n_resamples=draws, batch=200,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        return float(found.pvalue)

    return np.array([one(column) for column in values.T])


def scipys_ends(values: Floats, draws: int, seed: int) -> Floats:
    from scipy.stats import bootstrap

    def one(column: Floats) -> tuple[float, float]:
        found = bootstrap(
            (column,), np.mean, vectorized=True, method="percentile", n_resamples=draws, batch=50,
            rng=np.random.default_rng(seed),
        ).confidence_interval  # fmt: skip
        return float(found.low), float(found.high)

    return np.array([one(column) for column in values.T]).T


Work = Callable[[Floats, int, int], Floats]
WORKS: dict[str, dict[str, Work]] = {
    "randomisation": {"assay": our_ps, "scipy": scipys_ps},
    "bootstrap": {"assay": our_ends, "scipy": scipys_ends},
}


def child(work: str, tool: str, queries: int, draws: int, seed: int) -> None:
    """Do one piece of work in this process, which does nothing else, and print what it took."""
    import scipy.stats  # noqa: F401  (loaded before the clock starts)

    values, before = differences(queries, seed), peak()
    made, wall, cpu = clocked(lambda: WORKS[work][tool](values, draws, seed))
    print(json.dumps({"values": made.tolist(), "wall": wall, "cpu": cpu, "before": before, "peak": peak()}))


def spawn(*arguments: object) -> dict[str, Any]:
    """What a process of its own printed."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


Taken = dict[str, list[dict[str, Any]]]


def turns(work: str, size: Size, timed: int, seed: int) -> Taken:
    """What Assay and scipy took, one after the other, so that a busy machine is busy for both."""
    taken: Taken = {"assay": [], "scipy": []}
    for rep in range(size.reps):
        for tool, draws in (("assay", size.draws), ("scipy", timed)):
            say(f"speed {rep + 1}/{size.reps}: {work}, {tool}")
            taken[tool].append(spawn(work, tool, size.queries, draws, seed + rep))
    return taken


def speed(size: Size, seed: int, full: bool) -> tuple[str, list[str]]:
    """Assay beside scipy, and whether they agree."""
    timed = size.draws if full else min(size.draws, TIMED)
    rows, tables, problems = [], [], []
    for work in WORKS:
        taken = turns(work, size, timed, seed)
        row, middle = line(taken, size.draws / timed)
        table, agree = beside(work, taken, size, timed, seed)
        rows.append([work, *row])
        tables.append(table)
        if not agree:
            problems.append(f"{work}: assay and scipy differ by more than chance")
        if work == "randomisation" and size.strict and middle < RATIO:
            problems.append(f"the randomisation test is {middle:.1f} times as fast as scipy's, not {RATIO}")
    head = ["work", "assay, s", "scipy, s", "ratio", "CPU of assay, s", "MB before", "peak, MB"]
    title = f"## Speed: {size.draws:,} draws of {size.queries:,} queries × {len(RANKED)} measures"
    note = (
        f"scipy was timed on {timed:,} draws a measure; its seconds are {size.draws / timed:g} times those "
        "(`--full` times all of them)."
    )
    return "\n\n".join([title, report.table(head, rows), *([] if full else [note]), *tables]), problems


def line(taken: Taken, times: float) -> tuple[list[str], float]:
    """A row of the table, and the middle of the ratios."""
    ours, theirs = taken["assay"], [times * one["wall"] for one in taken["scipy"]]
    ratios = [their / one["wall"] for one, their in zip(ours, theirs, strict=True)]
    row = [report.spread([one["wall"] for one in ours]), report.spread(theirs), report.spread(ratios, "×")]
    row += [report.number(max(one[name] for one in ours)) for name in ("cpu", "before", "peak")]
    return row, sorted(ratios)[len(ratios) // 2]


def beside(work: str, taken: Taken, size: Size, timed: int, seed: int) -> tuple[str, bool]:
    """What both found, and whether they differ by no more than chance."""
    ours, theirs = (np.atleast_2d(taken[tool][0]["values"]) for tool in ("assay", "scipy"))
    if work == "randomisation":  # scipy doubles the smaller of two shares, and with it the chance in it
        allowed = 4 * np.sqrt(ours * (1 - ours) / size.draws + ours * (2 - ours) / timed) + 2 / timed
    else:
        allowed = np.broadcast_to(quantile_error(size, timed, seed), ours.shape)
    agree = np.abs(ours - theirs) <= allowed
    shown = [
        [name, shape(a), shape(b), f"{c.max():.2g}", "yes" if good.all() else "no"]
        for name, a, b, c, good in zip(RANKED, ours.T, theirs.T, allowed.T, agree.T, strict=True)
    ]
    what = "p" if work == "randomisation" else "interval"
    head = ["measure", f"assay's {what}", f"scipy's {what}", "four standard errors", "agree"]
    return report.table(head, shown), bool(agree.all())


def quantile_error(size: Size, timed: int, seed: int) -> Floats:
    """Four standard errors of the end of an interval, and the step of one query.

    That of a quantile of means, which are all but normal.
    """
    error = differences(size.queries, seed).std(axis=0) / math.sqrt(size.queries)
    density = math.exp(-(1.959964**2) / 2) / math.sqrt(2 * math.pi)
    chance = math.sqrt(0.025 * 0.975 * (1 / size.draws + 1 / timed)) / density
    made: Floats = 4 * error * chance + 1 / size.queries
    return made


def shape(values: Floats) -> str:
    return " to ".join(f"{value:.5f}" for value in values)


# false alarms


def scores(rng: np.random.Generator, n: int, lift: float = 0.0) -> tuple[Scores, Scores]:
    """Scores of two systems for n queries: a quarter finds nothing, two in five are answered alike."""
    easy = rng.beta(0.7, 1.5, n) * (rng.random(n) > 0.25)
    chances = [np.clip(easy * (1 + more), 0, 1)[:, None] * 0.9 ** np.arange(10) for more in (0.0, lift)]
    before, other = (rng.random((n, 10)) < chance for chance in chances)
    after = np.where((rng.random(n) < 0.6)[:, None], other, before)
    relevant = np.maximum(1 + rng.poisson(4, n), np.maximum(before.sum(axis=1), after.sum(axis=1)))
    ids = [f"q{number}" for number in range(n)]
    return Scores(ids, by_hits(before, relevant)), Scores(ids, by_hits(after, relevant))


def by_hits(hits: NDArray[np.bool_], relevant: NDArray[np.int64]) -> dict[str, Floats]:
    """The measures of which of the top 10 are relevant."""
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.cumsum(discount)[np.minimum(relevant, 10) - 1]
    recall = hits.sum(axis=1) / relevant
    nothing = ~hits.any(axis=1)
    reciprocal = np.where(nothing, 0.0, 1 / (1 + hits.argmax(axis=1)))
    columns = (hits @ discount / ideal, recall, reciprocal, recall >= 0.3 - 1e-9, nothing)
    return {name: column.astype(np.float64) for name, column in zip(MEASURES, columns, strict=True)}


def slices(rng: np.random.Generator, n: int) -> list[Slice]:
    """Six categories, a few of them large, and four lengths: each query is in two slices."""
    many = 1 / np.arange(1, CATEGORIES + 1)
    made = []
    for column, shares in (("category", many / many.sum()), ("length", np.array([0.15, 0.4, 0.3, 0.15]))):
        labels = rng.choice(len(shares), n, p=shares)
        made += [Slice(column, str(v), np.flatnonzero(labels == v).tolist()) for v in range(len(shares))]
    return made


def simulated(seed: int, test: str, correction: str) -> list[Comparison]:
    """One comparison of two systems that do not differ, as a user would make it."""
    rng = np.random.default_rng(seed)
    before, after = scores(rng, QUERIES)
    options = Options(test, correction, seed=seed, permutations=DRAWS)
    return compare_scores(before, {"candidate": after}, slices(rng, QUERIES), options=options).rows


def alarm(rows: Sequence[Comparison]) -> bool:
    """Whether any of the corrected p says that there is a difference."""
    return any(row.corrected is not None and row.corrected <= ALPHA for row in rows)


@dataclass
class Alarms:
    """How many simulated comparisons raised a false alarm, and how many of their single tests."""

    any: list[bool]
    single: dict[str, list[float]]  # by test: of each comparison the share of its tests that alarm

    @property
    def rate(self) -> Estimate:
        return estimate(np.array(self.any, np.float64), "share")


def asked(row: Comparison, test: str) -> str:
    """The test that was asked for; where all differences are equal, another one answers for it."""
    return "McNemar" if row.test == "McNemar" else test


def alarms(test: str, correction: str, sims: int, seed: int) -> Alarms:
    """Simulate comparisons without a difference."""
    made = Alarms([], {})
    for number in range(sims):
        rows = simulated(seed * 1_000_003 + number, test, correction)
        made.any.append(alarm(rows))
        for name in ("McNemar", test):
            ps = [row.p for row in rows if asked(row, test) == name and row.p is not None]
            made.single.setdefault(name, []).append(sum(p <= ALPHA for p in ps) / max(1, len(ps)))
    return made


def typeone(size: Size, seed: int) -> tuple[str, list[str]]:
    """The share of comparisons with any false alarm, and of single tests."""
    rows, problems = [], []
    single: dict[str, list[float]] = {}
    for test, correction in SETTINGS:
        say(f"typeone: {test}, {correction}")
        begun = time.perf_counter()
        made = alarms(test, correction, size.sims, seed)
        single |= made.single
        kept = (made.rate.low or 0.0) <= ALPHA
        if not kept and correction != "none":
            problems.append(f"{test} with {correction} raises false alarms in {made.rate.value:.3f}")
        took = f"{(time.perf_counter() - begun) / size.sims * 1e3:.1f}"
        rows.append([test, correction, rate(made.rate), "yes" if kept else "no", took])
    for name, shares in single.items():
        low = np.mean(shares) - 1.96 * np.std(shares) / math.sqrt(len(shares))
        if low > ALPHA:
            problems.append(f"{name} alone rejects in {np.mean(shares):.3f}")
    title = (
        f"## False alarms: {size.sims:,} comparisons of {QUERIES} queries without a difference, "
        f"{CATEGORIES + LENGTHS} slices × {len(MEASURES)} measures"
    )
    head = ["test", "correction", "any false alarm (95 %)", f"at most {ALPHA}", "ms a comparison"]
    alone = [[name, within(shares)] for name, shares in single.items()]
    tables = [report.table(head, rows), report.table(["test alone", f"p ≤ {ALPHA} (95 %)"], alone)]
    return "\n\n".join([title, *tables]), problems


def rate(made: Estimate) -> str:
    return f"{made.value:.3f} ({made.low:.3f}–{made.high:.3f})"


def within(shares: Sequence[float]) -> str:
    """A mean of one share for each comparison, with its interval (tests of one comparison are alike)."""
    mean, half = np.mean(shares), 1.96 * np.std(shares) / math.sqrt(len(shares))
    return f"{mean:.4f} ({mean - half:.4f}–{mean + half:.4f})"


# power


def truth(lift: float, n: int, seed: int) -> tuple[float, float]:
    """The difference that there is, and the deviation of the queries' differences."""
    rng = np.random.default_rng(seed)
    parts = []
    for first in range(0, n, 100_000):
        before, after = scores(rng, min(100_000, n - first), lift)
        parts.append(after[MEASURES[0]] - before[MEASURES[0]])
    whole = np.concatenate(parts)
    return float(whole.mean()), float(whole.std())


def found(lift: float, n: int, sims: int, seed: int) -> Estimate:
    """How often the t test finds a difference, in comparisons of n queries."""
    options = Options(correction="none")
    hits = []
    for number in range(sims):
        before, after = scores(np.random.default_rng([seed, n, number]), n, lift)
        pair = [Scores(one.query_ids, {MEASURES[0]: one[MEASURES[0]]}) for one in (before, after)]
        (row,) = compare_scores(pair[0], {"candidate": pair[1]}, options=options).rows
        hits.append(row.moved() == "up")
    return estimate(np.array(hits, np.float64), "share")


def powers(size: Size, seed: int, lift: float = 0.2) -> tuple[str, list[str]]:
    """What was found beside what was predicted."""
    say("power: the truth")
    difference, deviation = truth(lift, size.truth, seed)
    rows, problems = [], []
    for n in SIZES:
        say(f"power: {n} queries")
        predicted, made = power(difference, deviation, n, ALPHA), found(lift, n, size.sims, seed)
        error = math.sqrt(predicted * (1 - predicted) / size.sims)
        agree = abs((made.value or 0.0) - predicted) <= 3 * error + 0.01
        rows.append([f"{n:,}", f"{predicted:.3f}", rate(made), "yes" if agree else "no"])
        if not agree:
            problems.append(f"power of {n} queries: predicted {predicted:.3f}, found {made.value:.3f}")
    title = f"## Power: {MEASURES[0]} differs by {difference:.4f}, deviation of a query {deviation:.4f}"
    head = ["queries", "predicted", f"found in {size.sims:,} (95 %)", "agree"]
    return f"{title}\n\n" + report.table(head, rows), problems


def machine() -> str:
    """Where the numbers come from, and whether anything else ran."""
    wanted = ("CPU", "cores", "system", "load at the start", "Python", "assay", "numpy")
    found_here = report.machine()
    made = {name: found_here[name] for name in wanted} | {"scipy": version("scipy")}
    busy = " · **other work runs beside this one: look at the ratios**" if os.getloadavg()[0] > 0.7 else ""
    return " · ".join(f"{name} {value}" for name, value in made.items()) + busy


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sections = ("speed", "typeone", "power")
    made.add_argument(
        "--only", nargs="+", choices=sections, default=sections, metavar="NAME", help=str(sections)
    )
    made.add_argument("--sims", type=int, help=f"simulated comparisons (default: {FULL.sims:,})")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--full", action="store_true", help="time all of scipy's draws, once (ten minutes)")
    made.add_argument("--quick", action="store_true", help="small numbers, to see that everything works")
    made.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    return made.parse_args(arguments)


def main() -> None:
    chosen = options()
    if chosen.child:
        work, tool, *numbers = chosen.child
        child(work, tool, *map(int, numbers))
        return
    size = QUICK if chosen.quick else FULL
    size = replace(size, sims=chosen.sims or size.sims, reps=1 if chosen.full else size.reps)
    parts: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "speed": lambda: speed(size, chosen.seed, chosen.full),
        "typeone": lambda: typeone(size, chosen.seed),
        "power": lambda: powers(size, chosen.seed),
    }
    print(machine())
    report.shown(parts[name] for name in chosen.only)


if __name__ == "__main__":
    main()
