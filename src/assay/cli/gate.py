"""assay gate: pass or fail a candidate by the rules in assay.toml."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli import close_output
from assay.cli.inputs import watched
from assay.cli.parsers import add_format, make_parser
from assay.core.errors import InputError
from assay.project.project import FILE, open_project
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
    return made


def command(arguments: argparse.Namespace) -> int:
    """Hold the rules against the candidate; the result is the exit code."""
    outputs = [_output(text) for text in arguments.output]
    project = open_project(arguments.project, candidate=arguments.candidate, baseline=arguments.baseline)
    made = project.gate(watched)
    for style, path in outputs:
        _written(path, verdict(made, style) + "\n")
    try:
        print(verdict(made, arguments.format), flush=True)
    except BrokenPipeError:  # whoever reads it has seen enough; the verdict stands
        close_output()
    if arguments.format != "table":
        print(made.words, file=sys.stderr)
    return made.exit_code


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
