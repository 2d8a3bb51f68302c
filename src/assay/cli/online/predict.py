"""assay online predict: whether offline differences predict online ones."""

from __future__ import annotations

from assay.cli.parsers import Subcommand

EXAMPLES = ""
SUBCOMMANDS: dict[str, Subcommand] = {}
