"""Have a language model judge pairs, and say what its labels are worth: what `assay judge llm` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.core.errors import InputError, UndecidableError
from assay.core.groups import RunBlocks
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import read
from assay.datasets.judgment_files import check_judgments_name, write_judgments
from assay.datasets.output_files import check_target, refuse_inputs_as_outputs
from assay.datasets.pairs import read_pairs
from assay.decisions.verdict import Verdict
from assay.evaluation.evaluate import parse_measures
from assay.judging.judge import JudgedText
from assay.judging.llm.judge_pairs import LLMLabels, Pair, WorkEstimate, estimate_work, judge_pairs
from assay.judging.llm.llm_judge import LLMJudge
from assay.judging.llm.model_families import model_names, shared_family
from assay.judging.llm.prompt import JudgePrompt
from assay.judging.llm.requirements import check_requirements, parse_requirements
from assay.judging.llm.scale import Scale
from assay.judging.llm.worth import JudgeWorth, WorthOptions, compute_worth
from assay.models.ask_all import AskWatch
from assay.models.reply_journal import RecordedReply
from assay.workflows.inputs import TableFiles, read_configurations
from assay.workflows.judgment_inputs import open_judgments
from assay.workflows.language_models import ModelRequest, open_journal

EstimateWatch = Callable[[WorkEstimate], None]


@dataclass(frozen=True, kw_only=True)
class WorthRequest:
    """What to hold the labels of a model against."""

    qrels: str | None = None
    runs: Sequence[str] = ()
    measures: Sequence[str] = ("nDCG@10",)
    by: Sequence[str] = ()
    judged_models: Sequence[str] = ()
    configurations: Sequence[str] = ()  # a file for each run
    require: Sequence[str] = ()  # FIGURE=THRESHOLD
    top: int = 5
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        parse_requirements(self.require)
        for name in ("runs", "by", "require", "configurations"):
            if getattr(self, name) and self.qrels is None:
                option = {"runs": "run", "configurations": "config"}.get(name, name)
                raise InputError(f"--{option} needs the labels of people to compare with: give --qrels")


@dataclass(frozen=True, kw_only=True)
class JudgeLLMRequest:
    """The pairs to judge, their texts, the model and what to do with its labels."""

    model: ModelRequest
    pairs: str
    queries: str
    documents: str
    grades: str = "0-3"
    fields: Sequence[str] = ("title", "text")
    max_characters: int | None = None  # of a document
    draws: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)  # max_tokens, temperature, seed
    retry_unreadable: bool = False
    is_estimate_only: bool = False
    out: str | None = None
    worth: WorthRequest = field(default_factory=WorthRequest)

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise InputError(f"--draws expects at least 1, found {self.draws}")
        if self.max_characters is not None and self.max_characters < 1:
            raise InputError(f"--max-characters expects at least 1, found {self.max_characters}")

    def judge(self) -> LLMJudge:
        """Return the judge."""
        model = self.model.load()
        defaults = LLMJudge(model, self.model.model)
        parameters = replace(defaults.parameters, **self.parameters)
        return replace(defaults, prompt=JudgePrompt(Scale.parse(self.grades)), parameters=parameters)


@dataclass(frozen=True)
class LLMJudgement:
    """The labels of a model with what they cost and, against labels of people, what they are worth."""

    judge: Mapping[str, Any]  # the configuration
    estimate: WorkEstimate
    replies: Path  # the journal with the evidence
    labels: LLMLabels | None = None  # None if only an estimate was asked for
    judgments: Judgments | None = None
    out: str | None = None
    worth: JudgeWorth | None = None
    verdict: Verdict | None = None  # of the owner's thresholds
    worth_problem: str = ""  # why there is no worth

    @property
    def exit_code(self) -> int:
        """1 if the thresholds are not met, 3 if pairs are missing, else 0."""
        if self.verdict is not None and self.verdict.status != "passed":
            return 1
        is_incomplete = self.labels is not None and self.labels.missing
        return 3 if is_incomplete or self.worth_problem else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as `assay judge llm --format json` prints it."""
        return {
            "judge": dict(self.judge),
            "estimate": self.estimate.to_dict(),
            "replies": str(self.replies),
            "output": self.out,
            "labels": None if self.labels is None else _labels_to_dict(self.labels, self.judge),
            **_worth_to_dict(self.worth, self.verdict),
        }


