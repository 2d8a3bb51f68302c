"""Ask a model questions with the results of many searches: what `assay rag run` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from assay.core.errors import InputError, UndecidableError
from assay.core.tables import Documents
from assay.datasets.output_files import check_target, refuse_inputs_as_outputs
from assay.models.ask_all import AskWatch, Replies, ask_all
from assay.models.language_model import (
    LanguageModel,
    Prices,
    ReplyParameters,
    most_prompt_tokens,
    usual_prompt_tokens,
)
from assay.models.reply_journal import ReplyJournal, Request
from assay.rag.agentic import AgentOptions, ask_agent
from assay.rag.answer_judge import judge_answers
from assay.rag.answers import CORRECTNESS, NOT_ASKED, Answer, DocumentFacts
from assay.rag.asking import Ask, Asking, RagEstimate, ask_contexts, control_contexts
from assay.rag.contexts import Context, reduced_contexts, retrieved_contexts
from assay.rag.prompts import BEST_LAST, ORDERS, AnswerPrompt
from assay.rag.questions import Question, read_questions
from assay.rag.study import RagStudy
from assay.rag.study_file import write_study
from assay.workflows.language_models import ModelRequest, open_journal
from assay.workflows.rag_searches import SearchRequest, StudySearches, open_searches
from assay.workflows.rag_studies import check_study_saving, save_study
from assay.workflows.recording import SavedExperiment

MODES = ("naive", "agentic")
_AGENT_K, _NAIVE_K = 5, 10  # documents of a search, as in the paper
_EXCERPT = 600  # characters of a document that are kept with the study
_USUAL_REPLY = 16  # tokens of a short answer, for the estimate


@dataclass(frozen=True, kw_only=True)
class RagRunRequest:
    """The questions, the searches and the model of a study, and what counts as correct."""

    model: ModelRequest
    searches: SearchRequest = field(default_factory=SearchRequest)
    mode: str = "naive"
    k: int | None = None
    correctness: str = "contained"
    judge: ModelRequest | None = None
    removals: Sequence[int] | None = None  # true neighbours that are left; None: spread levels; (): none
    questions: int | None = None  # a sample of so many
    seed: int = 0
    max_turns: int = 10
    max_tokens: int | None = None
    max_characters: int = 1200
    order: str = BEST_LAST
    level: float = 0.95
    out: str | None = None
    save: str | None = None  # the name under which the study is kept in the store
    store: str | None = None
    is_estimate_only: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"--mode expects one of {', '.join(MODES)}, found {self.mode!r}")
        if self.correctness not in CORRECTNESS:
            raise InputError(f"--correct expects one of {', '.join(CORRECTNESS)}, found {self.correctness!r}")
        if self.order not in ORDERS:
            raise InputError(f"--order expects one of {', '.join(ORDERS)}, found {self.order!r}")
        if self.correctness == "judge" and self.judge is None:
            raise InputError("--correct judge needs a judge: give --judge-model (and --judge-endpoint)")
        for name in ("k", "questions", "max_turns", "max_characters", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name.replace('_', '-')} expects at least 1, found {value}")
        if any(not 0 <= count <= self.depth for count in self.removals or ()):
            raise InputError(f"--neighbours expects numbers from 0 to {self.depth}, the K of the study")

    @property
    def depth(self) -> int:
        """How many documents a search returns."""
        return self.k or (_AGENT_K if self.mode == "agentic" else _NAIVE_K)

    @property
    def levels(self) -> Sequence[int]:
        """How many true neighbours are left in contexts that some were removed from."""
        if self.removals is not None:
            return sorted(set(self.removals))
        k = self.depth
        return sorted({round(k * share) for share in (0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1)})


@dataclass(frozen=True)
class RagResult:
    """A study with what it cost; without answers if only an estimate was asked for."""

    estimate: RagEstimate
    replies: Path  # the journal
    study: RagStudy | None = None
    spent: Replies | None = None  # of the last requests
    out: str | None = None
    saved: SavedExperiment | None = None

    @property
    def exit_code(self) -> int:
        """3 if questions could not be asked or answers not judged, else 0."""
        if self.study is None:
            return 0
        is_incomplete = any(answer.status == NOT_ASKED for answer in self.study.answers)
        is_incomplete = is_incomplete or bool(self.spent and self.spent.stopped_by)
        return UndecidableError.exit_code if is_incomplete else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, as `assay rag run --format json` prints it."""
        found = {} if self.study is None else self.study.result_dict()
        return {
            **found,
            "estimate": self.estimate.to_dict(),
            "replies": str(self.replies),
            "output": self.out,
            "saved": self.saved and self.saved._asdict(),
        }


