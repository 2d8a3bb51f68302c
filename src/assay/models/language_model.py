"""The LanguageModel protocol: messages and parameters become a reply, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.core.errors import InputError
from assay.models.model import Model, Usage
from assay.remote.errors import RemoteError

ROLES = ("system", "user", "assistant", "tool")
TOKENS_AROUND_MESSAGE = 64  # a bound of what a chat template adds to a message
_BYTES_PER_TOKEN = 4.0  # of English text, about
JsonSchema = Mapping[str, Any]


class ToolCall(NamedTuple):
    """A call of a tool that a model asks for."""

    id: str
    name: str
    arguments: str  # JSON, as the model wrote it


class Tool(NamedTuple):
    """A function that a model may call: what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    parameters: JsonSchema


class Message(NamedTuple):
    """One message of a chat."""

    role: str  # one of ROLES
    text: str
    tool_calls: tuple[ToolCall, ...] = ()  # of the assistant
    tool_call_id: str = ""  # of the result of a tool: the call that it answers


@dataclass(frozen=True)
class ReplyParameters:
    """How a reply is generated; None leaves the choice to the server."""

    max_tokens: int = 256
    temperature: float | None = 0.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError(f"max_tokens: expected at least 1, found {self.max_tokens}")
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            raise InputError(f"temperature: expected a number from 0 to 2, found {self.temperature}")

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain data, without those that are left to the server."""
        return {name: value for name, value in vars(self).items() if value is not None}


class Reply(NamedTuple):
    """What a model replied, with what it cost."""

    text: str
    finish_reason: str  # as the server names it: stop, length, content_filter
    refusal: str = ""  # why the model refused, if the server says so
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # in the currency of the prices
    is_usage_reported: bool = True  # otherwise the tokens are an upper bound
    model: str = ""  # the name that the server gives
    sent: Mapping[str, Any] = {}  # the parameters that were really sent
    problem: str = ""  # why a response that may be billed has no usable content
    tool_calls: tuple[ToolCall, ...] = ()  # that the model asks for in place of an answer

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as plain data."""
        calls = [call._asdict() for call in self.tool_calls]
        return {**self._asdict(), "sent": dict(self.sent), "tool_calls": calls}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Reply:
        """Return the reply of plain data."""
        calls = tuple(ToolCall(**call) for call in value.get("tool_calls", ()))
        return cls(**{**value, "tool_calls": calls})


class Prices(NamedTuple):
    """Prices of a million tokens of prompts and of completions; None: unknown."""

    prompt: float | None = None
    completion: float | None = None

    @property
    def are_known(self) -> bool:
        """Whether costs can be computed."""
        return self.prompt is not None and self.completion is not None

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of so many tokens.

        >>> Prices(2.0, 8.0).cost(1_000_000, 500_000)
        6.0
        """
        return (prompt_tokens * (self.prompt or 0.0) + completion_tokens * (self.completion or 0.0)) / 1e6


class LanguageModel(Model):
    """A model that replies to chat messages: subclass it with `complete`, in one file each."""

    prices = Prices()

    def reply(
        self,
        messages: Sequence[Message],
        parameters: ReplyParameters | None = None,
        schema: JsonSchema | None = None,
        tools: Sequence[Tool] = (),
    ) -> Reply:
        """Return the reply; with a schema, a JSON object if the model can be held to it, else plain text.

        With tools, the reply may be calls of them in place of an answer.
        """
        if not messages or any(message.role not in ROLES for message in messages):
            raise InputError(f"messages: expected at least one, each with a role of {', '.join(ROLES)}")
        chosen = parameters or ReplyParameters()
        if tools:
            reply = self.complete_with_tools(list(messages), chosen, tools)
        else:
            reply = self.complete(list(messages), chosen, schema)
        if not isinstance(reply.text, str):
            raise RemoteError("malformed", f"{self.name} returned {type(reply.text).__name__}, expected text")
        self.add_usage(Usage(reply.prompt_tokens + reply.completion_tokens, 1, reply.cost))
        return reply

    def complete(
        self, messages: list[Message], parameters: ReplyParameters, schema: JsonSchema | None
    ) -> Reply:
        """Return the reply to messages: implemented by each model."""
        raise NotImplementedError

    def complete_with_tools(
        self, messages: list[Message], parameters: ReplyParameters, tools: Sequence[Tool]
    ) -> Reply:
        """Return the reply to messages, or calls of tools: implemented by models that can call them."""
        raise InputError(f"{self.name} cannot call tools: use an endpoint of OpenAI's protocol")

    @property
    def lost_attempts(self) -> int:
        """How many attempts of the calling thread so far have no response, but may have been billed."""
        return 0

    def identity(self) -> Mapping[str, Any]:
        """Return the configuration with the prices that are known."""
        prices = self.prices._asdict().items()
        return {**self.configuration(), **{f"price_{k}": price for k, price in prices if price is not None}}

    def highest_cost(self, messages: Sequence[Message], max_tokens: int) -> float:
        """Return an upper bound of the cost of one reply: a token is at least one byte of the prompt."""
        return self.prices.cost(most_prompt_tokens(messages), max_tokens)


def most_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return an upper bound of the tokens of messages.

    >>> most_prompt_tokens([Message("user", "vpn")])
    67
    """
    return sum(len(message.text.encode("utf-8", "replace")) + TOKENS_AROUND_MESSAGE for message in messages)


def usual_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens messages are, before an endpoint has counted them.

    >>> usual_prompt_tokens([Message("user", "how do I reset a password")])
    6
    """
    return round(sum(len(message.text.encode("utf-8", "replace")) for message in messages) / _BYTES_PER_TOKEN)
