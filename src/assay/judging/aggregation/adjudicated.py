"""The decisions of adjudicators, which win over the labels of the other judges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from assay.core.arrays import Bools, Floats
from assay.core.errors import InputError
from assay.core.judgments import Judgments

PREFIX = "adjudicator "  # before the name of the person in the name of the judge


def find_adjudicators(judgments: Judgments, names: Sequence[str] = ()) -> list[str]:
    """Return the judges who are adjudicators: those named, or all whose name begins with `adjudicator`."""
    unknown = [name for name in names if name not in judgments.judges]
    if unknown:
        raise InputError(f"there is no judge {unknown[0]!r} among {', '.join(judgments.judges[:20])}")
    if names:
        return list(names)
    return [judge for judge in judgments.judges if judge == PREFIX.strip() or judge.startswith(PREFIX)]


def adjudicated_grades(judgments: Judgments, adjudicators: Sequence[str]) -> tuple[Floats, Bools]:
    """Return the grade that an adjudicator gave each pair, and which pairs one looked at.

    A grade is NaN if no adjudicator looked at the pair, or if none could rate it.
    """
    is_decision = judgments.frame["judge"].is_in(list(adjudicators)).to_numpy()
    rows = np.flatnonzero(is_decision)
    grades = np.full(len(judgments.pairs), np.nan)
    is_seen = np.zeros(len(judgments.pairs), np.bool_)
    is_seen[judgments.pair_codes[rows]] = True
    rated = rows[~np.isnan(judgments.grades[rows])]
    grades[judgments.pair_codes[rated]] = judgments.grades[rated]
    differing = rated[grades[judgments.pair_codes[rated]] != judgments.grades[rated]]
    if len(differing):
        query, doc, judge = judgments.frame.select("query_id", "doc_id", "judge").row(int(differing[0]))
        raise InputError(
            f"two adjudicators, one of them {judge!r}, gave document {doc!r} of query {query!r} different "
            "grades: keep one of the two, or name the adjudicator whose grades count (--adjudicator)"
        )
    return grades, is_seen


def without_adjudicators(judgments: Judgments, adjudicators: Sequence[str]) -> Judgments | None:
    """Return the judgments of the other judges; None if there are none."""
    others = judgments.take(~pl.col("judge").is_in(list(adjudicators)))
    return others if len(others) else None
