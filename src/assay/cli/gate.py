"""assay gate: pass or fail a candidate by the rules in assay.toml."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli import print_notes
from assay.cli.inputs import add_score_order, score_order
from assay.cli.output import result_text, show_result
from assay.cli.parsers import add_format, make_parser, with_json
from assay.cli.progress import watch_run
from assay.cli.saving import add_saving, save_recordings, save_request
from assay.core.errors import InputError
from assay.views.checks import describe_verdict
from assay.views.gate import FORMATS, render_verdict
from assay.views.notes import warning_notes
from assay.workflows.gate import GateRequest, decide_gate
from assay.workflows.settings import PROJECT_FILE

_EXAMPLES = """examples:
  assay gate
  assay gate --candidate runs/branch.run
  assay gate --project search/assay.toml --baseline runs/main.run --candidate runs/branch.run
  assay gate --format md --output junit=assay.xml > comment.md

A rule holds if its whole interval lies on the right side of its threshold, fails if it is shown to lie on
the wrong side after correction, and is open otherwise.

exit codes: 0 passed; 1 failed; 2 wrong use or bad input; 3 cannot be decided from this data
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    options = make_parser("gate", "Pass or fail a candidate by the rules in assay.toml.", _EXAMPLES)
    options.add_argument(
        "--project",
        default=PROJECT_FILE,
        metavar="FILE",
        help=f"the project with the rules (default: {PROJECT_FILE})",
    )
    options.add_argument("--candidate", metavar="RUN", help="the run to decide on, instead of candidate.run")
    options.add_argument("--baseline", metavar="RUN", help="the run to compare with, instead of baseline.run")
    add_score_order(options)
    add_format(options, FORMATS)
    options.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="FORMAT=FILE",
        help="also write the verdict to a file, such as junit=assay.xml; may be repeated",
    )
    add_saving(options, with_files=False)
    return options


def command(arguments: argparse.Namespace) -> int:
    """Check the rules and print the verdict; return the exit code."""
    outputs = [_parse_output(text) for text in arguments.output]
    saving = save_request(arguments, arguments.project)
    request = GateRequest(
        project=arguments.project,
        candidate=arguments.candidate,
        baseline=arguments.baseline,
        order=score_order(arguments),
        with_recordings=saving is not None,
        with_digests="html" in (arguments.format, *(style for style, _ in outputs)),
    )
    result = decide_gate(request, watch_run)

    def render(style: str) -> str:
        return render_verdict(result.verdict, style, result.digests)

    for style, path in outputs:
        _write_output(path, result_text(result, style, render) + "\n")
    show_result(result, arguments.format, render)
    if arguments.format != "table":
        print_notes([describe_verdict(result.verdict)])
    print_notes(warning_notes(result.verdict.evaluations))
    save_recordings(saving, result.recordings)
    return result.exit_code


def _write_output(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--output {path}: cannot be written ({error.strerror})") from None


def _parse_output(text: str) -> tuple[str, Path]:
    """Return a format and the file to write."""
    style, _, path = text.partition("=")
    formats = with_json(FORMATS)
    if style not in formats or not path:
        raise InputError(
            f"--output expects FORMAT=FILE, with a format of {', '.join(formats)}, found {text!r}"
        )
    return style, Path(path)
