"""Grades outside the scale, far from the others, never used, or all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import polars as pl

from assay.judging.checks.evaluation_set import EvaluationSet
from assay.judging.checks.finding import ERROR, INFO, WARNING, Finding, agree, count_of, examples_of

_OUTLIER = 3  # times the next lower grade
_RARE = 0.01  # of the labels


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find grades that the scale does not have, and grades of the scale that nobody gave."""
    counts = dict(data.labels["grade"].value_counts(sort=False).sort("grade").iter_rows())
    outside = _outside(counts, data)
    if outside:
        rows = data.labels.filter(pl.col("grade").is_in(outside))
        yield Finding(
            "grades_outside_scale",
            ERROR if data.grades else WARNING,
            len(rows),
            f"{count_of(len(rows), 'label')} {agree(len(rows), 'has', 'have')} the grade "
            f"{_list(outside)}, and the others {_list([g for g in counts if g not in outside])}",
            "correct these grades, or name the whole scale with --grades",
            examples_of(rows),
        )
    yield from _find_unused(counts, data)
    yield from _find_constant(counts)


def _outside(counts: dict[int, int], data: EvaluationSet) -> list[int]:
    """Return the grades outside the scale; if it is unknown, rare ones far above the others."""
    if data.grades:
        return [grade for grade in counts if grade not in data.grades]
    ordered, total = sorted(counts), sum(counts.values())
    for below, grade in pairwise(ordered):
        above = [g for g in ordered if g >= grade]
        if grade > _OUTLIER * max(below, 1) and sum(counts[g] for g in above) <= _RARE * total:
            return above
    return []


def _find_unused(counts: dict[int, int], data: EvaluationSet) -> Iterator[Finding]:
    used = [grade for grade in counts if grade not in _outside(counts, data)]
    scale = data.grades or range(max(0, min(used, default=0)), max(used, default=0) + 1)
    unused = [grade for grade in scale if grade not in counts]
    if unused and len(scale) <= 2 * len(used) + 2:
        yield Finding(
            "unused_grades",
            INFO,
            len(unused),
            f"no label has the grade {_list(unused)}, between {_list(used)}",
            "check that no grade was lost when the labels were converted",
            [{"grade": grade} for grade in unused[:5]],
        )


def _find_constant(counts: dict[int, int]) -> Iterator[Finding]:
    if min(counts) > 0:
        yield Finding(
            "no_irrelevant_documents",
            INFO,
            sum(counts.values()),
            f"all labels are relevant (grades {_list(list(counts))}): an irrelevant document cannot be told "
            "from one that nobody judged",
            "keep the labels of irrelevant documents; until then prefer measures that need none, such as "
            "recall",
            [{"grade": grade, "labels": number} for grade, number in list(counts.items())[:5]],
        )
    if max(counts) <= 0:
        yield Finding(
            "no_relevant_documents",
            ERROR,
            sum(counts.values()),
            f"no label is relevant (grades {_list(list(counts))}), so every measure is 0 or undefined",
            "check which column holds the grades (--columns grade=…)",
        )


def _list(grades: list[int]) -> str:
    return ", ".join(map(str, grades))
