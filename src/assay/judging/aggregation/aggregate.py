"""One grade for each pair from the judgments of several judges, by a named rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from assay.core.arrays import Floats
from assay.core.errors import InputError, UndecidableError
from assay.core.judgments import Judgments
from assay.core.suggestions import did_you_mean
from assay.core.tables import Qrels
from assay.judging.aggregation.adjudicated import (
    adjudicated_grades,
    find_adjudicators,
    without_adjudicators,
)
from assay.judging.aggregation.dawid_skene import SMOOTHING, DawidSkene, fit_dawid_skene
from assay.judging.aggregation.judge_tables import JudgeTable, judge_tables
from assay.judging.aggregation.ties import check_ties, draw_numbers
from assay.judging.aggregation.votes import PairGrades, majority, mean, median, unanimous
from assay.judging.agreement.labels import Labels

RULES = {
    "majority": "the grade that most judges gave",
    "unanimous": "the grade that all judges gave; no label where they differ",
    "mean": "the mean of the grades, rounded to a whole number",
    "median": "the median of the grades, rounded to a whole number",
    "adjudicated": "the grade of the adjudicator; the other pairs by another rule or not at all",
    "dawid-skene": "the most probable true grade when every judge has a table of errors of their own",
}
_VOTES = {"majority": majority, "unanimous": unanimous, "mean": mean, "median": median}
_DEFAULT_TIES = {"majority": "random", "mean": "higher", "median": "higher"}


@dataclass(frozen=True)
class Rule:
    """How labels become one grade."""

    name: str
    ties: str = ""  # empty: random for majority, higher for mean and median
    seed: int = 0  # for ties that are drawn
    fallback: str = ""  # of `adjudicated`, for pairs that no adjudicator decided; empty: they have no label
    adjudicators: Sequence[str] = ()
    smoothing: float = SMOOTHING  # of `dawid-skene`

    def __post_init__(self) -> None:
        if self.ties:
            check_ties(self.ties)
        for name in (self.name, self.fallback):
            if name and name not in RULES:
                hint = did_you_mean(name, RULES)
                raise InputError(
                    f"expected one of {', '.join(RULES)} as the rule, found {name!r}{hint and f'; {hint}'}"
                )
        self._check_use()
        if self.fallback == "adjudicated":
            raise InputError("expected another rule for the pairs that no adjudicator decided")

    def _check_use(self) -> None:
        """Refuse a parameter that the rule does not use."""
        used = (self.name, self.fallback) if self.name == "adjudicated" else (self.name,)
        for name, is_changed, rules in (
            ("fallback", bool(self.fallback), ("adjudicated",)),
            ("adjudicator", bool(self.adjudicators), ("adjudicated",)),
            ("smoothing", self.smoothing != SMOOTHING, ("dawid-skene",)),
            ("ties", bool(self.ties), tuple(_DEFAULT_TIES)),
        ):
            if is_changed and not set(rules) & set(used):
                raise InputError(
                    f"--{name} is a parameter of the rule {' or '.join(rules)}, found the rule {self.name}"
                )

    @property
    def tie_rule(self) -> str:
        """What is done with ties; empty if the rule has none."""
        name = self.fallback if self.name == "adjudicated" else self.name
        default = _DEFAULT_TIES.get(name, "")
        return self.ties or default if default else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the rule with the parameters that it uses, as a recipe records it."""
        used: dict[str, Any] = {"rule": self.name}
        names = {self.name, self.fallback}
        if self.name == "adjudicated":
            used |= {"fallback": self.fallback or None, "adjudicators": list(self.adjudicators)}
        if self.tie_rule:
            used["ties"] = self.tie_rule
        if self.tie_rule == "random":
            used["seed"] = self.seed
        if "dawid-skene" in names:
            used["smoothing"] = self.smoothing
        return used


