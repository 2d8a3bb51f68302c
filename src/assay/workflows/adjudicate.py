"""Decide where judges differ: what `assay judge adjudicate` does."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.files import write_atomically
from assay.core.judgments import Judgments
from assay.datasets import write
from assay.datasets.judgment_files import read_judgments, write_judgments
from assay.datasets.output_files import refuse_inputs_as_outputs
from assay.judging.adjudication import (
    Adjudication,
    Disputes,
    adopt_decisions,
    count_decided,
    name_judge,
)
from assay.judging.aggregation import Rule, aggregate
from assay.judging.agreement.disagreements import Disagreement
from assay.workflows.dataset_sample import write_recipe
from assay.workflows.derive_qrels import describe_labels
from assay.workflows.inputs import TableFiles
from assay.workflows.judgment_inputs import open_judgments

DECISION_FORMATS = (".jsonl", ".csv", ".json", ".parquet")


@dataclass(frozen=True, kw_only=True)
class AdjudicateRequest:
    """The labels, who decides, and where decisions are kept."""

    judgments: Sequence[str]  # paths, JUDGE=PATH, project:NAME or dataset:NAME
    adjudicator: str | None = None  # None: the disagreements are only listed
    output: str | None = None  # the decisions
    decisions: str | None = None  # decisions that were made elsewhere
    qrels: str | None = None
    fallback: str = "unanimous"  # the rule of pairs without a decision; empty: they have no label
    seed: int = 0  # of the order of the pairs
    least_difference: float = 0.0
    grades: Sequence[float] = ()  # that can be given; default: from the lowest to the highest label
    queries: str | None = None
    documents: str | None = None
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()
    file_format: str | None = None
    store: str | None = None

    def __post_init__(self) -> None:
        if self.adjudicator is None:
            if self.output or self.decisions or self.qrels:
                raise InputError("-o, --decisions and --qrels need --by NAME: the person who decides")
            return
        name_judge(self.adjudicator)
        if self.output is None:
            raise InputError("--by NAME needs -o FILE: where the decisions are saved")
        if not self.output.lower().endswith(DECISION_FORMATS):
            raise InputError(
                f"-o expects a file name with {', '.join(DECISION_FORMATS)}, found {self.output}"
            )


@dataclass(frozen=True)
class AdjudicationResult:
    """What was decided, and what is left."""

    disputes: Disputes
    decisions: Judgments | None
    judge: str | None
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many disputes there are, and how many have a decision."""
        return count_decided(self.disputes, self.decisions)

    @property
    def grades(self) -> dict[tuple[str, str], float | None]:
        """The decision of each pair that has one; None: it cannot be rated."""
        if self.decisions is None:
            return {}
        rows = self.decisions.frame.select("query_id", "doc_id", "grade").rows()
        return {(query, doc): grade for query, doc, grade in rows}

    def to_dict(self) -> dict[str, Any]:
        """Return the decisions as plain data, as `assay judge adjudicate --format json` prints them."""
        grades = self.grades
        return {
            "adjudicator": self.judge,
            "seed": self.disputes.seed,
            "counts": self.counts,
            "disputes": [_to_dict(one, grades) for one in self.disputes.by_severity],
            "files": dict(self.files),
        }


def _to_dict(dispute: Disagreement, grades: Mapping[tuple[str, str], float | None]) -> dict[str, Any]:
    pair = (dispute.query_id, dispute.doc_id)
    return {**dispute.to_dict(), "is_decided": pair in grades, "decision": grades.get(pair)}


