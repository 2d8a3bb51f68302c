"""What was measured, as an experiment that can be kept."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from assay.core.records import Experiment, Metric
from assay.core.tables import Qrels, Queries
from assay.evaluation import Evaluation

FORMULAS = 1  # raised whenever a formula gives another value for the same input
POLICY = {
    "formulas": FORMULAS,
    "ties": "higher score, then larger document id",
    "missing": "0",  # what a judged query that is missing from the run counts
}


def experiment_of(
    evaluation: Evaluation,
    name: str,
    *,
    kind: str = "eval",
    qrels: Qrels | None = None,
    queries: Queries | None = None,
    run: str | None = None,
    only_common: bool = False,
    configuration: Mapping[str, Any] | None = None,
    latency: Mapping[str, float] | None = None,
    figures: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
    note: str = "",
) -> Experiment:
    """An evaluation as an experiment: what it gave, on which data, and how it was measured."""
    digests = {"qrels": qrels and qrels.digest, "queries": queries and queries.digest, "run": run}
    return Experiment(
        name=name,
        kind=kind,
        configuration=configuration or {},
        metrics=tuple(_metrics(evaluation)),
        digests={role: digest for role, digest in digests.items() if digest},
        policy=POLICY | ({"missing": "left out"} if only_common else {}),
        latency=latency or {},
        figures=figures or {},
        code=code_version(),
        environment=environment(),
        result={"run": evaluation.name, "counts": evaluation.counts._asdict(), **(result or {})},
        tags=tuple(tags),
        note=note,
    )


def _metrics(evaluation: Evaluation) -> list[Metric]:
    made = [Metric(m, "", "", e.value, e.low, e.high, e.n) for m, e in evaluation.estimates.items()]
    for part in evaluation.by:
        for m, e in part.estimates.items():
            made.append(Metric(m, part.column, part.value, e.value, e.low, e.high, e.n))
    return made


def code_version() -> str | None:
    """The commit of the folder one works in, a plus where it was changed since; ASSAY_CODE overrides it."""
    given = os.environ.get("ASSAY_CODE")
    if given:
        return given
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip() or None if told.returncode == 0 else None


def environment() -> dict[str, Any]:
    """What it was measured with."""
    return {
        "assay": version("assay"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
    }
