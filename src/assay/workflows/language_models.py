"""Open a language model and the journal of its replies, as requests of several commands name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any

from assay.core.errors import InputError
from assay.models.ask_all import AskOptions
from assay.models.language_model import LanguageModel
from assay.models.registry import load_language_model
from assay.models.reply_journal import ReplyJournal

REPLIES = "llm-replies"  # the folder of the journals, if no other is named
_OPTIONS = {"base_url": "--endpoint", "key_env": "--key-env"}  # settings of the adapter by their option


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """A language model behind an endpoint, how it is called, and where its replies are recorded."""

    endpoint: str
    model: str
    key_env: str | None = None
    price_in: float | None = None  # of a million tokens of prompts
    price_out: float | None = None  # of a million tokens of replies
    budget: float | None = None
    workers: int = 4
    rate: float | None = None
    timeout: float = 120.0
    retries: int = 5
    structured: str = "auto"
    replies: str = REPLIES

    def __post_init__(self) -> None:
        if self.budget is not None and (self.price_in is None or self.price_out is None):
            raise InputError(
                "--budget needs prices: give --price-in and --price-out (per million tokens; 0 if free)"
            )

        if self.budget is not None and self.budget < 0:
            raise InputError(f"--budget expects 0 or more, found {self.budget:g}")
        for name in ("rate", "timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < inf:
                raise InputError(f"--{name} expects a number above 0, found {value}")
        if self.retries < 0:
            raise InputError(f"--retries expects at least 0, found {self.retries}")

    def load(self) -> LanguageModel:
        """Return the model."""
        settings: dict[str, Any] = {
            "model": self.model,
            "base_url": self.endpoint,
            "key_env": self.key_env,
            "price_prompt": self.price_in,
            "price_completion": self.price_out,
            "structured": self.structured,
            "rate": self.rate,
            "timeout": self.timeout,
            "retries": self.retries,
        }
        try:
            return load_language_model("openai", **settings)
        except InputError as error:
            name, _, problem = str(error).partition(": ")
            if name not in _OPTIONS:
                raise
            raise InputError(f"{_OPTIONS[name]}: {problem}") from None

    def options(self) -> AskOptions:
        """Return how requests are sent."""
        return AskOptions(workers=self.workers, budget=inf if self.budget is None else self.budget)


@contextmanager
def open_journal(model: LanguageModel, request: ModelRequest) -> Iterator[ReplyJournal]:
    """Open the journal of the replies of a model; the model is closed afterwards."""
    journal = ReplyJournal(request.replies, request.model, {"language_model": model.configuration()})
    try:
        with journal.open():
            yield journal
    finally:
        model.close()
