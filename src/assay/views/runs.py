"""Systems that were run: how they answered, how fast, at what price."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.core.secrets import hidden
from assay.search.journal import Failure
from assay.search.load import Load
from assay.search.outcome import Outcome
from assay.stats.histograms import Histogram, fewest
from assay.views import text
from assay.views.estimates import with_interval
from assay.views.sections import Section

_NONE = "–"
_SHOWN = 3  # failed queries that are named for each kind
_TOLD = (50, 90, 99)  # percentiles


def answered(outcomes: Sequence[Outcome], slo_ms: float | None = None) -> list[Section]:
    """How each system answered, and what failed and why."""
    head = ["system", "queries", "failed", "empty", *_HEADS, "QPS", "tokens", "cost/1k"]
    if slo_ms is not None:
        head.insert(7, f"within {slo_ms:g} ms")
    rows = [_row(one, slo_ms) for one in outcomes]
    failed = [line for one in outcomes for line in _failed(one)]
    stages = [row for one in outcomes for row in _stages(one)]
    return [
        Section("How they answered", _notes(outcomes), head, rows),
        Section("What failed", failed),
        Section("How long each stage took", [], ["system", "stage", *_HEADS], stages),
    ]


def _row(one: Outcome, slo_ms: float | None) -> list[str]:
    cells = [one.name, f"{len(one.finished):,}", f"{len(one.failed):,}", f"{len(one.empty):,}"]
    cells += _percentiles(one.latency)
    cells += [] if slo_ms is None else [with_interval(one.slo(slo_ms))]
    cells.append(_rate(one.qps))
    cells.append(f"{one.tokens:,}" if one.tokens else _NONE)
    return [*cells, _NONE if one.cost_per_1k is None else f"{one.cost_per_1k:.4g}"]


def _notes(outcomes: Sequence[Outcome]) -> list[str]:
    made = _withheld([one.latency for one in outcomes])
    for one in outcomes:
        if one.resumed:
            made.append(f"{one.name}: {one.resumed:,} queries were finished before, and not asked again")
        if len(one.failed):
            made.append(f"{one.name}: what failed counts as nothing found; --retry-failed asks it again")
        made += [f"{one.name}: {note}" for note in one.notes]
    return made


def _failed(one: Outcome) -> list[str]:
    kinds: dict[str, dict[str, str]] = {}  # the words by query
    for query, failure in one.failed.items():
        kinds.setdefault(_kind(failure), {})[query] = failure.said
    made = []
    for kind, of_it in sorted(kinds.items(), key=lambda item: -len(item[1])):
        named = ", ".join(list(of_it)[:_SHOWN]) + (" …" if len(of_it) > _SHOWN else "")
        said = text.shorten(next(iter(of_it.values())), 100)
        made.append(f"{one.name}: {len(of_it):,} {kind} ({named}), such as: {said}")
    return made


def _kind(failure: Failure) -> str:
    """The kind of a failure, with the status of a server: a 401 is another matter than a 500."""
    status = re.search(r"\banswered (\d{3})\b", failure.said) if failure.kind == "status" else None
    return f"{failure.kind} {status[1]}" if status else failure.kind


def _stages(one: Outcome) -> list[list[str]]:
    rows = []
    for name, taken in one.stage_latency().items():
        rows.append([one.name, text.shorten(name, 50), *_percentiles(taken)])
    return rows


def loaded(name: str, load: Load, slo_ms: float | None = None, held_back: bool = False) -> list[Section]:
    """How a system bore a load; `held_back`: by the cap, not by the system."""
    head = ["system", "loop", "clients", "offered/s", "answered/s", "requests", "failed", "unsent", *_HEADS]
    row = [name, "closed" if load.rate is None else "open", f"{load.clients}", _rate(load.rate)]
    row += [
        _rate(load.achieved),
        f"{load.requests:,}",
        f"{sum(load.errors.values()):,}",
        f"{load.unsent.n:,}",
        *_percentiles(load.latency),
    ]
    notes = _withheld([load.latency])
    if slo_ms is not None:
        notes.append(f"within {slo_ms:g} ms: {with_interval(load.slo(slo_ms))} of all requests")
    notes += ["held back by --max-rate: it may well answer more than that"] * held_back
    notes += _failures(load)
    return [Section("Under load", notes, head, [row])]


def _failures(load: Load) -> list[str]:
    """Whether the system fell behind or answered nothing at all, what failed, and the words of one."""
    made = []
    if not load.answered.n:
        made.append("nothing was answered: this says nothing of its speed")
    elif load.saturated:
        made.append("saturated: it fell behind what was offered, so that its latencies are but a bound")
    made += [f"{count:,} {kind}" for kind, count in load.errors.most_common()]
    said = hidden(load.timed.problem)
    return [*made, f"such as: {text.shorten(said, 100)}"] if said else made


_HEADS = [f"p{p} ms" for p in _TOLD]


def _percentiles(latency: Histogram) -> list[str]:
    return [_ms(latency.percentile(p)) for p in _TOLD]


def _withheld(latencies: Sequence[Histogram]) -> list[str]:
    """Which percentiles cannot be told from so few samples."""
    least = min((one.n for one in latencies), default=0)
    return [f"p{p} is withheld below {fewest(p):,} samples" for p in _TOLD if least < fewest(p)][:1]


def _rate(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def _ms(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3g}" if value < 100 else f"{value:,.0f}"
