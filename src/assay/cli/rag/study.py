"""assay rag show and assay rag delta: what a study found, and the δ that its answers need."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from assay.cli.output import show_result
from assay.cli.parsers import Subcommand, add_format, add_store
from assay.core.errors import InputError, UndecidableError
from assay.rag.delta import CURVES, DeltaChoice
from assay.rag.study import RagStudy
from assay.views.rag import FORMATS, render_delta, render_study
from assay.workflows.rag_studies import read_any_study

EXAMPLES = """  assay rag show study.json
  assay rag delta study.json
  assay rag delta study.json --share 0.9 --format json
"""

Render = Callable[[RagStudy, str, DeltaChoice], str]


class _StudyOutput:
    """A study as JSON, with the δ that was asked for."""

    def __init__(self, study: RagStudy, share: float | None, curve: str | None) -> None:
        self.study, self.choice = study, study.choose_delta(share, curve)

    def to_dict(self) -> dict[str, object]:
        """Return the study as plain data."""
        return {**self.study.result_dict(), "delta": self.choice.to_dict()}


def _add_options(part: argparse.ArgumentParser) -> None:
    part.add_argument(
        "study", metavar="STUDY", help="the file that `assay rag run -o` wrote, or the name of a saved study"
    )
    part.add_argument(
        "--share",
        type=float,
        metavar="S",
        help="choose the least recall with this share of the best accuracy, such as 0.9 (default: the bend)",
    )
    part.add_argument(
        "--curve",
        choices=CURVES,
        help="of removed neighbours, or of the recall that the configurations had (default: removed; "
        "observed if that rises without a bend)",
    )
    add_store(part)
    add_format(part, FORMATS)


def _command(render: Render, must_decide: bool) -> Callable[..., int]:
    def run(arguments: argparse.Namespace) -> int:
        share = arguments.share
        if share is not None and not 0 < share <= 1:
            raise InputError(f"--share expects a share above 0 and up to 1, found {share:g}")
        output = _StudyOutput(read_any_study(arguments.study, arguments.store), share, arguments.curve)
        show_result(output, arguments.format, lambda style: render(output.study, style, output.choice))
        is_open = must_decide and output.choice.delta.value is None
        return UndecidableError.exit_code if is_open else 0

    return run


SUBCOMMANDS = {
    "show": Subcommand(_command(render_study, False), _add_options, "show what a study found"),
    "delta": Subcommand(
        _command(render_delta, True), _add_options, "choose the recall of a query that its answer needs"
    ),
}
