"""assay dataset check: look for faults of an evaluation set, or of vectors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.errors import InputError
from assay.core.vectors import METRICS
from assay.views import FORMATS as STYLES
from assay.views.dataset_check import render_dataset_check
from assay.views.vectors import render_vector_checks
from assay.workflows.dataset import CheckVectorsRequest, check_vectors, vector_digests
from assay.workflows.dataset_check import CheckDatasetRequest, check_dataset, holds_vectors
from assay.workflows.evaluation_sets import EvaluationSetFiles

EXAMPLES = """  assay dataset check qrels.txt --queries queries.tsv --run bm25.run --run dense.run
  assay dataset check test/ --train train/ --strict
  assay dataset check dataset:shop --judgments labels.csv --previous dataset:shop@1f0c2a
  assay dataset check base.fbin queries.fbin --metric cosine
"""
_DATASET_OPTIONS = (
    "queries", "documents", "runs", "judgments", "train", "train_queries", "previous", "grades", "by",
    "columns", "strict",
)  # fmt: skip


def _add_check_options(part: argparse.ArgumentParser) -> None:
    part.epilog = f"{part.epilog or ''}\n{_EXIT_CODES}"
    part.add_argument(
        "sources",
        metavar="SOURCE",
        nargs="+",
        help="an evaluation set: qrels, a folder or dataset:NAME, then its runs, queries and documents; or "
        "vectors, then their queries",
    )
    _add_tables(part.add_argument_group("of an evaluation set"))
    vectors = part.add_argument_group("of vectors")
    vectors.add_argument("--metric", choices=METRICS, help="(default: that of the file, else l2)")
    part.add_argument(
        "--from",
        dest="formats",
        action="append",
        default=[],
        metavar="[KIND=]FORMAT",
        help="the format of a file, if neither its content nor its extension tells it",
    )
    add_store(part)
    add_format(part, STYLES)


_EXIT_CODES = """exit codes: 0 done, whatever was found; 1 --strict and a finding of severity error;
2 wrong use or bad input, or vectors that cannot be searched"""


def _add_tables(group: argparse._ActionsContainer) -> None:
    group.add_argument("--queries", metavar="FILE", help="the queries: ids, texts and columns of slices")
    group.add_argument("--documents", metavar="FILE", help="the documents: ids, texts, updated_at")
    group.add_argument(
        "--run",
        dest="runs",
        action="extend",
        nargs="+",
        default=[],
        metavar="RUN",
        help="runs that are scored with it; may be repeated",
    )
    group.add_argument(
        "--judgments",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="what each judge said, from which the qrels were derived; may be repeated",
    )
    group.add_argument(
        "--train", metavar="SET", help="what a system was trained or tuned on: an evaluation set or queries"
    )
    group.add_argument("--train-queries", metavar="FILE", help="the queries of --train, if it has none")
    group.add_argument(
        "--previous", metavar="SET", help="an earlier version (default: the parent of dataset:NAME)"
    )
    group.add_argument("--grades", metavar="SCALE", help="the scale of the judges: 0:3, or 0,1,3")
    group.add_argument(
        "--by",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column of slices, as of `assay eval`; may be repeated (default: all with few values)",
    )
    group.add_argument("-k", type=int, default=10, metavar="K", help="the depth of scores (default: 10)")
    group.add_argument(
        "--margin",
        type=float,
        default=0.01,
        metavar="D",
        help="the smallest difference of nDCG@K that matters (default: 0.01)",
    )
    group.add_argument(
        "--columns",
        action="append",
        default=[],
        metavar="[KIND:]NAME=COLUMN",
        help="which column of a file is query_id, doc_id, grade, score, rank, text or title; may be repeated",
    )
    group.add_argument(
        "--strict", action="store_true", help="exit with 1 if there is a finding of severity error"
    )


def _check(arguments: argparse.Namespace) -> int:
    used = [name for name in _DATASET_OPTIONS if getattr(arguments, name)]
    if not used and (arguments.metric or holds_vectors(arguments.sources[0], arguments.formats)):
        return _check_vectors(arguments, arguments.sources)
    if arguments.metric:
        raise InputError(f"--metric is for vectors, and {_option(used[0])} for evaluation sets")
    result = check_dataset(_request(arguments), _show_progress if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    show_result(
        result,
        arguments.format,
        lambda style: render_dataset_check(
            result.source, result.findings, result.counts, result.severities, style
        ),
    )
    return result.exit_code


def _option(name: str) -> str:
    """Return an option as it is written."""
    return "--run" if name == "runs" else f"--{name.replace('_', '-')}"


def _show_progress(name: str) -> None:
    """Show which check was done last."""
    print(f"\r{name.replace('_', ' ')}: done", end="\033[K", file=sys.stderr, flush=True)


def _request(arguments: argparse.Namespace) -> CheckDatasetRequest:
    source, *others = arguments.sources
    files = EvaluationSetFiles(
        source=source,
        others=others,
        queries=arguments.queries,
        documents=arguments.documents,
        runs=arguments.runs,
        judgments=arguments.judgments,
        train=arguments.train,
        train_queries=arguments.train_queries,
        previous=arguments.previous,
        columns=arguments.columns,
        formats=arguments.formats,
        store=arguments.store,
    )
    return CheckDatasetRequest(
        files=files,
        grades=arguments.grades,
        by=arguments.by,
        k=arguments.k,
        margin=arguments.margin,
        is_strict=arguments.strict,
    )


def _check_vectors(arguments: argparse.Namespace, sources: Sequence[str]) -> int:
    if len(sources) > 2:
        raise InputError(f"expected vectors and their queries, found {len(sources)} files")
    if len(arguments.formats) > 1:
        raise InputError(f"expected one format with --from, found {len(arguments.formats)}")
    base, queries, file_format = (
        sources[0],
        sources[1] if len(sources) > 1 else None,
        next(iter(arguments.formats), None),
    )
    result = check_vectors(
        CheckVectorsRequest(base=base, queries=queries, metric=arguments.metric, format=file_format)
    )
    digests = vector_digests(*(sources if arguments.format == "html" else ()), format=file_format)
    show_result(
        result,
        arguments.format,
        lambda style: render_vector_checks(result.files, result.problems, style, digests),
    )
    return result.exit_code


SUBCOMMANDS = {
    "check": Subcommand(_check, _add_check_options, "look for faults of an evaluation set, or of vectors")
}
