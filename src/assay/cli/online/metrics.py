"""assay online metrics: online metrics of an event log."""

from __future__ import annotations

from assay.cli.parsers import Subcommand

EXAMPLES = ""
SUBCOMMANDS: dict[str, Subcommand] = {}
