"""Compare the model of Dawid and Skene with crowd-kit, and its errors with the votes, on labels of a crowd.

The labels are `../shared/data/web_crowd` (15,567 labels of 177 raters, with the truth of 2,653 items), and
simulated ones. crowd-kit depends on transformers, so it runs in an environment of its own:

    python -m venv CROWD && CROWD/bin/pip install crowd-kit
    python benchmarks/labels.py --crowd-kit CROWD/bin/python
"""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
from report import print_progress
from tools import time_call

from assay.core.arrays import Floats, Ints
from assay.datasets.judgment_files import read_judgments
from assay.judging.aggregation import Rule, aggregate
from assay.judging.aggregation.dawid_skene import fit_dawid_skene
from assay.judging.aggregation.votes import count_votes
from assay.judging.agreement.labels import Labels

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "web_crowd"
REPETITIONS = 3
SMOOTHINGS = (0.0, 0.01, 0.1, 0.5, 1.0)
SCRIPT = """
import json, sys, time
import pandas as pd
from crowdkit.aggregation import DawidSkene
table = pd.read_csv(sys.argv[1], sep=r"\\s+", header=None, names=["task", "worker", "label"])
seconds = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    labels = DawidSkene(n_iter=100).fit_predict(table)
    seconds.append(time.perf_counter() - start)
found = {str(task): int(label) for task, label in labels.items()}
json.dump({"seconds": min(seconds), "labels": found}, sys.stdout)
"""


def read_truth() -> dict[str, int]:
    """Return the true grade of each item."""
    rows = np.loadtxt(DATA / "web_truth.txt", dtype=int).tolist()
    return {str(item): grade for item, grade in rows}


def share_wrong(grades: dict[str, float], truth: dict[str, int]) -> float:
    """Return the share of the items with a truth whose grade is another."""
    return float(np.mean([grades[item] != grade for item, grade in truth.items()]))


def error_of_majority(labels: Labels, items: list[str], truth: dict[str, int]) -> float:
    """Return the error of the majority of votes, averaged over all draws of the ties."""
    votes = count_votes(labels)
    is_best: Floats = votes == votes.max(axis=1, keepdims=True)
    codes = {grade: code for code, grade in enumerate(labels.scale.tolist())}
    rows = [row for row, item in enumerate(items) if item in truth]
    right = [is_best[row, codes[truth[items[row]]]] / is_best[row].sum() for row in rows]
    return 1 - float(np.mean(right))


def simulate_labels(items: int, raters: int, seed: int = 0) -> Labels:
    """Return the labels of raters who are right in 70 % of the cases, five for each item."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, items)
    grades = np.full((items, raters), np.nan)
    for column in range(5):
        rater: Ints = (np.arange(items) * 5 + column) % raters
        is_right = random.random(items) < 0.7
        grades[np.arange(items), rater] = np.where(is_right, truth, random.integers(0, 4, items))
    return Labels.from_matrix(grades)


def run_crowd_kit(python: str) -> tuple[float, dict[str, float]]:
    """Return the seconds and the labels of crowd-kit."""
    command = [python, "-c", SCRIPT, str(DATA / "web_crowd.txt"), str(REPETITIONS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    return result["seconds"], result["labels"]


def main() -> None:
    """Print the errors and the times."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crowd-kit", metavar="PYTHON", help="the Python of an environment with crowd-kit")
    parser.add_argument("--items", type=int, default=100_000, help="simulated items (default: 100,000)")
    options = parser.parse_args()
    truth = read_truth()
    judgments = read_judgments(DATA / "web_crowd.txt")
    items = judgments.pairs["doc_id"].to_list()
    labels = Labels.from_judgments(judgments)
    print(f"## Errors on {len(truth):,} items with a truth, {len(labels.code):,} labels\n")
    print("| rule | error |\n| --- | --- |")
    print(f"| majority, mean over all draws of the ties | {error_of_majority(labels, items, truth):.4f} |")
    for smoothing in SMOOTHINGS:
        grades = aggregate(judgments, Rule("dawid-skene", smoothing=smoothing)).pairs["grade"].to_list()
        error = share_wrong(dict(zip(items, grades, strict=True)), truth)
        print(f"| dawid-skene, smoothing {smoothing:g} | {error:.4f} |")
    print("\n## Speed\n\n| labels | assay | crowd-kit | ratio |\n| --- | --- | --- | --- |")
    own = min(time_call(lambda: fit_dawid_skene(labels))[1] for _ in range(REPETITIONS))
    other, ratio = "not installed", ""
    if options.crowd_kit:
        print_progress("crowd-kit")
        seconds, found = run_crowd_kit(options.crowd_kit)
        other = f"{seconds:.2f} s, error {share_wrong(found, truth):.4f}"
        ratio = f"{seconds / own:.0f} ×"
    print(f"| {len(labels.code):,} | {own:.3f} s | {other} | {ratio} |")
    many = simulate_labels(options.items, 50)
    seconds = time_call(lambda: fit_dawid_skene(many))[1]
    print(f"| {len(many.code):,} (simulated) | {seconds:.2f} s | | |")


if __name__ == "__main__":
    main()
