"""Have a language model judge pairs, some of them repeatedly, and collect its labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np

from assay.core.judgments import KEY, Judgments
from assay.judging.judge import PROBLEMS, JudgedText, Rating
from assay.judging.llm.llm_judge import LLMJudge
from assay.models.ask_all import AskOptions, AskWatch, Replies, ask_all
from assay.models.language_model import Reply, most_prompt_tokens, usual_prompt_tokens
from assay.models.reply_journal import ReplyJournal, Request
from assay.stats import Estimate
from assay.stats.intervals import estimate_mean


class Pair(NamedTuple):
    """A pair to judge, with its texts."""

    query_id: str
    doc_id: str
    texts: JudgedText


class WorkEstimate(NamedTuple):
    """How much is to be asked, and what it will cost about and at most; costs are None without prices."""

    pairs: int
    requests: int
    known: int  # requests that have a reply already
    prompt_tokens: int
    cost: float | None
    highest_cost: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return self._asdict()


class LabelledPair(NamedTuple):
    """The ratings of a pair, one for each draw that has a reply."""

    query_id: str
    doc_id: str
    ratings: tuple[Rating, ...]
    at: float  # seconds since 1970, of the first reply

    @property
    def grades(self) -> list[int]:
        """The grades of the draws that have one."""
        return [rating.grade for rating in self.ratings if rating.grade is not None]

    @property
    def grade(self) -> int | None:
        """The median of the grades, the lower one of two; None if no draw has a grade."""
        return median_low(self.grades) if self.grades else None

    @property
    def note(self) -> str:
        """The grades of several draws, or why there is no grade."""
        first_problem = next((f"{r.problem}: {r.reason}" for r in self.ratings if r.problem), "")
        if self.grade is None or len(self.ratings) == 1:
            return first_problem
        drawn = ", ".join("none" if r.grade is None else str(r.grade) for r in self.ratings)
        return f"draws {drawn}"


class LLMLabels:
    """The labels of a judge on pairs, in the order of the pairs; pairs without any reply are not in it."""

    def __init__(self, judge: LLMJudge, pairs: Sequence[LabelledPair], asked: int, replies: Replies) -> None:
        self.judge, self.pairs, self.asked, self.replies = judge, pairs, asked, replies

    @property
    def missing(self) -> int:
        """How many pairs have no reply."""
        return self.asked - len(self.pairs)

    def problem_counts(self) -> dict[str, int]:
        """Return how many replies have no label, by problem."""
        ratings = [rating for pair in self.pairs for rating in pair.ratings]
        return {problem: sum(r.problem == problem for r in ratings) for problem in PROBLEMS}

    def grade_counts(self) -> dict[int, int]:
        """Return how many pairs have each grade of the scale."""
        return {g: sum(pair.grade == g for pair in self.pairs) for g in self.judge.prompt.scale.grades}

    def sent_parameters(self) -> list[dict[str, Any]]:
        """Return the different parameters that were really sent, with the model that the server named."""
        sent = [
            {**{k: v for k, v in reply.sent.items() if k != "response_format"}, **_sent_form(reply)}
            for reply in (recorded.reply for recorded in self.replies.replies.values())
        ]
        return [dict(items) for items in dict.fromkeys(tuple(each.items()) for each in sent)]

    def self_consistency(self, level: float = 0.95) -> Estimate:
        """Return the share of equal grades among two draws of a pair, averaged over pairs."""
        values = [_share_of_equal(pair.grades) for pair in self.pairs if len(pair.grades) > 1]
        if not values:
            return Estimate(None, None, None, level, 0)
        return estimate_mean(np.array(values), level, (0.0, 1.0))

    def to_judgments(self) -> Judgments | None:
        """Return the labels as a table, None if there is no reply; a note says why a grade is missing."""
        rows = [
            {
                **dict(zip(KEY, (pair.query_id, pair.doc_id, self.judge.name), strict=True)),
                "grade": None if pair.grade is None else float(pair.grade),
                "at": datetime.fromtimestamp(pair.at, UTC).isoformat(),
                "source": f"llm:{self.judge.prompt_digest[:16]}",
                "note": pair.note,
            }
            for pair in self.pairs
        ]
        return Judgments({name: [row[name] for row in rows] for name in rows[0]}) if rows else None


def _sent_form(reply: Reply) -> dict[str, Any]:
    return {"structured": "response_format" in reply.sent, "answered_by": reply.model}


def _share_of_equal(grades: Sequence[int]) -> float:
    pairs = list(combinations(grades, 2))
    return sum(a == b for a, b in pairs) / len(pairs)


def estimate_work(judge: LLMJudge, pairs: Sequence[Pair], draws: int, journal: ReplyJournal) -> WorkEstimate:
    """Return how much is to be asked and what it will cost; the journal must be open."""
    requests = {request.key: request for pair in pairs for request in _requests(judge, pair, draws)}
    new = [request for key, request in requests.items() if key not in journal.replies]
    sizes = [most_prompt_tokens(request.messages) for request in new]
    tokens = sum(usual_prompt_tokens(request.messages) for request in new)
    prices = judge.model.prices
    most = judge.parameters.max_tokens * len(new)
    cost = prices.cost(tokens, most) if prices.are_known else None
    highest = prices.cost(sum(sizes), most) if prices.are_known else None
    return WorkEstimate(len(pairs), len(requests), len(requests) - len(new), tokens, cost, highest)


def judge_pairs(
    judge: LLMJudge,
    pairs: Sequence[Pair],
    journal: ReplyJournal,
    draws: int = 1,
    options: AskOptions | None = None,
    watch: AskWatch | None = None,
) -> LLMLabels:
    """Return the labels of pairs; replies in the journal, which must be open, are not asked for again."""
    requests = [request for pair in pairs for request in _requests(judge, pair, draws)]
    replies = ask_all(judge.model, requests, journal, options, watch)
    return LLMLabels(judge, list(_labelled_pairs(judge, pairs, draws, replies)), len(pairs), replies)


def _labelled_pairs(
    judge: LLMJudge, pairs: Sequence[Pair], draws: int, replies: Replies
) -> Iterator[LabelledPair]:
    for pair in pairs:
        keys = [request.key for request in _requests(judge, pair, draws)]
        recorded = [replies.replies[key] for key in keys if key in replies.replies]
        if recorded:
            ratings = tuple(judge.read(reply.reply) for reply in recorded)
            yield LabelledPair(pair.query_id, pair.doc_id, ratings, recorded[0].at)


def _requests(judge: LLMJudge, pair: Pair, draws: int) -> Iterator[Request]:
    return (judge.request(pair.texts, draw) for draw in range(draws))
