"""What the labels of a model are worth: agreement with people, bias, and the order of systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from assay.core.arrays import Floats, Ints
from assay.core.errors import UndecidableError
from assay.core.groups import RunBlocks
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.evaluation.slices import make_slices
from assay.judging.agreement.labels import Labels
from assay.judging.agreement.pairs import compare_raters
from assay.judging.agreement.system_order import OrderComparison, compare_orders
from assay.measures import Measure
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean

HUMAN, MODEL = "human", "model"  # the names of the two raters
_WEIGHTS = {"kappa": "none", "kappa_linear": "linear", "kappa_quadratic": "quadratic"}


class LabelAgreement(NamedTuple):
    """How far a model and people agree on the pairs that both labelled."""

    n: int
    agreement: Estimate
    kappa: Estimate
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    ac1: Estimate
    bias: Estimate  # mean of the model's grade minus that of people

    def to_dict(self) -> dict[str, Any]:
        """Return the agreement as plain data."""
        estimates = {name: value.to_dict() for name, value in self._asdict().items() if name != "n"}
        return {"n": self.n, **estimates}


class SystemOrder(NamedTuple):
    """How far the labels of the model order systems as those of people do."""

    measure: str
    comparison: OrderComparison  # with the scores of each system by people and by the model
    top: Sequence[str]  # the best systems by the labels of people
    tau_top: Estimate  # among them

    @property
    def tau(self) -> Estimate:
        """Kendall's τ over all systems; n is the number of queries."""
        return self.comparison.tau

    def to_dict(self) -> dict[str, Any]:
        """Return the order as plain data."""
        scores = self.comparison.scores.items()
        systems = [{"name": n, "human": a.to_dict(), "model": b.to_dict()} for n, (a, b) in scores]
        taus = {"tau": self.tau.to_dict(), "tau_top": self.tau_top.to_dict()}
        return {"measure": self.measure, **taus, "top": list(self.top), "systems": systems}


class SliceAgreement(NamedTuple):
    """The agreement on the pairs of one slice of the queries."""

    column: str
    value: str
    agreement: LabelAgreement

    def to_dict(self) -> dict[str, Any]:
        """Return the slice as plain data."""
        return {"column": self.column, "slice": self.value, **self.agreement.to_dict()}


@dataclass(frozen=True)
class JudgeWorth:
    """The worth of the labels of a model."""

    agreement: LabelAgreement
    confusion: tuple[tuple[int, int, int], ...]  # grade of people, grade of the model, pairs
    unlabelled: Estimate  # the share of the pairs with a human label on which the model gave none
    slices: tuple[SliceAgreement, ...] = ()
    orders: tuple[SystemOrder, ...] = ()
    shared_families: Mapping[str, str] = field(default_factory=dict)  # judged model: family of the judge

    def figures(self) -> dict[str, Estimate]:
        """Return the figures that an owner can set thresholds for; the bias without its sign."""
        figures = {name: getattr(self.agreement, name) for name in ("agreement", "ac1", *_WEIGHTS)}
        figures |= {"bias": _magnitude(self.agreement.bias), "unlabelled": self.unlabelled}
        if self.orders:
            figures |= {"tau": self.orders[0].tau, "tau_top": self.orders[0].tau_top}
        return figures

    def to_dict(self) -> dict[str, Any]:
        """Return the worth as plain data."""
        cells = [{"human": human, "model": model, "n": n} for human, model, n in self.confusion]
        return {
            **self.agreement.to_dict(),
            "confusion": cells,
            "unlabelled": self.unlabelled.to_dict(),
            "slices": [part.to_dict() for part in self.slices],
            "orders": [order.to_dict() for order in self.orders],
            "shared_families": dict(self.shared_families),
        }


class WorthOptions(NamedTuple):
    """What the worth is computed of."""

    runs: Sequence[RunBlocks] = ()
    measures: Sequence[Measure] = ()
    queries: Queries | None = None
    documents: Documents | None = None
    by: Sequence[str] = ()
    top: int = 5  # how many systems are the top systems
    level: float = 0.95
    seed: int = 0


class _CommonPairs(NamedTuple):
    """The pairs that people labelled and the model was asked about; NaN: no grade of the model."""

    keys: list[tuple[str, str]]
    human: Floats
    model: Floats

    def take(self, rows: Ints) -> _CommonPairs:
        """Return some of the pairs."""
        return _CommonPairs([self.keys[row] for row in rows.tolist()], self.human[rows], self.model[rows])

    def judgments(self) -> Judgments:
        """Return the labels of both as those of two judges."""
        both = ((HUMAN, self.human), (MODEL, self.model))
        return Judgments.from_rows(
            [
                (*key, judge, grade)
                for judge, grades in both
                for key, grade in zip(self.keys, grades.tolist(), strict=True)
            ]
        )