@dataclass(frozen=True)
class LabelWorth:
    """What labels of a model in a file are worth, and whether they meet the owner's thresholds."""

    worth: JudgeWorth
    verdict: Verdict | None

    @property
    def exit_code(self) -> int:
        """1 if the thresholds are not met, else 0."""
        return int(self.verdict is not None and self.verdict.status != "passed")

    def to_dict(self) -> dict[str, Any]:
        """Return the worth as plain data, as `assay judge llm --labels … --format json` prints it."""
        return _worth_to_dict(self.worth, self.verdict)


def _worth_to_dict(worth: JudgeWorth | None, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "worth": None if worth is None else worth.to_dict(),
        "requirements": None if verdict is None else _verdict_to_dict(verdict),
    }


def _labels_to_dict(labels: LLMLabels, judge: Mapping[str, Any]) -> dict[str, Any]:
    replies = labels.replies
    return {
        "pairs": labels.asked,
        "labelled": sum(pair.grade is not None for pair in labels.pairs),
        "missing": labels.missing,
        **labels.problem_counts(),
        "failed": len(replies.failures),
        "grades": {str(grade): n for grade, n in labels.grade_counts().items()},
        "self_consistency": labels.self_consistency().to_dict(),
        "parameters_sent": labels.sent_parameters(),
        "spent": {
            "cost": replies.cost,
            "total_cost": replies.total_cost,
            "possible_cost": replies.possible_cost,
            "prompt_tokens": replies.prompt_tokens,
            "completion_tokens": replies.completion_tokens,
            "requests": replies.asked,
            "reused": replies.reused,
            "unanswered": replies.unanswered,
            "seconds": replies.seconds,
        },
        "stopped_by": replies.stopped_by,
    }


def _verdict_to_dict(verdict: Verdict) -> dict[str, Any]:
    checks = [
        {"rule": check.rule.name, "status": check.status, **check.value.to_dict()} for check in verdict.checks
    ]
    return {"may_gate": verdict.status == "passed", "checks": checks}


def judge_with_llm(
    request: JudgeLLMRequest, watch: AskWatch | None = None, announce: EstimateWatch | None = None
) -> LLMJudgement:
    """Judge the pairs that have no reply yet, write the labels, and compute their worth."""
    _check_output(request)
    queries, documents = read(request.queries, "queries"), read(request.documents, "documents")
    pairs = build_pairs(read_pairs(request.pairs), queries, documents, request)
    worth_inputs = _open_worth_inputs(request.worth)  # a wrong file is found before anything is paid
    judge = request.judge()
    with open_journal(judge.model, request.model) as journal:
        estimate = estimate_work(judge, pairs, request.draws, journal)
        if announce:
            announce(estimate)
        if request.is_estimate_only:
            return LLMJudgement(judge.configuration(), estimate, journal.path)
        options = request.model.options()
        if request.retry_unreadable:
            options = replace(options, ask_again=_has_no_grade(judge))
        labels = judge_pairs(judge, pairs, journal, request.draws, options, watch)
        result = LLMJudgement(judge.configuration(), estimate, journal.path, labels, labels.to_judgments())
    result = _write(result, request.out)
    if result.judgments is None or worth_inputs is None:
        return result
    return _add_worth(result, request, worth_inputs, queries, documents)


def _check_output(request: JudgeLLMRequest) -> None:
    """Refuse an output that cannot be written, before anything is paid."""
    if request.out is None:
        return
    check_judgments_name(request.out)
    check_target(Path(request.out))
    worth = request.worth
    inputs = (request.pairs, request.queries, request.documents, worth.qrels, *worth.runs)
    refuse_inputs_as_outputs((request.out,), inputs)


def _has_no_grade(judge: LLMJudge) -> Callable[[RecordedReply], bool]:
    return lambda recorded: judge.read(recorded.reply).grade is None


def _write(result: LLMJudgement, out: str | None) -> LLMJudgement:
    if result.judgments is None or out is None:
        return result
    write_judgments(result.judgments, out)
    return replace(result, out=out)


