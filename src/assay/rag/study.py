"""A study: the answers of one model with many searches, and what each search is worth to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.evaluation import evaluate
from assay.rag.accuracy_curve import AccuracyCurve, RecallAnswer, fit_curve
from assay.rag.answers import (
    ANSWERED,
    FAILED,
    NOT_ASKED,
    REFUSED,
    Answer,
    answer_basis,
)
from assay.rag.contexts import CLOSED_BOOK, CONTROLS, EXACT, PLACEHOLDERS, REMOVED
from assay.rag.delta import (
    NO_BEND,
    OBSERVED_CURVE,
    REMOVED_CURVE,
    TOO_FEW_LEVELS,
    DeltaChoice,
    choose_delta,
)
from assay.rag.measure_checks import MeasureCheck, check_measures
from assay.rag.predictors import ConfigurationScores, Predictor, rank_predictors
from assay.rag.questions import Question
from assay.stats.intervals import Estimate, estimate_mean, estimate_share

DELTAS = tuple(step / 10 for step in range(1, 11))
_EPSILON = 1e-9


@dataclass(frozen=True)
class ConfigurationResult:
    """What the answers of one configuration are worth, and what they rest on."""

    name: str
    family: str
    is_control: bool  # exact search: no index is compared by it
    accuracy: Estimate
    recall: Estimate
    robustness: Mapping[float, Estimate]
    without_retrieval: Estimate  # accuracy of the same questions without documents
    measures: Mapping[str, float | None]
    counts: Mapping[str, int]  # of answers by status
    bases: Mapping[str, int]  # of correct answers by what they rest on
    means: Mapping[str, Estimate]  # faithfulness, context precision and recall
    sums: Mapping[str, float]  # tokens, cost, retries, failed searches

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration as plain data."""
        return {
            "name": self.name,
            "family": self.family,
            "control": self.is_control,
            "accuracy": self.accuracy.to_dict(),
            "recall": self.recall.to_dict(),
            "robustness": {f"{delta:g}": e.to_dict() for delta, e in self.robustness.items()},
            "without_retrieval": self.without_retrieval.to_dict(),
            "measures": dict(self.measures),
            "counts": dict(self.counts),
            "bases": dict(self.bases),
            **{name: estimate.to_dict() for name, estimate in self.means.items()},
            **self.sums,
        }


