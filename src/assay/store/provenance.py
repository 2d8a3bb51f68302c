"""What an experiment records about its code, its machine and its policies."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from typing import Any

FORMULAS = 1  # incremented whenever a formula gives another value for the same input
POLICY = {
    "formulas": FORMULAS,
    "ties": "higher score, then larger document id",
    "missing": "0",  # the score of a judged query that is missing from the run
}


def code_version() -> str | None:
    """The commit of the working directory, with a plus if it has changes; ASSAY_CODE overrides it."""
    override = os.environ.get("ASSAY_CODE")
    if override:
        return override
    try:
        process = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() or None if process.returncode == 0 else None


def environment() -> dict[str, Any]:
    """The versions and the machine that measured."""
    return {
        "assay": version("assay-search"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
