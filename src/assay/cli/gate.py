"""assay gate: pass or fail a candidate by the rules in assay.toml."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from assay.cli import show
from assay.cli.inputs import watched
from assay.cli.parsers import add_format, make_parser
from assay.cli.saving import add_saving, digested, keep
from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.evaluation.gate import Verdict
from assay.project.inputs import Inputs
from assay.project.latencies import percentiles, read_latencies
from assay.project.project import FILE, Project, System, open_project
from assay.project.settings import read_settings
from assay.views.gate import FORMATS, verdict

_EXAMPLES = """examples:
  assay gate
  assay gate --candidate runs/branch.run
  assay gate --project search/assay.toml --baseline runs/main.run --candidate runs/branch.run
  assay gate --format md --output junit=assay.xml > comment.md

A rule holds where its whole interval lies on the right side of its threshold, fails where it is shown
to lie on the wrong side after correction, and is open between.

exit codes: 0 passed; 1 failed; 2 wrong use or bad input; 3 cannot be decided from this data
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = make_parser("gate", "Pass or fail a candidate by the rules in assay.toml.", _EXAMPLES)
    made.add_argument("--project", default=FILE, metavar="FILE", help=f"the rules (default: {FILE})")
    made.add_argument("--candidate", metavar="RUN", help="the run to decide on, in place of candidate.run")
    made.add_argument("--baseline", metavar="RUN", help="the run to compare with, in place of baseline.run")
    add_format(made, FORMATS)
    made.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="write the verdict to a file as well, such as junit=assay.xml; may be repeated",
    )
    add_saving(made, beside=False)
    return made


def command(arguments: argparse.Namespace) -> int:
    """Hold the rules against the candidate; the result is the exit code."""
    outputs = [_output(text) for text in arguments.output]
    project = open_project(arguments.project, candidate=arguments.candidate, baseline=arguments.baseline)
    inputs = project.inputs()
    runs = digested(arguments, inputs.runs)
    made = project.gate(inputs, watched(runs))
    for style, path in outputs:
        _written(path, verdict(made, style) + "\n")
    show(verdict(made, arguments.format))
    if arguments.format != "table":
        print(made.words, file=sys.stderr)
    _save(arguments, project, inputs, made, runs[-1])
    return made.exit_code


def _save(
    arguments: argparse.Namespace, project: Project, inputs: Inputs, made: Verdict, run: Blocks
) -> None:
    """Record the candidate with the verdict, where that was asked for."""
    if not arguments.save or made.evaluation is None:
        return
    from assay.store.saving import experiment_of

    system = System() if arguments.candidate else project.candidate  # its costs are of the run named there
    experiment = experiment_of(
        made.evaluation,
        arguments.save,
        kind="gate",
        qrels=inputs.qrels,
        queries=inputs.queries,
        run=getattr(run, "digest", None),
        configuration=read_settings(system.config) if system.config else {},
        latency=percentiles(read_latencies(system.latencies)) if system.latencies else {},
        figures=system.figures if isinstance(system.figures, Mapping) else {},
        result={"verdict": made.status, "words": made.words},
        tags=arguments.tag,
        note=arguments.note,
    )
    keep(arguments.store, [(experiment, made.evaluation.scores)])


def _written(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--output {path}: cannot be written ({error.strerror})") from None


def _output(text: str) -> tuple[str, Path]:
    """A format and the file it goes to."""
    style, _, path = text.partition("=")
    if style not in FORMATS or not path:
        raise InputError(
            f"--output expects FORMAT=FILE, with a format of {', '.join(FORMATS)}, found {text!r}"
        )
    return style, Path(path)