@dataclass(frozen=True)
class RagStudy:
    """The answers to questions with each configuration, and how they were made."""

    settings: Mapping[str, Any]  # the model, the mode, k, the prompt: all that the answers depend on
    questions: Sequence[Question]
    answers: Sequence[Answer]
    families: Mapping[str, str]  # of the configurations, in their order
    truth: Mapping[str, Sequence[str]] = field(default_factory=dict)  # exact neighbours of each question
    relevant: Mapping[str, Sequence[str]] | None = None
    level: float = 0.95
    excerpts: Mapping[str, str] = field(default_factory=dict)  # the beginnings of the documents retrieved

    @property
    def k(self) -> int:
        """How many documents a search returns."""
        return int(self.settings["k"])

    @property
    def correctness(self) -> str:
        """What counts as correct."""
        return str(self.settings["correctness"])

    @cached_property
    def by_configuration(self) -> Mapping[str, Mapping[str, Answer]]:
        """The answers by configuration and question; contexts with removed neighbours are not among them."""
        grouped: dict[str, dict[str, Answer]] = {}
        for answer in self.answers:
            if answer.configuration != REMOVED:
                grouped.setdefault(answer.configuration, {})[answer.question_id] = answer
        return grouped

    @cached_property
    def known(self) -> Mapping[str, bool]:
        """Whether the model answered each question correctly without documents, by either control."""
        known: dict[str, bool] = {}
        for control in (CLOSED_BOOK, PLACEHOLDERS):
            for key, answer in self.by_configuration.get(control, {}).items():
                value = answer.correctness(self.correctness)
                if value is not None:
                    known[key] = known.get(key, False) or value >= 1
        return known

    @cached_property
    def based_answers(self) -> Sequence[Answer]:
        """The answers, each correct one with what it rests on."""
        return [self._with_basis(answer) for answer in self.answers]

    def _with_basis(self, answer: Answer) -> Answer:
        value = answer.correctness(self.correctness)
        if value is None or value < 1:
            return answer
        has_answer = any(hop.has_answer for hop in answer.hops)
        return replace(answer, basis=answer_basis(has_answer, self.known.get(answer.question_id)))

    @cached_property
    def configurations(self) -> Sequence[ConfigurationResult]:
        """The result of each configuration, in their order."""
        return [self._result(name) for name in self.families if name in self.by_configuration]

    def control_accuracy(self, control: str, keys: Sequence[str] = ()) -> Estimate:
        """Return the accuracy of a control, over these questions or all."""
        answers = self.by_configuration.get(control, {})
        wanted = [answers[key] for key in keys if key in answers] if keys else list(answers.values())
        return _mean([answer.correctness(self.correctness) for answer in wanted], self.level)

    def _result(self, name: str) -> ConfigurationResult:
        answers = list(self.by_configuration[name].values())
        recalls = [answer.recall for answer in answers if answer.recall is not None]
        reached = {delta: sum(r >= delta - _EPSILON for r in recalls) for delta in DELTAS}
        statuses = (ANSWERED, REFUSED, FAILED, NOT_ASKED)
        counts = {status: sum(answer.status == status for answer in answers) for status in statuses}
        bases = [self._with_basis(answer).basis for answer in answers]
        means = {
            "faithfulness": [answer.supported for answer in answers],
            "context_precision": [answer.context_precision for answer in answers],
            "context_recall": [answer.relevant_recall for answer in answers],
        }
        keys = [answer.question_id for answer in answers]
        return ConfigurationResult(
            name=name,
            family=self.families[name],
            is_control=name in CONTROLS or self.families[name] == EXACT,
            accuracy=_mean([answer.correctness(self.correctness) for answer in answers], self.level),
            recall=_mean(recalls, self.level),
            robustness={d: estimate_share(reached[d], len(recalls), self.level) for d in DELTAS},
            without_retrieval=self.control_accuracy(CLOSED_BOOK, keys),
            measures=self._measures(name),
            counts=counts,
            bases={basis: bases.count(basis) for basis in sorted(set(bases)) if basis},
            means={measure: _mean(values, self.level) for measure, values in means.items()},
            sums=_sums(answers),
        )

    def _measures(self, name: str) -> dict[str, float | None]:
        """Return the measures of the first search of each question against exact search."""
        k, answers = self.k, self.by_configuration[name]
        truth = {key: dict.fromkeys(self.truth[key][:k], 1) for key in answers if self.truth.get(key)}
        if not truth or self.settings["mode"] != "naive":
            return {}
        run = {
            key: {d: float(k - rank) for rank, d in enumerate(answers[key].doc_ids[:k])}
            for key in truth
            if answers[key].doc_ids
        }
        names = [f"nDCG@{k}", f"RR@{k}", f"AP@{k}"]
        if not run:
            return dict.fromkeys(names, 0.0)
        evaluation = evaluate(truth, run, names)
        return {name: evaluation.estimates[name].value for name in names}

    @cached_property
    def predictors(self) -> Sequence[Predictor]:
        """Which measure predicts the accuracy across configurations; exact search is left out."""
        return rank_predictors([self._scores(c) for c in self.configurations if not c.is_control], self.level)

    @cached_property
    def measure_checks(self) -> Sequence[MeasureCheck]:
        """Whether the measures of context and answers say what they claim."""
        return check_measures(self.answers, self.level)

    @property
    def _distinct_deltas(self) -> Sequence[float]:
        """The values of δ, and the chosen one; of those that ask for as many hits of K, the greatest."""
        chosen = self.delta.delta.value
        deltas = sorted({*DELTAS, *([] if chosen is None else [chosen])})
        if self.settings["mode"] != "naive":
            return deltas
        return list({math.ceil(delta * self.k - _EPSILON): delta for delta in deltas}.values())

    def _scores(self, result: ConfigurationResult) -> ConfigurationScores:
        measures: dict[str, float | None] = {f"R@{self.k}": result.recall.value}
        recalls = [a.recall for a in self.by_configuration[result.name].values() if a.recall is not None]
        for delta in self._distinct_deltas:
            share = estimate_share(sum(r >= delta - _EPSILON for r in recalls), len(recalls)).value
            measures[f"Robustness-{delta:g}@{self.k}"] = share
        measures |= result.measures
        return ConfigurationScores(result.name, result.family, result.accuracy.value or 0.0, measures)

    @cached_property
    def removal_curve(self) -> AccuracyCurve | None:
        """Accuracy against recall where true neighbours were removed at random."""
        return self._curve([answer for answer in self.answers if answer.configuration == REMOVED])

    @cached_property
    def observed_curve(self) -> AccuracyCurve | None:
        """Accuracy against the recall that the configurations had."""
        names = {name for name in self.families if name in self.by_configuration}
        return self._curve([answer for answer in self.answers if answer.configuration in names])

    def _curve(self, answers: Sequence[Answer]) -> AccuracyCurve | None:
        rows = [
            RecallAnswer(answer.question_id, answer.recall, value)
            for answer in answers
            if answer.recall is not None and (value := answer.correctness(self.correctness)) is not None
        ]
        return fit_curve(rows, self.level)

    @cached_property
    def curves(self) -> Mapping[str, AccuracyCurve]:
        """The curves that there are, that of removed neighbours first."""
        curves = {REMOVED_CURVE: self.removal_curve, OBSERVED_CURVE: self.observed_curve}
        return {name: curve for name, curve in curves.items() if curve is not None}

    @property
    def curve(self) -> AccuracyCurve | None:
        """The curve that δ is chosen by."""
        return self.curves.get(self.delta.curve)

    @cached_property
    def delta(self) -> DeltaChoice:
        """The δ that the answers need."""
        return self.choose_delta()

    def choose_delta(self, share: float | None = None, curve: str | None = None) -> DeltaChoice:
        """Return the δ by the bend of a curve, or by a share of the best accuracy.

        Without a name of a curve it is that of removed neighbours. If that rises without a bend, as it does
        where each answer stands in one document, the recall that the configurations had may show one.
        """
        choices = [
            replace(choose_delta(one, share), curve=name)
            for name, one in self.curves.items()
            if curve in (None, name)
        ]
        if not choices:
            nothing = Estimate(None, None, None, self.level, 0)
            return DeltaChoice(nothing, "bend", share, None, None, "no answers with a known recall")
        is_open = choices[0].problem in (NO_BEND, TOO_FEW_LEVELS)
        found = [choice for choice in choices[1:] if is_open and choice.delta.value is not None]
        return found[0] if found else choices[0]

    def result_dict(self) -> dict[str, Any]:
        """Return what the study found, as plain data."""
        controls = {c: self.control_accuracy(c).to_dict() for c in (CLOSED_BOOK, PLACEHOLDERS)}
        curves = {REMOVED_CURVE: self.removal_curve, OBSERVED_CURVE: self.observed_curve}
        return {
            "settings": dict(self.settings),
            "configurations": [c.to_dict() for c in self.configurations],
            "controls": controls,
            "delta": self.delta.to_dict(),
            "curves": {name: curve and curve.to_dict() for name, curve in curves.items()},
            "predictors": [predictor.to_dict() for predictor in self.predictors],
            "measure_checks": [check.to_dict() for check in self.measure_checks],
        }


def _mean(values: Sequence[float | None], level: float) -> Estimate:
    """Return the mean of the defined values; of shares, with the interval of a share."""
    defined = [value for value in values if value is not None]
    if not defined:
        return Estimate(None, None, None, level, 0)
    if all(value in (0, 1) for value in defined):
        return estimate_share(sum(defined), len(defined), level)
    return estimate_mean(np.array(defined, np.float64), level, (0.0, 1.0))


def _sums(answers: Sequence[Answer]) -> dict[str, float]:
    names = ("prompt_tokens", "completion_tokens", "cost", "seconds", "retries", "failed_hops", "bad_calls")
    sums = {name: sum(getattr(answer, name) for answer in answers) for name in names}
    return {**sums, "hops": sum(len(answer.hops) for answer in answers)}
