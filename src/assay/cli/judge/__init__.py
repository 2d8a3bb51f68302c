"""assay judge: labels of people, clicks and models; each module has some of the subcommands."""

from __future__ import annotations

import argparse

from assay.cli.judge import agreement, annotation, clicks, estimate, labels, llm
from assay.cli.parsers import join_subcommands, run_subcommand

_FOOTER = """\
`assay judge COMMAND --help` shows the options of each.

exit codes: 0 done; 1 a judge does not meet what `llm --require` asks; 2 wrong use or bad input;
3 cannot be decided from this data
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    return join_subcommands(
        "judge",
        "Collect labels of people, clicks and models, and say how far to trust them.",
        [annotation, agreement, labels, clicks, llm, estimate],
        _FOOTER,
    )


command = run_subcommand
