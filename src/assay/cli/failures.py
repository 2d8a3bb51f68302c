"""assay failures: the queries that fail, and likely why."""

from __future__ import annotations

import argparse
import sys

from assay.cli import show
from assay.cli.inputs import Inputs, add_inputs, configurations, watched
from assay.cli.parsers import add_config, add_format, add_intervals, add_qrels, add_slices, make_parser
from assay.cli.saving import add_saving, digested, save
from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.evaluation.failures import DEPTH, Failures, failures
from assay.views import FORMATS
from assay.views.failures import SHOWN, failing, not_looked_for

_EXAMPLES = """examples:
  assay failures beir-folder run.txt
  assay failures qrels.txt run.txt --queries queries.tsv --documents corpus.jsonl --by category
  assay failures qrels.txt run.txt -m nDCG@10 --below 0.3
  assay failures qrels.txt hnsw.run --exact flat.run
  assay failures qrels.txt run.txt --format csv > failures.csv

Each relevant document that is missing from the top gets one cause; a query's likely cause is the one that
explains most of them. With the texts of queries and documents more causes can be told.

exit codes: 0 done, also when queries fail; 2 wrong use or bad input; 3 nothing can be said (no query in
common, or none with a value)
"""
_NEVER_JUDGED = (
    "warning: no document that {run} returned was ever judged: check that qrels and run use the same ids"
)


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser(
        "failures", "The queries that fail, grouped, with the likely cause and the fix.", _EXAMPLES
    )
    add_qrels(made)
    made.add_argument("run", metavar="RUN", help="what a search returned; - is standard input")
    made.add_argument(
        "-m", "--measure", default="R@10", metavar="MEASURE", help="what tells a failure (default: R@10)"
    )
    made.add_argument(
        "--below",
        type=float,
        default=0.5,
        metavar="X",
        help="a query below this fails; above, where lower is better (default: 0.5)",
    )
    add_slices(made)
    made.add_argument(
        "--exact", metavar="RUN", help="what exact search returned, to tell what an index loses"
    )
    made.add_argument(
        "--depth", type=int, default=DEPTH, metavar="N", help=f"how far a reranker reaches (default: {DEPTH})"
    )
    add_inputs(made)
    made.add_argument(
        "--show", type=int, default=SHOWN, metavar="N", help=f"how many queries to show (default: {SHOWN})"
    )
    add_format(made, FORMATS)
    add_intervals(made)
    add_config(made)
    add_saving(made)
    return made


def command(arguments: argparse.Namespace) -> None:
    """Find the failing queries and print them."""
    if arguments.show < 0:
        raise InputError(f"--show must be 0 or more, found {arguments.show}")
    arguments.runs = [arguments.run, *[arguments.exact] * bool(arguments.exact)]
    inputs = Inputs.of(arguments)
    settings = configurations(arguments.config, [inputs.runs[0].name])
    runs = digested(arguments, inputs.runs)
    found = _found(inputs, runs, arguments)
    show(failing(found, arguments.format, arguments.show))
    causes = {cause: len(failed) for cause, failed in found.by_cause.items()}
    save(arguments, inputs, [found.evaluation], runs[:1], "failures", settings, {"causes": causes})
    said = hints(found, arguments)
    if said:
        print("\n" * (arguments.format == "table") + "\n".join(said), file=sys.stderr)


def _found(inputs: Inputs, runs: list[Blocks], arguments: argparse.Namespace) -> Failures:
    run, *exact = watched(runs)
    return failures(
        inputs.qrels,
        run,
        arguments.measure,
        arguments.below,
        inputs.queries,
        arguments.by,
        documents=inputs.documents,
        exact=exact[0] if exact else None,
        depth=arguments.depth,
        level=arguments.level,
        seed=arguments.seed,
    )


def hints(found: Failures, arguments: argparse.Namespace) -> list[str]:
    """What a reader must know and does not see: what was not looked for, and where the other queries are."""
    said = [_NEVER_JUDGED.format(run=found.name)] * (not found.counts.judged_returned)
    if arguments.format in ("json", "md", "html") or not found.failing:
        return said
    said += [f"not looked for: {line}" for line in not_looked_for(found)]
    more = arguments.format == "table" and len(found.failing) > arguments.show
    return said + ["every failing query: --format csv"] * more
