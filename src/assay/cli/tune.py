"""assay tune: find the cheapest configuration that meets the floors."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from assay.cli.bench import add_data, add_passes, bench_of, settings_of
from assay.cli.parsers import add_format, make_parser
from assay.cli.truth import Watched
from assay.indexes.choice.space import OBJECTIVES
from assay.indexes.choice.tuning import Tried, Tuner
from assay.project.tune import MODES, chosen, tuner, tuning_in
from assay.views.tuning import FORMATS, tried_in_words, tuning_view

_EXAMPLES = """examples:
  assay tune --base base.fbin --queries queries.fbin --metric l2 --floor recall=0.9 --objective qps \\
    --index 'faiss.hnsw M=8..64 efConstruction=40..400 / efSearch=8..512' \\
    --index 'faiss.ivfflat nlist=64..4096 / nprobe=1..256'
  assay tune --base glove.hdf5 --index 'hnswlib M=8,16,32 / ef=10..800' --floor robustness-0.3=0.99 \\
    --floor memory_mb=500 --objective p99_ms --budget 50 --seconds 3600
  assay tune tune.toml

Parameters of building may be ranges (8..64) or lists (8,16,32). A range after the slash is not drawn: for
each index it is the least value that reaches the floors of recall and robustness.
What was tried is kept: the same command goes on after an interruption, and with a higher --budget.

exit codes: 0 found; 1 nothing meets the floors; 2 wrong use or bad input; 3 nothing could be measured
"""
OUT = "tune-results"
_TUNE = ("objective", "budget", "seconds", "mode", "price")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser("tune", "Find the cheapest configuration that meets the floors.", _EXAMPLES)
    add_data(made, "[data], [run], [[index]], [tune]", OUT)
    made.add_argument(
        "--index",
        action="append",
        default=[],
        metavar="INDEX",
        help="ENGINE NAME=LEAST..MOST NAME=V,V… / NAME=LEAST..MOST; may be repeated",
    )
    made.add_argument(
        "--floor",
        action="append",
        metavar="FIGURE=V",
        help="what must be reached, such as recall=0.9, or the most of what is better small, such as "
        "memory_mb=500; may be repeated",
    )
    made.add_argument("--objective", choices=OBJECTIVES, help="what is to be best (default: qps)")
    made.add_argument("--budget", type=int, metavar="N", help="configurations to try (default: 30)")
    made.add_argument(
        "--seconds", type=float, metavar="S", help="after which none is begun (default: no end)"
    )
    made.add_argument("--price", type=float, metavar="P", help="of an hour of the machine, for the cost")
    made.add_argument("--mode", choices=MODES, help="how queries are sent (default: single)")
    made.add_argument("--seed", type=int, metavar="N", help="of what is drawn (default: 0)")
    add_passes(made)
    add_format(made, FORMATS)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Search, and say what was found; the result is the exit code."""
    try:
        search = _tuner(arguments)
        tuned = search.run(lambda number, one: _say(search, number, one))
    except KeyboardInterrupt:
        if Path(arguments.out).is_dir():
            kept = f"what was tried is kept in {arguments.out}"
            print(f"{kept}: the same command goes on from there", file=sys.stderr)
        raise
    made = chosen(search)
    print(tuning_view(made, tuned, arguments.format))
    more = f"assay select {arguments.out}, assay bench show {arguments.out}"
    if any(one.key for one in tuned.tried):
        print(f"\nevery answer is kept: {more}", file=sys.stderr)
    return int(made.winner is None)


def _tuner(arguments: argparse.Namespace) -> Tuner:
    settings = settings_of(arguments, "tune")
    bench = bench_of(arguments, settings, {"seed": arguments.seed})
    options: dict[str, Any] = {name: getattr(arguments, name) for name in _TUNE}
    asked = {**options, "floors": arguments.floor}
    given = settings.get("tune", {}) | {name: v for name, v in asked.items() if v is not None}
    tuning = tuning_in(given, bench.entries, bench.options.seed, arguments.file or "")
    progress = Watched()
    try:
        return tuner(bench, tuning, arguments.out, progress if sys.stderr.isatty() else None)
    finally:
        progress.end()


def _say(search: Tuner, number: int, one: Tried) -> None:
    best = search.best is one
    print(tried_in_words(number, search.tuning, one, best), file=sys.stderr, flush=True)
