"""Tuning as a person writes it down, and opened: what is tried, on which data, and what was chosen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay.core.errors import ConfigurationError, InputError, UndecidableError
from assay.core.settings import Fields
from assay.indexes.choice.floors import Floor, figure, read_floor
from assay.indexes.choice.selection import Candidate, Selection, select
from assay.indexes.choice.space import OBJECTIVES, Tuning
from assay.indexes.choice.tuning import Tried, Tuner
from assay.indexes.study.observed import Observed, Study
from assay.indexes.sweeps.plan import Asking, Entry
from assay.indexes.sweeps.summary import trials
from assay.indexes.trials import Trial, to_row
from assay.project.bench import Bench, Progress

MODES = ("single", "batch")


def tuning_in(settings: Mapping[str, Any], entries: tuple[Entry, ...], seed: int, path: str = "") -> Tuning:
    """What `[tune]` says; everything wrong with it is said at once."""
    fields = Fields(settings, "tune")
    floors = _floors(fields)
    objective = fields.one_of("objective", OBJECTIVES, "qps")
    asking = Asking(fields.one_of("mode", MODES, "single"))
    budget = fields.count("budget", 30, 1)
    seconds = fields.number("seconds", "a number above 0", lambda v: v > 0, 0.0) or None
    price = fields.number("price", "a number above 0", lambda v: v > 0, 0.0) or None
    if price is None and "cost" in (objective, *(floor.figure.name for floor in floors)):
        fields.wrong("price", "expected the price of an hour of the machine, which the cost is told from")
    fields.done()
    if fields.problems:
        raise ConfigurationError(fields.problems, path)
    return Tuning(entries, tuple(floors), figure(objective), asking, budget, seconds, seed, price)


def _floors(fields: Fields) -> list[Floor]:
    made = []
    for text in fields.texts("floors", 'floors such as ["recall=0.9"]'):
        try:
            made.append(read_floor(text))
        except InputError as error:
            fields.wrong("floors", str(error))
    return made


def tuner(
    bench: Bench, tuning: Tuning, folder: str | os.PathLike[str], progress: Progress | None = None
) -> Tuner:
    """The search, ready to run."""
    return Tuner(tuning, bench.sweeps(tuning.examples(), folder, progress))


def chosen(made: Tuner) -> Selection:
    """The winner of what was tried, and why the others lost; all queries had a part in the search."""
    observed = made.observed()
    if not any(one.trial.status == "done" for one in observed):
        if any(one.state == "skipped" for one in made.tried):
            return _none(made)
        reasons = "; ".join(dict.fromkeys(f"{one.label}: {one.said}" for one in made.tried))
        raise UndecidableError(f"no configuration could be measured: {reasons}")
    made.results.put_table([to_row(one) for one in trials(made.results, made.judge)])
    return _selected(made, observed)


def _selected(made: Tuner, observed: tuple[Observed, ...]) -> Selection:
    study = Study(observed, made.results.about(), made.data, os.fspath(made.results.folder))
    floors = [f"{floor.figure.name}={floor.value}" for floor in made.tuning.floors]
    return select(study, floors, made.tuning.objective.name, price=made.tuning.price, confirm=0.0)


def _none(made: Tuner) -> Selection:
    """No choice: every index that was built missed a floor by what is known then, and was not searched."""
    tried = {made.planned(one).key: one for one in made.tried}
    found = _selected(made, tuple(Observed(_unmeasured(made, one)) for one in made.tried))
    return replace(
        found, candidates=tuple(_skipped(one, tried[one.trial.key].state) for one in found.candidates)
    )


def _skipped(one: Candidate, state: str) -> Candidate:
    """A candidate that is out by another word than that it failed."""
    return replace(one, trial=replace(one.trial, status=state), out=f"{state}: {one.trial.reason}")


def _unmeasured(made: Tuner, one: Tried) -> Trial:
    """A trial of which nothing is known but its parameters."""
    planned = made.planned(one)
    told = planned.case.identity()
    about = {name: told[name] for name in ("engine", "build", "search", "mode", "threads")}
    return Trial(planned.key, **about, k=made.data.k, status="failed", reason=one.said)