def compute_worth(
    judgments: Judgments,
    human: Qrels,
    options: WorthOptions,
    shared_families: Mapping[str, str] | None = None,
) -> JudgeWorth:
    """Return the worth of a model's judgments, on the pairs that people labelled, too."""
    asked = _common_pairs(judgments, human)
    if not asked.keys:
        raise UndecidableError(
            "no pair has both a label of people and one of the model: compare the ids of both files"
        )
    unlabelled = np.isnan(asked.model)
    pairs = asked.take(np.flatnonzero(~unlabelled))
    measures = options.measures if len(options.runs) > 1 and pairs.keys else ()
    orders = [_system_order(pairs.judgments(), measure, options) for measure in measures]
    return JudgeWorth(
        _agreement(pairs, options.level),
        _confusion(pairs),
        estimate_mean(unlabelled.astype(np.float64), options.level, (0.0, 1.0)),
        tuple(_slices(pairs, human, options)),
        tuple(orders),
        shared_families or {},
    )


def _common_pairs(judgments: Judgments, human: Qrels) -> _CommonPairs:
    frame = judgments.frame
    model = dict(zip(zip(frame["query_id"], frame["doc_id"], strict=True), judgments.grades, strict=True))
    rows = [(query, doc, grade) for query, doc, grade in human.frame.rows() if (query, doc) in model]
    keys = [(query, doc) for query, doc, _ in rows]
    grades = np.array([grade for _, _, grade in rows], np.float64)
    return _CommonPairs(keys, grades, np.array([model[key] for key in keys], np.float64))


def _agreement(pairs: _CommonPairs, level: float) -> LabelAgreement:
    n = len(pairs.keys)
    if not n:
        return LabelAgreement(0, **dict.fromkeys(LabelAgreement._fields[1:], _undefined(level)))
    matrix = np.column_stack([pairs.human, pairs.model])
    raters = compare_raters(Labels.from_matrix(matrix, [HUMAN, MODEL]), level)
    kappas = {name: raters.kappa[weights].estimate(0) for name, weights in _WEIGHTS.items()}
    return LabelAgreement(
        n,
        agreement=raters.agreement.estimate(0),
        **kappas,
        ac1=raters.gwet["none"].estimate(0),
        bias=estimate_mean(pairs.model - pairs.human, level),
    )


def _undefined(level: float) -> Estimate:
    return Estimate(None, None, None, level, 0)


def _system_order(judgments: Judgments, measure: Measure, options: WorthOptions) -> SystemOrder:
    orders = compare_orders(judgments, options.runs, measure, options.level, options.seed)
    comparison = orders.comparisons[0]
    by_human = {name: human.value or 0.0 for name, (human, _) in comparison.scores.items()}
    top = sorted(by_human, key=lambda name: -by_human[name])[: options.top]
    runs = [run for run in options.runs if run.name in top]
    if len(runs) < 2:
        return SystemOrder(str(measure), comparison, top, _undefined(options.level))
    best = compare_orders(judgments, runs, measure, options.level, options.seed)
    return SystemOrder(str(measure), comparison, top, best.comparisons[0].tau)


def _confusion(pairs: _CommonPairs) -> tuple[tuple[int, int, int], ...]:
    cells, counts = np.unique(
        np.column_stack([pairs.human, pairs.model]).astype(np.int64), axis=0, return_counts=True
    )
    return tuple((int(a), int(b), int(n)) for (a, b), n in zip(cells, counts, strict=True))


def _slices(pairs: _CommonPairs, human: Qrels, options: WorthOptions) -> Iterable[SliceAgreement]:
    if not options.by:
        return
    texts = options.documents.texts() if options.documents is not None else None
    query_ids = list(dict.fromkeys(query for query, _ in pairs.keys))
    for part in make_slices(options.by, query_ids, options.queries, human, texts):
        chosen = {query_ids[row] for row in part.rows}
        rows = np.array([row for row, (query, _) in enumerate(pairs.keys) if query in chosen], np.int64)
        yield SliceAgreement(part.column, part.value, _agreement(pairs.take(rows), options.level))


def _magnitude(bias: Estimate) -> Estimate:
    """Return the size of a bias, with the interval of the size."""
    if bias.value is None or bias.low is None or bias.high is None:
        return bias._replace(value=None if bias.value is None else abs(bias.value), low=None, high=None)
    ends = sorted((abs(bias.low), abs(bias.high)))
    low = 0.0 if bias.low <= 0 <= bias.high else ends[0]
    return bias._replace(value=abs(bias.value), low=low, high=ends[1])