class AdjudicationSession:
    """An adjudication whose decisions are on the disk before the next pair is shown."""

    def __init__(self, request: AdjudicateRequest, judgments: Judgments, disputes: Disputes) -> None:
        assert request.adjudicator is not None
        assert request.output is not None
        self.request, self._judgments, self.disputes = request, judgments, disputes
        self.path = request.output
        earlier = read_judgments(self.path) if os.path.exists(self.path) else None
        self.adjudication = Adjudication(disputes, name_judge(request.adjudicator), earlier)
        self.scale = list(request.grades) or disputes.scale
        self._content = _read_content(self.path)

    def decide(self, grade: float | None, note: str = "") -> None:
        """Save a decision about the current pair."""
        self.adjudication.decide(grade, datetime.now(UTC).replace(microsecond=0), note)
        self._save()

    def undo(self) -> bool:
        """Take back the last decision; False if there is none."""
        is_undone = self.adjudication.undo()
        if is_undone:
            self._save()
        return is_undone

    def _save(self) -> None:
        if _read_content(self.path) != self._content:
            raise InputError(
                f"{self.path} was changed by another program, so this decision was not saved: start again"
            )
        _write_decisions(self.adjudication.judgments(), self.path)
        self._content = _read_content(self.path)

    def finish(self) -> AdjudicationResult:
        """Return what was decided; the qrels are written if they are wanted."""
        decisions = self.adjudication.judgments()
        return _finish(self.request, self._judgments, self.disputes, decisions)


def _read_content(path: str) -> bytes | None:
    return Path(path).read_bytes() if os.path.exists(path) else None


def _write_decisions(decisions: Judgments | None, path: str) -> None:
    if decisions is None:
        Path(path).unlink(missing_ok=True)
        return
    with write_atomically(path) as partial:
        name = os.path.splitext(path.lower())[1].removeprefix(".")
        write_judgments(decisions, partial, name)


def adjudicate(request: AdjudicateRequest) -> AdjudicationResult | AdjudicationSession:
    """List the disputes, adopt decisions from a file, or open a session in which one person decides."""
    inputs = (*request.judgments, request.queries, request.documents)
    refuse_inputs_as_outputs((request.output, request.qrels), inputs)
    refuse_inputs_as_outputs((request.qrels,), (request.output, request.decisions))
    judgments = open_judgments(
        request.judgments, request.columns, request.store, request.labels, request.file_format
    )
    tables = TableFiles(queries=request.queries, documents=request.documents)
    queries, documents = tables.open_unjudged()
    disputes = Disputes(judgments, queries, documents, request.seed, request.least_difference)
    if request.adjudicator is None:
        return AdjudicationResult(disputes, None, None)
    if request.decisions is None:
        return AdjudicationSession(request, judgments, disputes)
    return _adopt(request, judgments, disputes, request.decisions, name_judge(request.adjudicator))


def _adopt(
    request: AdjudicateRequest, judgments: Judgments, disputes: Disputes, path: str, judge: str
) -> AdjudicationResult:
    """Save decisions that were made elsewhere; those of the output file stay."""
    assert request.output is not None
    decisions = adopt_decisions(read_judgments(path), judgments, judge)
    if os.path.exists(request.output):
        earlier = read_judgments(request.output)
        repeated = earlier.pairs.join(decisions.pairs, on=["query_id", "doc_id"], how="semi")
        if len(repeated):
            query, doc = repeated.row(0)
            raise InputError(
                f"{request.output} has a decision about document {doc!r} of query {query!r} already: "
                "name another file with -o, or take the pair out of one of the two"
            )
        decisions = Judgments(pl.concat([earlier.frame, decisions.frame]))
    _write_decisions(decisions, request.output)
    return _finish(request, judgments, disputes, decisions)


def _finish(
    request: AdjudicateRequest, judgments: Judgments, disputes: Disputes, decisions: Judgments | None
) -> AdjudicationResult:
    assert request.adjudicator is not None
    assert request.output is not None
    judge = name_judge(request.adjudicator)
    files = {} if decisions is None else {"decisions": request.output}
    if request.qrels is not None and decisions is not None:
        files |= _write_qrels(request, disputes, decisions)
    return AdjudicationResult(disputes, decisions, judge, files)


def _write_qrels(request: AdjudicateRequest, disputes: Disputes, decisions: Judgments) -> dict[str, str]:
    assert request.qrels is not None
    assert disputes.judgments is not None
    joined = Judgments(pl.concat([disputes.judgments.frame, decisions.frame]))
    result = aggregate(joined, Rule("adjudicated", seed=request.seed, fallback=request.fallback))
    qrels = result.qrels()
    write(qrels, request.qrels)
    recipe = f"{os.path.splitext(request.qrels)[0]}.recipe.json"
    write_recipe(describe_labels(result, joined, qrels, request.judgments), recipe)
    return {"qrels": request.qrels, "recipe": recipe}
