"""Unjudged documents at the top of the runs: they count as irrelevant, and may be relevant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from assay.core.arrays import Floats, Ints
from assay.core.groups import Groups
from assay.core.tables import Qrels
from assay.evaluation import Evaluation
from assay.judging.checks.evaluation_set import PAIR, EvaluationSet
from assay.judging.checks.finding import EXAMPLES, INFO, WARNING, Finding, agree, count_of
from assay.judging.checks.run_tops import RunTop, score_top
from assay.stats import Estimate
from assay.stats.comparison import Subject, compare_columns
from assay.stats.corrections import holm

_JUDGED_ENOUGH = 0.8  # of the top k; below it, unjudged documents decide much of a score
_BIAS = 0.05  # the least difference of Judged@k that is reported as a bias
_ALPHA = 0.05
_SHOWN_RUNS = 5
_MAX_RUNS = 20  # that are left out, one at a time


def find(data: EvaluationSet) -> Iterator[Finding]:
    """Find unjudged documents at the top, a system that the pool favours, and what one system adds to it."""
    if not data.evaluations:
        return
    yield from _find_unjudged(data)
    yield from _find_bias(data)
    yield from _find_left_out(data)


def _find_unjudged(data: EvaluationSet) -> Iterator[Finding]:
    missing = _unjudged_at_top(data)
    if not len(missing):
        return
    shares = _judged_shares(data)
    lowest = min(share.value or 0.0 for share in shares.values())
    expected = _expected_relevant(data, missing)
    pairs = missing.group_by(PAIR, maintain_order=True).agg("run", rank=pl.col("rank").min()).sort("rank")
    yield Finding(
        "false_negative_risk",
        WARNING if lowest < _JUDGED_ENOUGH else INFO,
        len(pairs),
        f"{count_of(len(pairs), 'pair')} in the top {data.k} of the runs "
        f"{agree(len(pairs), 'is', 'are')} not judged and counted as irrelevant; "
        f"judged shares: {_list_shares(shares)}"
        + (
            f"; about {expected:.0f} would be relevant if they were like judged ones at their ranks"
            * bool(expected)
        )
        + _order_without_unjudged(data),
        f"judge the top {data.k} of every run (`assay dataset pool --depth {data.k}`, `assay judge create "
        "--pairs`); until then read scores with `assay eval --unjudged`",
        _with_texts(data, pairs),
    )


def _unjudged_at_top(data: EvaluationSet) -> pl.DataFrame:
    """Return the first k documents of the judged queries that have no label: query, document, rank, run."""
    judged = data.labels.select("query_id").unique()
    top = data.returned.filter(pl.col("rank") <= data.k).join(judged, on="query_id", how="semi")
    return top.join(data.labels, on=PAIR, how="anti", maintain_order="left")


def _judged_shares(data: EvaluationSet) -> dict[str, Estimate]:
    name = f"Judged@{data.k}"
    return {evaluation.name: evaluation.estimates[name] for evaluation in data.evaluations}


def _list_shares(shares: dict[str, Estimate]) -> str:
    ordered = sorted(shares, key=lambda name: shares[name].value or 0.0)
    parts = [f"{name} {shares[name].value or 0.0:.1%}" for name in ordered[:_SHOWN_RUNS]]
    return ", ".join(parts) + ", …" * (len(ordered) > _SHOWN_RUNS)


def _expected_relevant(data: EvaluationSet, missing: pl.DataFrame) -> float:
    """Return how many unjudged pairs would be relevant at the rates of the judged ones, rank by rank."""
    top = data.returned.filter(pl.col("rank") <= data.k).join(data.labels, on=PAIR)
    rates = top.group_by("run", "rank").agg(rate=(pl.col("grade") > 0).mean())
    pairs = missing.join(rates, on=["run", "rank"], how="left").group_by(PAIR).agg(pl.col("rate").max())
    return float(pairs["rate"].fill_null(0.0).sum())


def _order_without_unjudged(data: EvaluationSet) -> str:
    """Say whether the order of the runs changes if unjudged documents are left out of the rankings."""
    name = f"nDCG@{data.k}"
    tops = {top.name: top for top in data.runs}
    values, condensed = [], []
    for evaluation in data.evaluations:
        top = tops[evaluation.name]
        judged = top.frame.join(data.labels.select(PAIR), on=PAIR, how="semi", maintain_order="left")
        scored = score_top(data.qrels, RunTop(top.name, judged), data.k) if len(judged) else None
        if scored is not None:
            values.append(evaluation.estimates[name].value or 0.0)
            condensed.append(scored.estimates[name].value or 0.0)
    if len(values) < 2:
        return ""
    swapped = sum(_is_swapped(values, condensed, i, j) for i, j in combinations(range(len(values)), 2))
    if not swapped:
        return f"; leaving them out keeps the order of the runs by {name}"
    return f"; leaving them out swaps {count_of(swapped, 'pair')} of runs in the order by {name}"


def _is_swapped(values: Sequence[float], others: Sequence[float], i: int, j: int) -> bool:
    return (values[i] - values[j]) * (others[i] - others[j]) < 0


def _with_texts(data: EvaluationSet, pairs: pl.DataFrame) -> list[dict[str, object]]:
    shown = pairs.head(EXAMPLES).with_columns(pl.col("run").list.join(", "))
    for texts, key, name in (
        (data.query_texts, "query_id", "query"),
        (data.document_texts, "doc_id", "document"),
    ):
        if len(texts):
            part = texts.select(key, pl.col("text").str.slice(0, 80).alias(name))
            shown = shown.join(part, on=key, how="left", maintain_order="left")
    return shown.to_dicts()


class _LeftOut(NamedTuple):
    """What a run loses without the labels that only it brought."""

    run: str
    labels: int
    loss: Estimate


class _Bias(NamedTuple):
    """The difference between the judged shares of two runs."""

    favoured: str
    other: str
    difference: Estimate
    p: float


def _find_bias(data: EvaluationSet) -> Iterator[Finding]:
    biases = _biases(data)
    if not biases:
        return
    top = biases[0]
    e = top.difference
    yield Finding(
        "pool_bias",
        WARNING,
        len(biases),
        f"the pool favours {top.favoured}: the judged share of its top {data.k} is higher than that of "
        f"{top.other} by {e.value or 0.0:.1%} ({e.low or 0.0:.1%} … {e.high or 0.0:.1%}, n {e.n:,}, "
        f"p {_shown_p(top.p)} after correction)",
        f"judge the top {data.k} of every run before comparing them: `assay dataset pool --depth {data.k}` "
        "over all runs",
        [
            {"favoured": b.favoured, "other": b.other, "difference": b.difference.to_dict(), "p": b.p}
            for b in biases[:EXAMPLES]
        ],
    )


def _shown_p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _biases(data: EvaluationSet) -> list[_Bias]:
    """Return the pairs of runs whose judged shares differ, the largest difference first."""
    pairs = list(combinations(data.evaluations, 2))
    if not pairs:
        return []
    measure = f"Judged@{data.k}"
    first = _columns([a for a, _ in pairs], measure)
    second = _columns([b for _, b in pairs], measure)
    subjects = [Subject(measure, is_bounded=True)] * len(pairs)
    compared = compare_columns(subjects, first, second)
    ps = holm([comparison.p for comparison in compared])
    biases = []
    for (a, b), comparison, p in zip(pairs, compared, ps, strict=True):
        value = comparison.difference.value
        if p is None or value is None or p > _ALPHA or abs(value) < _BIAS:
            continue
        biases.append(_orient(a.name, b.name, comparison.difference, p))
    return sorted(biases, key=lambda bias: -(bias.difference.value or 0.0))


def _orient(first: str, second: str, e: Estimate, p: float) -> _Bias:
    """Return the difference as that of the favoured run minus the other."""
    if (e.value or 0.0) > 0:
        return _Bias(second, first, e, p)
    low, high = (None if end is None else -end for end in (e.high, e.low))
    return _Bias(first, second, e._replace(value=-(e.value or 0.0), low=low, high=high), p)


def _columns(evaluations: Sequence[Evaluation], measure: str) -> Floats:
    return np.stack([evaluation.scores[measure] for evaluation in evaluations], axis=1)


def _find_left_out(data: EvaluationSet) -> Iterator[Finding]:
    """Find how much each run loses without the labels that only it brought into the pool (Zobel 1998)."""
    left_out = [_leave_out(data, evaluation) for evaluation in data.evaluations[:_MAX_RUNS]]
    effects = sorted(filter(None, left_out), key=lambda effect: -(effect.loss.value or 0.0))
    if len(left_out) < 2 or not effects:
        return
    worst, e = effects[0], effects[0].loss
    ends = "" if e.low is None or e.high is None else f" ({e.low:.4f} … {e.high:.4f})"
    yield Finding(
        "leave_one_run_out",
        INFO,
        sum(effect.labels for effect in effects),
        f"without the {count_of(worst.labels, 'label')} that only {worst.run} brought, its nDCG@{data.k} "
        f"falls by {e.value or 0.0:.4f}{ends}: a "
        "system that is not in the pool can lose as much",
        "judge the top of a new system before comparing it with those of the pool",
        [effect._asdict() | {"loss": effect.loss.to_dict()} for effect in effects[:EXAMPLES]],
    )


def _leave_out(data: EvaluationSet, evaluation: Evaluation) -> _LeftOut | None:
    """Return the loss of a run without the labels of documents that no other run has in its top k."""
    top = data.returned.filter(pl.col("rank") <= data.k)
    own = top.filter(pl.col("run") == evaluation.name).select(PAIR)
    unique = own.join(top.filter(pl.col("run") != evaluation.name), on=PAIR, how="anti")
    labels = data.labels.select(PAIR).with_row_index("row")
    rows = labels.join(unique, on=PAIR, how="anti", maintain_order="left")["row"].to_numpy().astype(np.int64)
    run = next(run for run in data.runs if run.name == evaluation.name)
    if not 0 < len(rows) < len(labels):
        return None
    reduced = score_top(_take_labels(data.qrels, rows), run, data.k)
    if reduced is None:
        return None
    measure = f"nDCG@{data.k}"
    after = dict(zip(reduced.scores.query_ids, reduced.scores[measure].tolist(), strict=True))
    without = np.array([after.get(query, 0.0) for query in evaluation.scores.query_ids])
    subject = Subject(measure, is_bounded=True)
    (compared,) = compare_columns([subject], without[:, None], evaluation.scores[measure][:, None])
    return _LeftOut(evaluation.name, len(labels) - len(rows), compared.difference)


def _take_labels(qrels: Qrels, rows: Ints) -> Qrels:
    """Return the qrels with these rows alone."""
    groups = qrels.groups
    query = np.searchsorted(groups.offsets, rows, "right") - 1
    counts = np.bincount(query, minlength=len(groups.query_ids))
    kept = np.flatnonzero(counts)
    offsets = np.concatenate(([0], np.cumsum(counts[kept])))
    names = [groups.query_ids[place] for place in kept.tolist()]
    return Qrels.from_groups(Groups(names, offsets, groups.ids.take(rows), groups.values[rows]))