EstimateWatch = Callable[[RagEstimate], None]


def run_rag(
    request: RagRunRequest, watch: AskWatch | None = None, announce: EstimateWatch | None = None
) -> RagResult:
    """Search with every configuration, ask the model, and return the answers with what they are worth."""
    _check_output(request)
    is_agentic = request.mode == "agentic"
    with open_searches(request.searches, request.depth, is_agentic) as searches:
        questions = _sample(read_questions(searches.data.queries), request)
        work = _Work(request, searches, questions)
        model = request.model.load()
        with open_journal(model, request.model) as journal:
            estimate = work.estimate(model, journal)
            if announce:
                announce(estimate)
            if request.is_estimate_only:
                return RagResult(estimate, journal.path)
            asking = _JournalAsk(model, journal, request.model, watch)
            answers = work.ask(asking)
            result = RagResult(estimate, journal.path, spent=asking.last)
    answers, judged = _judge(answers, request, work, watch)
    if judged is not None and judged.stopped_by:
        result = replace(result, spent=judged)
    study = work.study(answers)
    if request.out is not None:
        write_study(study, request.out)
    saved = None if request.save is None else save_study(study, request.save, request.store)
    return replace(result, study=study, out=request.out, saved=saved)


def _check_output(request: RagRunRequest) -> None:
    """Refuse an output that cannot be written, before anything is paid."""
    if request.save is not None:
        check_study_saving(request.save, request.store)
    if request.out is None:
        return
    check_target(Path(request.out))
    searches = request.searches
    inputs = (searches.questions, searches.documents, searches.qrels, *searches.runs)
    refuse_inputs_as_outputs((request.out,), inputs)


def _sample(questions: list[Question], request: RagRunRequest) -> list[Question]:
    if request.questions is None or request.questions >= len(questions):
        return questions
    places = sorted(Random(request.seed).sample(range(len(questions)), request.questions))
    return [questions[place] for place in places]


class _JournalAsk:
    """Asks requests within the budget; replies that are recorded are not paid for again."""

    def __init__(
        self, model: LanguageModel, journal: ReplyJournal, request: ModelRequest, watch: AskWatch | None
    ) -> None:
        self._model, self._journal, self._options, self._watch = model, journal, request.options(), watch
        self.last: Replies | None = None

    def __call__(self, requests: Sequence[Request]) -> Replies:
        self.last = ask_all(self._model, requests, self._journal, self._options, self._watch)
        return self.last


