"""Trials opened to be studied: of a sweep's folder, or of a table that others published."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.core.errors import InputError
from assay.core.vectors import Positions
from assay.indexes.foreign import figures_of
from assay.indexes.foreign.curves import published
from assay.indexes.study.observed import Observed, Study, one_way
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.summary import scored, trial
from assay.indexes.trials import Trial
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
    _refuse_k([one.trial for one in trials], k, path)
    there = [one for one in trials if k in (None, one.trial.k)]
    way = one_way([one.trial for one in there], mode)
    return Study(tuple(one for one in there if one.trial.mode == way), {}, None, path)


def _of_folder(folder: str | os.PathLike[str], k: int | None, policy: str | None, mode: str | None) -> Study:
    results, data = measured(folder, k)
    judge = judge_in(data, policy or results.about()["options"]["policy"])
    known = ordered_trials([trial(results, key, judge) for key in results.keys()])  # noqa: SIM118
    if not known:
        raise InputError(f"{folder} holds no trials: `assay bench … -o {folder}` makes some")
    _refuse_k(known, k, os.fspath(folder))
    there = [one for one in known if k in (None, one.k)]
    way, fitted = one_way(there, mode), _fitted(results, there)
    made = []
    for one in there:
        if one.mode == way and one.recall is None:
            made.append(Observed(one, published=published(one)))
        elif one.mode == way:
            first = results.repetition(one.key, results.repetitions(one.key)[0])
            returned = _returned(results, one.key, len(judge.out_of))
            made.append(Observed(one, scored(first, judge), returned, fitted=one.key in fitted))
    return Study(tuple(made), results.about(), data, os.fspath(folder))


def _refuse_k(trials: Sequence[Trial], k: int | None, source: str) -> None:
    """Refuse a K that no trial is scored at."""
    there = sorted({one.k for one in trials})
    if k is not None and k not in there:
        found = ", ".join(map(str, there))
        raise InputError(f"{source}: no trial is scored at K = {k}; there are K = {found}")


def _fitted(results: Results, trials: Sequence[Trial]) -> set[str]:
    """The keys of the trials whose parameters were found by their answers to all queries."""
    matched = results.entries("matched").values()
    made = {one.key for one in trials if any(_is_match(one, entry) for entry in matched)}
    return made | {one["key"] for entry in results.entries("tuned").values() for one in entry["tried"]}


def _is_match(one: Trial, entry: Mapping[str, Any]) -> bool:
    """Whether a trial has the value that was found for a range, and all else as it was looked for."""
    same = all(getattr(one, name) == entry[name] for name in ("engine", "build", "threads"))
    names = {*one.search, *entry["search"]}
    apart = [name for name in names if one.search.get(name) != entry["search"].get(name)]
    return same and [one.search.get(name) for name in apart] == [entry["value"]]


def _returned(results: Results, key: str, n: int) -> Positions:
    """The ids of the first pass, by the number of the query."""
    first = results.repetition(key, results.repetitions(key)[0])
    made = np.full((n, first.ids.shape[1]), -1, np.int64)
    made[first.queries[:n]] = first.ids[:n]
    return made
