"""Trials opened to be studied: of a sweep's folder, or of a table that others published."""

from __future__ import annotations

import os

import numpy as np

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.foreign import figures_of
from assay.indexes.foreign.curves import published
from assay.indexes.results import Results
from assay.indexes.study.observed import Observed, Study, one_way
from assay.indexes.summary import scored, trial
from assay.project.bench import judge_in, measured
from assay.views.trials import ordered_trials


def open_study(
    source: str | os.PathLike[str],
    *,
    k: int | None = None,
    policy: str | None = None,
    mode: str | None = None,
) -> Study:
    """The trials of a sweep's folder, each with its queries, or those of a table, as far as it tells."""
    if os.path.isdir(source):
        return _of_folder(source, k, policy, mode)
    return _of_table(os.fspath(source), k, mode)


def _of_table(path: str, k: int | None, mode: str | None) -> Study:
    """The trials of a table; they are scored already, so that K can only say which are meant."""
    trials = figures_of(path)
    there = [one for one in trials if k in (None, one.trial.k)]
    if not there:
        found = ", ".join(sorted({str(one.trial.k) for one in trials}))
        raise InputError(f"{path}: no trial is scored at K = {k}; there are K = {found}")
    way = one_way([one.trial for one in there], mode)
    return Study(tuple(one for one in there if one.trial.mode == way), {}, None, path)


def _of_folder(folder: str | os.PathLike[str], k: int | None, policy: str | None, mode: str | None) -> Study:
    results, data = measured(folder, k)
    judge = judge_in(data, policy or results.about()["options"]["policy"])
    known = ordered_trials([trial(results, key, judge) for key in results.keys()])  # noqa: SIM118
    if not known:
        raise InputError(f"{folder} holds no trials: `assay bench … -o {folder}` makes some")
    way = one_way(known, mode)
    made = []
    for one in known:
        if one.mode == way and one.recall is None:
            made.append(Observed(one, published=published(one)))
        elif one.mode == way:
            first = results.repetition(one.key, results.repetitions(one.key)[0])
            made.append(Observed(one, scored(first, judge), _returned(results, one.key, len(judge.out_of))))
    return Study(tuple(made), results.about(), data, os.fspath(folder))


def _returned(results: Results, key: str, n: int) -> Positions:
    """The ids of the first pass, by the number of the query."""
    first = results.repetition(key, results.repetitions(key)[0])
    made = np.full((n, first.ids.shape[1]), -1, np.int64)
    made[first.queries[:n]] = first.ids[:n]
    return made
