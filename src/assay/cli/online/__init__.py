"""assay online: what users did; each module has one of the subcommands."""

from __future__ import annotations

import argparse

from assay.cli.online import ab, interleave, metrics, plan, predict
from assay.cli.parsers import join_subcommands, run_subcommand

_FOOTER = """\
`assay online COMMAND --help` shows the options of each.

exit codes: 0 done; 1 a guardrail of an A/B test is breached; 2 wrong use or bad input;
3 cannot be decided from this data
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    return join_subcommands(
        "online",
        "Online metrics from event logs, A/B tests, interleaving, and whether offline predicted online.",
        [metrics, plan, ab, interleave, predict],
        _FOOTER,
    )


command = run_subcommand
