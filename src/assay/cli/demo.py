"""assay demo: the main job on a built-in help centre."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from shutil import which

from assay.cli.eval import hints
from assay.cli.inputs import Inputs
from assay.cli.parsers import make_parser
from assay.core.errors import InputError
from assay.datasets import Collection, helpcentre, write
from assay.evaluation import evaluate
from assay.search.embedded import BM25, LSA
from assay.views import summary

_MEASURES = ("nDCG@10", "R@10", "Robustness(delta=0.5)@10", "ZeroHit@10")
_DEPTH = 100
_NEXT = """
try next:
  {assay} eval {folder}/helpcentre {folder}/bm25.run {folder}/lsa.run --by frequency --by platform
  {assay} eval {folder}/helpcentre {folder}/lsa.run --by intent -m nDCG@10 --unjudged
  {assay} eval {folder}/helpcentre {folder}/lsa.run --per-query --format csv
  {assay} eval YOUR_QRELS YOUR_RUN"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "demo",
        "Score two searches of a help centre, one by words and one by vectors, side by side. "
        "The collection, both runs and a report are left in a folder to play with.",
        "example:\n  assay demo --folder /tmp/assay-demo",
    )
    made.add_argument(
        "--folder", default="assay-demo", metavar="DIR", help="where to leave the files (default: assay-demo)"
    )
    return made


def command(arguments: argparse.Namespace) -> None:
    """Search the help centre twice, score both and say what to try next."""
    folder = Path(arguments.folder)
    _make(folder)
    queries, qrels, documents = helpcentre()
    _say(f"a help centre: {len(documents)} articles, {len(queries)} queries, {len(qrels):,} judgments")
    runs = [searcher.search(queries, _DEPTH) for searcher in (BM25(documents), LSA(documents))]
    write(Collection(queries, qrels, documents), folder / "helpcentre", format="beir")
    for run in runs:
        write(run, folder / f"{run.name}.run", format="trec")
    _say("searched by words (bm25) and by vectors (lsa)\n")
    evaluations = [evaluate(qrels, run, _MEASURES, queries, ["category"]) for run in runs]
    print(summary(evaluations, "table"))
    sys.stdout.flush()
    report = folder / "report.html"
    report.write_text(summary(evaluations, "html"), encoding="utf-8")
    _say("\n" + "\n".join(hints(evaluations, Inputs(qrels, queries, documents, list(runs)), 3)))
    _say(f"\nthe same with drawn intervals: {report}")
    _say(_NEXT.format(assay=_program(), folder=folder))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--folder {folder}: cannot be made ({error.strerror}); name another") from None


def _program() -> str:
    """How this program is called from here."""
    return "assay" if which("assay") else os.path.relpath(sys.argv[0])


def _say(text: str) -> None:
    print(text, file=sys.stderr)
