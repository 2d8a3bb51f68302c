"""assay online plan: sample size, duration and detectable effect of an A/B test."""

from __future__ import annotations

from assay.cli.parsers import Subcommand

EXAMPLES = ""
SUBCOMMANDS: dict[str, Subcommand] = {}
