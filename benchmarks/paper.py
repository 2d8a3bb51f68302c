"""The figures of docs/paper.md: from the published curves of the paper, and from sweeps made here.

python benchmarks/paper.py FOLDER --published ../shared/data/robustness_paper --figures docs/paper

The sweeps are made in FOLDER where they are not there yet; `--rows` and `--queries` set their size.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import vl_convert

from assay.cli import call
from assay.views.bench_charts import ReportData, chart_parts
from assay.workflows.bench_report import ReportTrialsRequest, report_trials

SWEEP = Path(__file__).parents[1] / "examples" / "bench" / "paper.toml"
DEEP = (
    "faiss.hnsw M=16 efConstruction=60 / efSearch=32,40,48,64,96,104,112,128",
    "faiss.ivfflat nlist=256 / nprobe=4,6,7,8,10,12,13,16",
)
CURVES, HEATMAP = "Robustness of queries, side by side", "r² with the mean recall, data sets side by side"
FLOORS = ("recall=0.85", "recall=0.9", "robustness=0.95", "robustness=0.99", "qps=10000", "qps=20000")


def main() -> None:
    """Make the sweeps, then draw every figure."""
    arguments = parse_arguments()
    figures = arguments.figures.resolve()
    figures.mkdir(parents=True, exist_ok=True)
    published = arguments.published.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(arguments.folder)
    measure(arguments.rows, arguments.queries)
    draw(figures, published)


def parse_arguments() -> argparse.Namespace:
    """The folder of the sweeps, the published tables, and where figures go."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--published", type=Path, required=True)
    parser.add_argument("--figures", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=2_000)
    return parser.parse_args()


def measure(rows: int, queries: int) -> None:
    """Generate two data sets, and sweep graphs and partitions over both."""
    copyfile(SWEEP, "paper.toml")
    for kind in ("shifted", "clusters"):
        if not Path(f"{kind}.fbin").exists():
            size = ["--rows", str(rows), "-d", "48", "--count", str(queries)]
            run("dataset", "generate", kind, f"{kind}.fbin", *size, "--queries", f"{kind}.queries.fbin")
        run("bench", "paper.toml", *data_options(kind), "-o", kind)
    for k in ("10", "100"):
        indexes = [word for index in DEEP for word in ("--index", index)]
        options = ["--metric", "l2", "-k", k, "--mode", "batch", "--repetitions", "1"]
        run("bench", *data_options("shifted"), *options, *indexes, "-o", "deep")


def data_options(kind: str) -> list[str]:
    """The options that name the files of a data set."""
    return ["--base", f"{kind}.fbin", "--queries", f"{kind}.queries.fbin"]


def run(*words: str) -> None:
    """Run a command of assay; an error ends the script."""
    if call(list(words)):
        raise SystemExit(f"assay {' '.join(words)} failed")


def draw(figures: Path, published: Path) -> None:
    """Draw every figure."""
    text, deep = (str(published / f"{name}_10M_k10_cdf.csv") for name in ("text2image", "deep"))
    counted = write_counts(published)
    save(figures / "figure-1.png", ReportTrialsRequest(trials=counted), starts("Recall of queries"))
    both = ReportTrialsRequest(trials="shifted", others=["clusters"])
    save(figures / "figure-3.png", both, starts(HEATMAP))
    several_k = ReportTrialsRequest(trials="deep", k=10, other_ks=[100], mode="batch")
    save(figures / "figure-6.png", several_k, starts(CURVES))
    save(figures / "figure-7.png", ReportTrialsRequest(trials=text, others=[deep]), starts(CURVES))
    one = ReportTrialsRequest(trials="shifted", delta=0.3, floors=FLOORS)
    save(figures / "figure-8.png", one, starts("Robustness against"))
    save(figures / "figure-9.png", one, starts("The trade-off"))
    save(figures / "figures-13-14.png", one, starts("Robustness by"))
    save(figures / "frontiers.png", one, starts("Frontiers"))


def write_counts(published: Path) -> str:
    """Write the published curves of two indexes with their number of queries, so that they are counts."""
    histograms = json.loads((published / "recall_histograms_k10.json").read_text())["text2image_10M"]
    head, *rows = (published / "text2image_10M_k10_cdf.csv").read_text().splitlines()
    chosen = [row for row in rows if row.split(",")[0] in ("ScaNN", "DiskANN")]
    lines = [f"{row},{histograms[row.split(',')[0]]['n_queries']}" for row in chosen]
    Path("counted.csv").write_text("\n".join([f"{head},queries", *lines]) + "\n")
    return "counted.csv"


def starts(title: str) -> Callable[[str], bool]:
    """Whether a part of the report has this title, or begins with it."""
    return lambda found: found.startswith(title)


def save(path: Path, request: ReportTrialsRequest, is_wanted: Callable[[str], bool]) -> None:
    """Draw the first chart of a part of a report, in black on white."""
    report = report_trials(request)
    parts = chart_parts(ReportData(report.study, report.findings, report.planes))
    part = next(part for part in parts if is_wanted(part.section.title))
    spec = json.loads(json.dumps(part.charts[0]).replace("currentColor", "#1b1f24"))
    spec["config"]["background"] = "white"
    path.write_bytes(vl_convert.vegalite_to_png(spec, scale=1.0))
    print(path.name, *sentences(part.section.notes), sep="\n  ")


def sentences(notes: Sequence[Any]) -> list[str]:
    """What the report says below the chart."""
    return [str(note) for note in notes]


if __name__ == "__main__":
    main()
