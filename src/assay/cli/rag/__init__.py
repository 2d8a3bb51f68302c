"""assay rag: answers against retrieval; each module has some of the subcommands."""

from __future__ import annotations

import argparse

from assay.cli.parsers import join_subcommands, run_subcommand
from assay.cli.rag import predict, run, study

_FOOTER = """\
A study asks a model every question with the results of many searches, without documents, with placeholders,
and with true neighbours removed; `assay models serve NAME` serves a small model on this machine.

exit codes: 0 done; 2 wrong use or bad input; 3 questions were not asked, or no δ can
be chosen from the answers
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    return join_subcommands(
        "rag",
        "End-to-end answers against retrieval, and the δ that an application needs.",
        [run, study, predict],
        _FOOTER,
    )


command = run_subcommand
