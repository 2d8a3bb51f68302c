"""assay judge: labels of people, clicks and models; each module has some of the subcommands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from assay.cli.parsers import SubcommandModule, join_subcommands, run_subcommand

_MODULES: Sequence[SubcommandModule] = [
]
_FOOTER = """\
`assay judge COMMAND --help` shows the options of each.

exit codes: 0 done; 2 wrong use or bad input; 3 cannot be decided from this data
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    return join_subcommands(
        "judge", "Collect labels of people, clicks and models, and say how far to trust them.", _MODULES, _FOOTER
    )


command = run_subcommand