@dataclass(frozen=True)
class Aggregation:
    """The grade of each pair, and what each judge's labels were worth by it.

    `pairs` has query_id, doc_id, grade (null: no label), confidence, value (before rounding), labels,
    unrated (judges who could not rate the pair), tied and by: the rule that gave the grade.
    """

    rule: Rule
    pairs: pl.DataFrame
    judges: Sequence[JudgeTable]
    model: DawidSkene | None
    judgments: Judgments

    @property
    def digest(self) -> str:
        """The digest of the judgments."""
        return self.judgments.digest

    def qrels(self) -> Qrels:
        """Return the pairs with a grade as qrels."""
        graded = self.pairs.drop_nulls("grade")
        if graded.is_empty():
            raise UndecidableError("no pair has a grade, so there are no qrels")
        broken = graded.filter(pl.col("grade") != pl.col("grade").floor())
        if len(broken):
            query, doc, grade = broken.select("query_id", "doc_id", "grade").row(0)
            raise InputError(
                f"qrels hold whole grades, and document {doc!r} of query {query!r} has {grade}: use the rule "
                "mean or median, which round, or judge with whole grades"
            )
        return Qrels(graded.select("query_id", "doc_id", "grade"))

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of pairs, labels and judges."""
        graded = len(self.pairs.drop_nulls("grade"))
        return {
            "pairs": len(self.pairs),
            "labelled": graded,
            "unlabelled": len(self.pairs) - graded,
            "tied": int(self.pairs["tied"].sum()),
            "judgments": int(self.pairs["labels"].sum()),
            "unrated": int(self.pairs["unrated"].sum()),
            "judges": len(self.judges),
        }

    @property
    def grades(self) -> dict[str, int]:
        """The number of pairs with each grade."""
        counted = self.pairs.drop_nulls("grade").group_by("grade").len().sort("grade")
        return {f"{grade:g}": count for grade, count in counted.rows()}

    def to_dict(self) -> dict[str, Any]:
        """Return the rule, the counts and the judges as plain data."""
        return {
            **self.rule.to_dict(),
            "counts": self.counts,
            "grades": self.grades,
            "judges": [judge.to_dict() for judge in self.judges],
            "model": None if self.model is None else self.model.to_dict(),
        }


def aggregate(judgments: Judgments, rule: Rule) -> Aggregation:
    """Return one grade for each pair; a judgment without a grade is never taken for one.

    >>> rows = [("q", "a", "ann", 2), ("q", "a", "bob", 2), ("q", "a", "cy", 0), ("q", "b", "ann", None)]
    >>> aggregate(Judgments.from_rows(rows), Rule("majority")).pairs["grade"].to_list()
    [2.0, None]
    """
    if rule.name == "adjudicated":
        return _aggregate_adjudicated(judgments, rule)
    grades, model, labels = _apply(judgments, rule.name, rule)
    return _build(judgments, rule, grades, model, labels, [rule.name] * labels.items)


def _apply(judgments: Judgments, name: str, rule: Rule) -> tuple[PairGrades, DawidSkene | None, Labels]:
    labels = Labels.from_judgments(judgments)
    if not len(labels.code):
        raise UndecidableError("expected grades, found only pairs that could not be rated")
    if name in _VOTES:
        draws = draw_numbers(judgments.pairs, rule.seed)
        return _VOTES[name](labels, rule.tie_rule, draws), None, labels
    model = fit_dawid_skene(labels, rule.smoothing)
    return _most_probable(model, labels.scale), model, labels


def _most_probable(model: DawidSkene, scale: Floats) -> PairGrades:
    """Return the grade with the highest posterior probability; the lower one if two are equal."""
    is_missing = np.isnan(model.posterior[:, 0])
    known = np.where(is_missing[:, None], 0.0, model.posterior)
    confidence = np.where(is_missing, np.nan, known.max(axis=1))
    grades = np.where(is_missing, np.nan, scale[known.argmax(axis=1)])
    is_tied = np.sum(known == known.max(axis=1, keepdims=True), axis=1) > 1
    return PairGrades(grades, model.posterior @ scale, confidence, np.asarray(is_tied & ~is_missing))


def _aggregate_adjudicated(judgments: Judgments, rule: Rule) -> Aggregation:
    adjudicators = find_adjudicators(judgments, rule.adjudicators)
    if not adjudicators:
        raise InputError(
            "expected judgments of an adjudicator (a judge named 'adjudicator …'; assay judge adjudicate "
            "makes them), found none: give --adjudicator JUDGE"
        )
    rule = replace(rule, adjudicators=adjudicators)
    decided, is_seen = adjudicated_grades(judgments, adjudicators)
    labels = Labels.from_judgments(judgments)
    values, model = np.full(labels.items, np.nan), None
    grades, confidence, is_tied = decided.copy(), values.copy(), np.zeros(labels.items, np.bool_)
    others = without_adjudicators(judgments, adjudicators) if rule.fallback else None
    if others is not None:
        part, model, _ = _apply(others, rule.fallback, rule)
        where = _positions(others, judgments)
        free = ~is_seen[where]
        for target, source in zip(
            (grades, values, confidence, is_tied),
            (part.grades, part.values, part.confidence, part.is_tied),
            strict=True,
        ):
            target[where[free]] = source[free]
    names = np.where(is_seen, "adjudicated", rule.fallback)
    return _build(
        judgments, rule, PairGrades(grades, values, confidence, is_tied), model, labels, names.tolist()
    )


def _positions(part: Judgments, whole: Judgments) -> Any:
    numbered = whole.pairs.with_row_index("position")
    return part.pairs.join(numbered, on=["query_id", "doc_id"], maintain_order="left")["position"].to_numpy()


def _build(
    judgments: Judgments,
    rule: Rule,
    grades: PairGrades,
    model: DawidSkene | None,
    labels: Labels,
    rules: Sequence[str],
) -> Aggregation:
    unrated = np.bincount(judgments.pair_codes[np.isnan(judgments.grades)], minlength=labels.items)
    pairs = judgments.pairs.with_columns(
        grade=pl.Series(grades.grades).fill_nan(None),
        confidence=pl.Series(grades.confidence).fill_nan(None),
        value=pl.Series(grades.values).fill_nan(None),
        labels=pl.Series(labels.sizes),
        unrated=pl.Series(unrated),
        tied=pl.Series(grades.is_tied),
        by=pl.Series(list(rules)),
    ).with_columns(by=pl.when(pl.col("grade").is_null()).then(pl.lit("")).otherwise(pl.col("by")))
    own = model if rule.name == "dawid-skene" else None
    tables = judge_tables(judgments, labels, grades.grades, own)
    return Aggregation(rule, pairs, tables, model, judgments)