class _Work:
    """The contexts of a study, and how they are asked."""

    def __init__(self, request: RagRunRequest, searches: StudySearches, questions: list[Question]) -> None:
        self.request, self.searches, self.questions = request, searches, questions
        self.by_id = {question.id: question for question in questions}
        self.texts = _texts(searches.data.documents)
        self.relevant = _relevant(searches)
        facts = DocumentFacts(self.texts, self.relevant)
        default = 128 if request.mode == "agentic" else 48
        parameters = ReplyParameters(max_tokens=request.max_tokens or default)
        self.asking = Asking(
            AnswerPrompt(max_characters=request.max_characters, order=request.order), parameters, facts
        )
        self.contexts = self._contexts()

    def _contexts(self) -> list[Context]:
        k, truth = self.request.depth, self._chosen(self.searches.truth)
        contexts = control_contexts(self.questions, k)
        if truth and self.request.levels:
            contexts += reduced_contexts(truth, k, self.request.levels, self.request.seed)
        if self.request.mode == "naive":
            for name, rankings in self.searches.rankings.items():
                failures = self._chosen(self.searches.failures.get(name, {}))
                chosen = {key: rankings.get(key, ()) for key in self.by_id if key not in failures}
                latencies = self.searches.milliseconds.get(name, {})
                contexts += retrieved_contexts(name, chosen, truth, k, failures, latencies)
        return contexts

    def _chosen(self, values: Any) -> dict[str, Any]:
        """Return the values of the questions of the study."""
        return {key: values[key] for key in self.by_id if key in values}

    def requests(self) -> list[Request]:
        """Return the requests that are known before anything is asked, equal ones once."""
        asked = (context for context in self.contexts if not context.failure)
        found = [self.asking.request(self.by_id[context.question_id], context) for context in asked]
        return list({request.key: request for request in found}.values())

    def estimate(self, model: LanguageModel, journal: ReplyJournal) -> RagEstimate:
        """Return how much is to be asked, and what it will cost."""
        requests = self.requests()
        new = [request for request in requests if request.key not in journal.replies]
        counts = {"requests": len(requests), "known": len(requests) - len(new), **self._later_requests()}
        prices: Prices = model.prices
        if not prices.are_known:
            return RagEstimate(**counts, cost=None, highest_cost=None)
        most = sum(prices.cost(most_prompt_tokens(r.messages), r.parameters.max_tokens) for r in new)
        usual = sum(prices.cost(usual_prompt_tokens(r.messages), _USUAL_REPLY) for r in new)
        return RagEstimate(**counts, cost=usual, highest_cost=most)

    def _later_requests(self) -> dict[str, int]:
        """Return how many requests of an agent and of a judge there are at most."""
        is_agentic = self.request.mode == "agentic"
        asked = len(self.questions) * len(self.searches.rankings) if is_agentic else 0
        judged = 2 * (len(self.contexts) + asked) if self.request.judge else 0
        turns = asked * (self.request.max_turns + 1)
        return {"most_agent_requests": turns, "most_judge_requests": judged}

    def ask(self, ask: Ask) -> list[Answer]:
        """Ask every question with every context, and let the agent search with every configuration."""
        answers = ask_contexts(self.asking, self.by_id, self.contexts, ask)
        if self.request.mode == "agentic":
            options = AgentOptions(self.request.max_turns, self.asking.parameters, self.asking.prompt)
            for name in self.searches.rankings:
                search = self.searches.live_search(name, self.request.depth)
                answers += ask_agent(self.questions, name, search, ask, self.asking.facts, options)
        return answers

    def study(self, answers: Sequence[Answer]) -> RagStudy:
        """Return the study of the answers."""
        request, asking = self.request, self.asking
        settings = {
            "mode": request.mode,
            "k": request.depth,
            "model": request.model.model,
            "correctness": request.correctness,
            "judge": request.judge.model if request.judge else None,
            "parameters": asking.parameters.to_dict(),
            "prompt": vars(asking.prompt),
            "max_turns": request.max_turns if request.mode == "agentic" else None,
            "neighbours_left": list(request.levels) if self.searches.truth else [],
            "seed": request.seed,
        }
        truth = {key: list(ids)[: request.depth] for key, ids in self._chosen(self.searches.truth).items()}
        relevant: dict[str, list[str]] | None = None
        if self.relevant is not None:
            relevant = {key: sorted(ids) for key, ids in self._chosen(self.relevant).items()}
        families = self.searches.families
        excerpts = {d: self.texts.get(d, "")[:_EXCERPT] for answer in answers for d in answer.doc_ids}
        return RagStudy(settings, self.questions, answers, families, truth, relevant, request.level, excerpts)


def _texts(documents: Documents) -> dict[str, str]:
    return documents.texts()


def _relevant(searches: StudySearches) -> dict[str, frozenset[str]] | None:
    if searches.data.qrels is None:
        return None
    grades = searches.data.qrels.to_dict()
    return {query: frozenset(d for d, grade in docs.items() if grade > 0) for query, docs in grades.items()}


def _judge(
    answers: list[Answer], request: RagRunRequest, work: _Work, watch: AskWatch | None
) -> tuple[list[Answer], Replies | None]:
    """Return the answers with the labels of the judge, and what it spent; without a judge as they are."""
    if request.judge is None:
        return answers, None
    model = request.judge.load()
    with open_journal(model, request.judge) as journal:
        ask = _JournalAsk(model, journal, request.judge, watch)
        return judge_answers(answers, work.by_id, work.texts, ask), ask.last
