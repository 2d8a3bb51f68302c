"""assay online interleave: interleaved lists and their credit."""

from __future__ import annotations

from assay.cli.parsers import Subcommand

EXAMPLES = ""
SUBCOMMANDS: dict[str, Subcommand] = {}
