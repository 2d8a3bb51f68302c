"""assay fuse: fuse the runs of several systems into one run."""

from __future__ import annotations

import argparse

from assay.cli import print_notes, show
from assay.cli.inputs import add_file_options, add_score_order, score_order
from assay.cli.parsers import make_parser
from assay.views.notes import fusion_notes
from assay.workflows.fuse import METHODS, NORMALISATIONS, FuseRequest, fuse_runs
from assay.workflows.inputs import TableFiles

_EXAMPLES = """examples:
  assay fuse bm25.run dense.run -o hybrid.run
  assay fuse bm25.run dense.run --k 10 --weight 1 --weight 2 --depth 100 > hybrid.run
  assay fuse bm25.run dense.run --by weighted --normalise zscore --weight 0.3 --weight 0.7 -o hybrid.parquet
  assay fuse bm25.run dense.run | assay eval qrels.txt -

rrf adds weight / (k + rank) of every run that returned a document; weighted adds weight × score, after the
scores of each query in each run are normalised.

exit codes: 0 done; 2 wrong use or bad input
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser("fuse", "Fuse run files into one run, by ranks or by scores.", _EXAMPLES)
    options.add_argument("runs", metavar="RUN", nargs="+", help="two runs or more; - is standard input")
    options.add_argument("--by", choices=METHODS, default="rrf", help="how (default: rrf)")
    options.add_argument("--k", type=float, metavar="K", help="the k of reciprocal rank fusion (default: 60)")
    options.add_argument(
        "--weight",
        type=float,
        action="append",
        metavar="W",
        help="the weight of a run; given once for each run, in their order (default: 1 each)",
    )
    options.add_argument(
        "--normalise",
        choices=tuple(NORMALISATIONS),
        help="how weighted fusion normalises the scores of a query (default: minmax)",
    )
    options.add_argument(
        "--depth", type=int, metavar="N", help="write the best N documents of each query (default: all)"
    )
    options.add_argument(
        "--name", default="fused", help="the name of the run in a TREC file (default: fused)"
    )
    options.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write; its extension is the format (default: TREC, to standard output)",
    )
    add_file_options(options)
    add_score_order(options)
    return options


def command(arguments: argparse.Namespace) -> None:
    """Fuse the runs; print the result if it is not written to a file."""
    files = TableFiles(runs=arguments.runs, columns=arguments.columns, formats=arguments.formats)
    request = FuseRequest(
        files=files,
        order=score_order(arguments),
        by=arguments.by,
        k=arguments.k,
        weights=arguments.weight,
        normalise=arguments.normalise,
        depth=arguments.depth,
        name=arguments.name,
        output=arguments.output,
    )
    result = fuse_runs(request)
    if request.output is None:
        show(result.to_trec())
    queries, documents = len(result.run.query_ids), len(result.run)
    print_notes(
        fusion_notes(queries, documents, result.incomplete_queries, arguments.output, result.warnings)
    )
