"""A language model as a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.digests import digest_of
from assay.judging.judge import JudgedText, Rating
from assay.judging.llm.prompt import JudgePrompt
from assay.judging.llm.replies import read_rating
from assay.judging.llm.scale import Scale
from assay.models.language_model import LanguageModel, Reply, ReplyParameters
from assay.models.reply_journal import Request

_REPLY_TOKENS = 24  # of a grade as JSON, written with spaces and line breaks


@dataclass(frozen=True)
class LLMJudge:
    """A judge that asks a language model for one grade of a pair."""

    model: LanguageModel
    name: str
    prompt: JudgePrompt = field(default_factory=lambda: JudgePrompt(Scale.parse("0-3")))
    parameters: ReplyParameters = field(default_factory=lambda: ReplyParameters(max_tokens=_REPLY_TOKENS))

    def request(self, pair: JudgedText, draw: int = 0) -> Request:
        """Return the request for the grade of a pair."""
        return Request(self.prompt.messages(pair), self.parameters, self.prompt.scale.schema(), draw)

    def read(self, reply: Reply) -> Rating:
        """Return the grade in a reply, or why there is none."""
        return read_rating(reply, self.prompt.scale.grades)

    def rate(self, pair: JudgedText) -> Rating:
        """Return the rating of a pair."""
        request = self.request(pair)
        return self.read(self.model.reply(request.messages, request.parameters, request.schema))

    @property
    def prompt_digest(self) -> str:
        """The digest of what is the same in all prompts."""
        return digest_of(repr(self.prompt).encode())

    def configuration(self) -> Mapping[str, Any]:
        """Return the model, the prompt, the scale and the parameters."""
        return {
            "model": dict(self.model.configuration()),
            "prompt": self.prompt_digest,
            "grades": list(self.prompt.scale.grades),
            "parameters": self.parameters.to_dict(),
        }
