"""Endpoints with OpenAI's /v1/chat/completions, which most providers and local servers offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import urlsplit

from assay.core.parameters import Meaning
from assay.models.endpoint import EndpointSettings, ModelEndpoint
from assay.models.language_model import (
    JsonSchema,
    LanguageModel,
    Message,
    Prices,
    Reply,
    ReplyParameters,
    Tool,
    ToolCall,
    most_prompt_tokens,
)
from assay.remote.errors import RemoteError

_REFUSING_STATUSES = (400, 422, 501)  # of servers that do not know a parameter
_OTHER_NAMES = {"response_format": ("response_format", "json_schema", "schema", "grammar")}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class OpenAI(LanguageModel):
    """Replies of an endpoint; a parameter that it refuses is left out from then on.

    `structured` says whether a JSON schema is sent: `auto` until the endpoint refuses it, `always` or
    `never`.
    """

    name = "openai"

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "https://api.openai.com/v1",
        key_env: str | None = None,
        price_prompt: Annotated[float | None, Meaning("of a million tokens", 0)] = None,
        price_completion: Annotated[float | None, Meaning("of a million tokens", 0)] = None,
        structured: Annotated[str, Meaning("", choices=("auto", "always", "never"))] = "auto",
        rate: float | None = None,
        timeout: float = 120.0,
        retries: int = 5,
    ) -> None:
        super().__init__()
        self.model, self.structured = model, structured
        self.prices = Prices(price_prompt, price_completion)
        settings = EndpointSettings(base_url, key_env, timeout, retries, rate, has_shared_pauses=True)
        self._endpoint = ModelEndpoint(settings)
        self._refused: set[str] = {"response_format"} if structured == "never" else set()
        self._has_followed_schema = structured == "always"

    def complete(
        self, messages: list[Message], parameters: ReplyParameters, schema: JsonSchema | None
    ) -> Reply:
        """Return the reply of the endpoint."""
        return self._post(messages, parameters, schema, ())

    def complete_with_tools(
        self, messages: list[Message], parameters: ReplyParameters, tools: Sequence[Tool]
    ) -> Reply:
        """Return the reply of the endpoint, or the calls of tools that it asks for."""
        return self._post(messages, parameters, None, tools)

    def _post(
        self,
        messages: list[Message],
        parameters: ReplyParameters,
        schema: JsonSchema | None,
        tools: Sequence[Tool],
    ) -> Reply:
        """Send the messages; a parameter that the endpoint refuses is left out, and they are sent again."""
        chat = [_message_dict(message) for message in messages]
        functions = [{"type": "function", "function": tool._asdict()} for tool in tools]
        while True:
            sent = self._parameters(parameters, schema) | ({"tools": functions} if functions else {})
            try:
                response = self._endpoint.post("/chat/completions", {**sent, "messages": chat})
            except RemoteError as error:
                refused = self._refused_parameter(error, sent)
                if not refused:
                    raise
                self._refused.add(refused)
                continue
            self._has_followed_schema |= "response_format" in sent
            return self._read(response, sent, most_prompt_tokens(messages), parameters.max_tokens)

    def _parameters(self, parameters: ReplyParameters, schema: JsonSchema | None) -> dict[str, Any]:
        values: dict[str, Any] = {"model": self.model, **parameters.to_dict()}
        if schema is not None:
            form = {"name": "reply", "schema": dict(schema), "strict": True}
            values["response_format"] = {"type": "json_schema", "json_schema": form}
        if "max_tokens" in self._refused:  # the name in newer versions of the protocol
            values["max_completion_tokens"] = values["max_tokens"]
        return {name: value for name, value in values.items() if name not in self._refused}

    def _refused_parameter(self, error: RemoteError, sent: Mapping[str, Any]) -> str:
        """Return the optional parameter that an error refuses, empty if it is about something else."""
        if error.status not in _REFUSING_STATUSES:
            return ""
        for name in ("response_format", "max_tokens", "temperature", "seed"):
            is_fixed = name == "response_format" and self.structured == "always"
            is_named = any(word in error.reason for word in _OTHER_NAMES.get(name, (name,)))
            if name in sent and is_named and not is_fixed:
                return name
        is_untried = "response_format" in sent and not self._has_followed_schema
        return "response_format" if is_untried else ""

    def _read(self, response: Any, sent: Mapping[str, Any], most_prompt: int, most_reply: int) -> Reply:
        """Return the reply in a response; one without a message is kept with its problem."""
        counts = _token_counts(response)
        prompt_tokens, completion_tokens = counts or (most_prompt, most_reply)
        cost = self.prices.cost(prompt_tokens, completion_tokens)
        text, refusal, finish_reason, problem = _read_message(response)
        calls = () if problem else _read_tool_calls(response["choices"][0]["message"])
        model = response.get("model") if isinstance(response, dict) else ""
        return Reply(
            text=text,
            finish_reason=finish_reason,
            refusal=refusal,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cost=cost,
            is_usage_reported=counts is not None,
            model=str(model or ""),
            sent={name: value for name, value in sent.items() if name != "tools"},
            problem=problem,
            tool_calls=calls,
        )

    @property
    def lost_attempts(self) -> int:
        """How many attempts of the calling thread so far were cut."""
        return self._endpoint.lost_attempts

    def configuration(self) -> Mapping[str, Any]:
        """Return the model and its endpoint, without the key; the port of this machine may change."""
        address = urlsplit(self._endpoint.settings.base_url)
        is_local = address.hostname in _LOOPBACK
        url = "loopback" if is_local else self._endpoint.settings.base_url
        return {"name": self.name, "model": self.model, "base_url": url, "structured": self.structured}

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()


def _message_dict(message: Message) -> dict[str, Any]:
    """Return a message as the protocol writes it."""
    content: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.tool_calls:
        content["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        content["tool_call_id"] = message.tool_call_id
    return content


def _read_tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of tools in a message; one without a function is left out.

    >>> _read_tool_calls({"tool_calls": [{"id": "1", "function": {"name": "search", "arguments": "{}"}}]})
    (ToolCall(id='1', name='search', arguments='{}'),)
    """
    calls = message.get("tool_calls")
    found = []
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, arguments = str(function.get("name") or ""), str(function.get("arguments") or "")
            found.append(ToolCall(str(call.get("id") or f"call-{number}"), name, arguments))
    return tuple(found)


def _token_counts(response: Any) -> tuple[int, int] | None:
    usage = response.get("usage") if isinstance(response, dict) else None
    counts = [usage.get(f"{kind}_tokens") for kind in ("prompt", "completion")] if usage else []
    if len(counts) == 2 and all(isinstance(count, int) and count >= 0 for count in counts):
        return counts[0], counts[1]
    return None


def _read_message(response: Any) -> tuple[str, str, str, str]:
    """Return the text, the refusal, why the reply ended, and the problem of a response.

    >>> _read_message({"choices": [{"message": {"content": "2"}, "finish_reason": "stop"}]})
    ('2', '', 'stop', '')
    """
    try:
        choice = response["choices"][0]
        message = choice["message"]
        content = message.get("content") or ""
        text = content if isinstance(content, str) else "".join(str(part["text"]) for part in content)
        return text, str(message.get("refusal") or ""), str(choice.get("finish_reason") or ""), ""
    except (KeyError, IndexError, TypeError, AttributeError):
        return "", "", "", f"the response has no message: {str(response)[:200]}"
