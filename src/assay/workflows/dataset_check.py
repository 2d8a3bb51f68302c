"""Check an evaluation set: what `assay dataset check` does with one."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.datasets.vectors.formats import FORMATS as VECTOR_FORMATS
from assay.datasets.vectors.formats import format_to_read, parse_file_part
from assay.judging.checks import ERROR, SEVERITIES, Finding
from assay.judging.checks.registry import check_each
from assay.workflows.dataset_versions import PREFIX
from assay.workflows.evaluation_sets import EvaluationSetFiles, open_evaluation_set

_SCALE = re.compile(r"(-?\d+):(-?\d+)")
Watch = Callable[[str], None]  # is told the name of each check when it is done


@dataclass(frozen=True, kw_only=True)
class CheckDatasetRequest:
    """An evaluation set to check, and how."""

    files: EvaluationSetFiles
    grades: str | None = None  # the scale of the judges: 0:3, or 0,1,3
    by: Sequence[str] = ()  # the columns of slices
    k: int = 10
    margin: float = 0.01  # the smallest difference that matters
    is_strict: bool = False  # whether an error is a failure

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"-k expects 1 or more, found {self.k}")
        if not self.margin > 0:
            raise InputError(f"--margin expects a difference above 0, found {self.margin:g}")


@dataclass(frozen=True)
class DatasetCheck:
    """What was found in an evaluation set."""

    source: str
    findings: Sequence[Finding]
    counts: Mapping[str, int]
    is_strict: bool = False
    severities: Mapping[str, int] = field(init=False)  # how many findings have each severity

    def __post_init__(self) -> None:
        totals = Counter(finding.severity for finding in self.findings)
        object.__setattr__(self, "severities", {severity: totals[severity] for severity in SEVERITIES})

    @property
    def exit_code(self) -> int:
        """1 if the check is strict and found an error, else 0."""
        return 1 if self.is_strict and self.severities[ERROR] else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, as `assay dataset check --format json` prints them."""
        findings = [finding.to_dict() for finding in self.findings]
        return {"source": self.source, "counts": dict(self.counts), "severities": dict(self.severities)} | {
            "findings": findings
        }


def check_dataset(request: CheckDatasetRequest, watch: Watch | None = None) -> DatasetCheck:
    """Look for what could make the scores of an evaluation set wrong."""
    data = replace(
        open_evaluation_set(request.files),
        grades=_parse_grades(request.grades),
        by=tuple(request.by),
        k=request.k,
        margin=request.margin,
    )
    findings = list[Finding]()
    for name, found in check_each(data):
        findings += found
        if watch:
            watch(name)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return DatasetCheck(request.files.source, findings, data.counts, request.is_strict)


def _parse_grades(scale: str | None) -> tuple[int, ...]:
    """Return the grades of a scale.

    >>> _parse_grades("0:3"), _parse_grades("0,1,3"), _parse_grades(None)
    ((0, 1, 2, 3), (0, 1, 3), ())
    """
    if scale is None:
        return ()
    span = _SCALE.fullmatch(scale.strip())
    if span and int(span[1]) < int(span[2]):
        return tuple(range(int(span[1]), int(span[2]) + 1))
    try:
        return tuple(sorted({int(grade) for grade in scale.split(",")}))
    except ValueError:
        raise InputError(
            f"--grades expects LOWEST:HIGHEST such as 0:3, or a list such as 0,1,3; found {scale!r}"
        ) from None


def holds_vectors(source: str, formats: Sequence[str] = ()) -> bool:
    """Return whether a path names vectors and not an evaluation set; a Parquet file of lists does.

    >>> holds_vectors("base.fbin"), holds_vectors("qrels.txt"), holds_vectors("base", ["fbin"])
    (True, False, True)
    """
    if formats and formats[0] != "parquet":
        return formats[0] in VECTOR_FORMATS
    if source.startswith(PREFIX) or os.path.isdir(source):
        return False
    file = parse_file_part(source)
    try:
        name = format_to_read(file, None, "vectors").name
    except (InputError, OSError):
        return False
    if name != "parquet" or file.part or not os.path.exists(file.path):
        return True
    return any(kind.is_nested() for kind in pl.read_parquet_schema(file.path).values())