def build_pairs(
    ids: Sequence[tuple[str, str]], queries: Queries, documents: Documents, request: JudgeLLMRequest
) -> list[Pair]:
    """Return the pairs with their texts; a pair without a query or a document is an error."""
    fields = [name for name in request.fields if name in documents.columns]
    if not fields:
        raise InputError(
            f"--fields: the documents have none of {', '.join(request.fields)}; "
            f"they have {', '.join(documents.columns)}"
        )
    pairs = []
    for query_id, doc_id in ids:
        query_row, row = queries.row_by_id.get(query_id), documents.row_by_id.get(doc_id)
        if query_row is None or row is None:
            source, missing = (
                (request.queries, query_id) if query_row is None else (request.documents, doc_id)
            )
            raise InputError(f"{source} has no {missing!r}, which {request.pairs} asks to judge")
        text = _document_text(documents, fields, row)
        texts = JudgedText(str(queries.columns["text"][query_row]), text[: request.max_characters])
        pairs.append(Pair(query_id, doc_id, texts))
    if not pairs:
        raise InputError(f"{request.pairs}: expected pairs to judge, found none")
    return pairs


def _document_text(documents: Documents, fields: Sequence[str], row: int) -> str:
    """Return the fields of a document, one after another; the name is given of fields that need it."""
    values = [(name, documents.columns[name][row]) for name in fields]
    return "\n".join(
        str(value) if name in ("title", "text") else f"{name}: {value}" for name, value in values if value
    )


@dataclass(frozen=True)
class _WorthInputs:
    human: Qrels
    runs: Sequence[RunBlocks]
    judged_models: Sequence[str]


def _open_worth_inputs(request: WorthRequest) -> _WorthInputs | None:
    if request.qrels is None:
        return None
    tables = TableFiles(qrels=request.qrels, runs=request.runs).open()
    runs = tables.runs
    configured = read_configurations(request.configurations, [run.name for run in runs])
    models = [*request.judged_models, *(name for c in configured.values() for name in model_names(c))]
    parse_measures(request.measures)
    return _WorthInputs(tables.qrels, runs, models)


def _add_worth(
    result: LLMJudgement,
    request: JudgeLLMRequest,
    inputs: _WorthInputs,
    queries: Queries,
    documents: Documents,
) -> LLMJudgement:
    assert result.judgments is not None
    try:
        value = _measure(result.judgments, request.worth, inputs, (queries, documents), request.model.model)
    except UndecidableError as error:  # the labels are paid for: say why they cannot be compared, no more
        return replace(result, worth_problem=str(error))
    return replace(result, worth=value.worth, verdict=value.verdict)


def _measure(
    judgments: Judgments,
    request: WorthRequest,
    inputs: _WorthInputs,
    texts: tuple[Queries | None, Documents | None],
    model: str,
) -> LabelWorth:
    options = WorthOptions(
        runs=inputs.runs,
        measures=parse_measures(request.measures),
        queries=texts[0],
        documents=texts[1],
        by=request.by,
        top=request.top,
        level=request.level,
        seed=request.seed,
    )
    families = shared_family(model, inputs.judged_models)
    worth = compute_worth(judgments, inputs.human, options, families)
    rules = parse_requirements(request.require)
    if not rules:
        return LabelWorth(worth, None)
    verdict = check_requirements(rules, worth.figures(), worth.agreement.n, request.level)
    return LabelWorth(worth, verdict)


def measure_label_worth(
    labels: str, request: WorthRequest, queries: str | None = None, documents: str | None = None
) -> LabelWorth:
    """Return what the labels of a model in a file are worth; its judge is the model."""
    inputs = _open_worth_inputs(request)
    if inputs is None:
        raise InputError("--labels needs the labels of people to compare with: give --qrels")
    judgments = open_judgments([labels])
    if len(judgments.judges) != 1:
        raise InputError(f"{labels}: expected the labels of one judge, found {len(judgments.judges)}")
    tables = TableFiles(queries=queries, documents=documents).open_unjudged()
    return _measure(judgments, request, inputs, tables, judgments.judges[0])
