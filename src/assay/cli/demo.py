"""assay demo: the whole loop on a built-in help centre."""

from __future__ import annotations

import argparse
import os
import sys
from shutil import which

from assay.cli.parsers import make_parser
from assay.views.demo import DemoStep, render_step
from assay.workflows.demo import DemoRequest, DemoResult, demo

_INTRODUCTION = (
    "a help centre with 360 articles and 280 queries, searched by words (bm25) and by vectors (lsa)"
)
_NEXT = """
try next:
  {assay} compare {folder}/helpcentre {folder}/bm25.run {folder}/lsa.run --by frequency --by category
  {assay} gate --project {folder}/assay.toml --baseline {folder}/lsa.run --candidate {folder}/bm25.run
  {assay} run --project {folder}/assay.toml -o {folder}/runs words hybrid
  {assay} judge agreement {folder}/judging/labels.csv
  {assay} online ab {folder}/traffic/ab_test.ndjson --project {folder}/assay.toml
  {assay} online predict --store {folder}/store
  {assay} bench {folder}/bench.toml -o {folder}/bench --index 'faiss.flat' --index 'faiss.nsg / search_L=32'
  {assay} bench report {folder}/bench --recall 0.95 --format html > report.html
  {assay} select {folder}/bench --floor recall=0.9 --floor robustness-0.1=0.999
  {assay} eval YOUR_QRELS YOUR_RUN
  {assay} serve --store {folder}/store  # the dashboard: http://127.0.0.1:8765"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = make_parser(
        "demo",
        "Search a help centre by words and by vectors; score both, compare them, find what fails and why, "
        "and decide; build an evaluation set from labels of two raters and a model; follow the experiments "
        "of five nights; simulate a fortnight of users and decide by what they do; measure two vector "
        "indexes; and let a small language model answer questions, if it is on this machine. The "
        "collection, the runs, the rules, the labels, the logs, the store, the vectors and the reports "
        "stay in a folder to try things on.",
        "example:\n  assay demo --folder /tmp/assay-demo\n\nexit codes: 0 done; 2 wrong use or bad input",
    )
    parser.add_argument(
        "--folder", default="assay-demo", metavar="DIR", help="folder of the files (default: assay-demo)"
    )
    parser.add_argument("--verbose", action="store_true", help="print the full tables of each step")
    return parser


def command(arguments: argparse.Namespace) -> None:
    """Run the demo, print each step, and name commands to try next."""
    print(_INTRODUCTION, file=sys.stderr)

    def print_step(step: DemoStep) -> None:
        print(f"\n{render_step(step, arguments.verbose)}", flush=True)

    _print_end(demo(DemoRequest(folder=arguments.folder), print_step))


def _print_end(result: DemoResult) -> None:
    if result.missing_extra:
        print(f"\nno charts: {result.missing_extra}", file=sys.stderr)
    pages = ", ".join(result.pages)
    print(f"\nfull reports in {result.folder}: {pages}; full tables here: --verbose", file=sys.stderr)
    print(_NEXT.format(assay=_program_name(), folder=result.folder), file=sys.stderr)


def _program_name() -> str:
    """How this program is called from here."""
    return "assay" if which("assay") else os.path.relpath(sys.argv[0])
