"""What every language model does, checked on each adapter; endpoints are doubles, or a real small model."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from assay.core.errors import ConfigurationError, InputError
from assay.models.language_model import LanguageModel, Message, ReplyParameters
from assay.models.model import Usage
from assay.models.registry import LANGUAGE_MODELS, load_language_model
from assay.remote import retry
from assay.remote.errors import RemoteError
from tests.chat_doubles import KEY, ChatDouble, chat_double
from tests.local_models import SMALL, served_small_model

QUESTION = [Message("system", "Be short."), Message("user", "Query: reset\n\nDocument:\nreset it")]
SCHEMA = {
    "type": "object",
    "properties": {"grade": {"type": "integer", "enum": [0, 1, 2, 3]}},
    "required": ["grade"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def small_model_url() -> Iterator[str]:
    with served_small_model() as (url, reason):
        if not url:
            pytest.skip(reason)
        yield url


@pytest.fixture(params=["openai, a double", "openai, a real model"])
def model(request: pytest.FixtureRequest) -> Iterator[LanguageModel]:
    """Each adapter, against what it is made for."""
    if request.param == "openai, a double":
        with chat_double() as server:
            yield from opened("m", server.url)
    else:
        yield from opened(SMALL, request.getfixturevalue("small_model_url"))


def opened(name: str, url: str) -> Iterator[LanguageModel]:
    with closing(load_language_model("openai", model=name, base_url=url)) as model:
        yield model


def test_a_reply_has_a_text_a_reason_to_end_and_its_tokens(model: LanguageModel) -> None:
    reply = model.reply(QUESTION, ReplyParameters(max_tokens=8))
    assert reply.text
    assert reply.finish_reason in ("stop", "length")
    assert reply.prompt_tokens > 0 < reply.completion_tokens
    assert reply.sent["max_tokens"] == 8
    assert model.usage == Usage(reply.prompt_tokens + reply.completion_tokens, 1, 0.0)


def test_a_reply_follows_the_schema(model: LanguageModel) -> None:
    reply = model.reply(QUESTION, ReplyParameters(max_tokens=24), SCHEMA)
    assert json.loads(reply.text)["grade"] in (0, 1, 2, 3)
    assert "response_format" in reply.sent


def test_a_model_is_called_from_several_threads(model: LanguageModel) -> None:
    with ThreadPoolExecutor(3) as pool:
        replies = list(pool.map(lambda _: model.reply(QUESTION, ReplyParameters(max_tokens=2)), range(3)))
    assert model.usage.requests == 3
    assert model.usage.tokens == sum(r.prompt_tokens + r.completion_tokens for r in replies)


def test_a_configuration_is_plain_and_the_same_on_any_port_of_this_machine(model: LanguageModel) -> None:
    configuration = dict(model.configuration())
    assert json.loads(json.dumps(configuration)) == configuration
    assert configuration["base_url"] == "loopback"


def test_messages_without_a_role_are_refused(model: LanguageModel) -> None:
    for messages in ([], [Message("robot", "hello")]):
        with pytest.raises(InputError, match="messages: expected at least one"):
            model.reply(messages)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Record pauses instead of sleeping."""
    pauses: list[float] = []
    monkeypatch.setattr(retry, "sleep", pauses.append)
    return pauses


@contextmanager
def openai(*faults: str, **settings: Any) -> Iterator[tuple[LanguageModel, ChatDouble]]:
    with chat_double(*faults) as server:
        model = load_language_model("openai", model="m", base_url=server.url, **settings)
        with closing(model):
            yield model, server


def test_costs_follow_from_both_prices() -> None:
    with openai(price_prompt=2.0, price_completion=10.0) as (model, _):
        reply = model.reply(QUESTION)
        assert reply.cost == pytest.approx((100 * 2 + 10 * 10) / 1e6)
        assert reply.cost <= model.highest_cost(QUESTION, 256)
        assert model.identity()["price_prompt"] == 2.0


def test_transient_failures_are_repeated_and_a_wait_is_respected(waits: list[float]) -> None:
    with openai("429:1", "500", "cut") as (model, server):
        assert model.reply(QUESTION).text == '{"grade": 1}'
        assert len(server.bodies) == 4
    assert waits[0] == 1
    assert model.lost_attempts == 1  # the cut one may have been billed


def test_a_key_is_sent_and_never_shown(waits: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with (
        openai("400", key_env="THE_KEY", retries=0, structured="never") as (model, _),
        pytest.raises(RemoteError) as caught,
    ):
        model.reply(QUESTION)
    assert KEY not in str(caught.value)
    assert KEY not in str(model.configuration())


@pytest.mark.parametrize("name", ["response_format", "max_tokens", "temperature", "seed"])
def test_a_parameter_that_the_server_refuses_is_left_out_and_not_recorded(name: str) -> None:
    with openai(f"unknown:{name}") as (model, server):
        reply = model.reply(QUESTION, ReplyParameters(seed=1), SCHEMA)
        assert name not in reply.sent
        model.reply(QUESTION, ReplyParameters(seed=1), SCHEMA)
        assert sum(name in body for body in server.bodies) == 1
    assert ("max_completion_tokens" in reply.sent) == (name == "max_tokens")


def test_a_server_that_does_not_say_why_is_asked_once_more_without_a_schema() -> None:
    with openai("400") as (model, _):
        assert "response_format" not in model.reply(QUESTION, None, SCHEMA).sent
    with openai("400", structured="always") as (model, _), pytest.raises(RemoteError, match="400"):
        model.reply(QUESTION, None, SCHEMA)


def test_a_response_without_a_message_is_kept_with_its_problem_and_costs_the_most() -> None:
    with openai("hollow", price_prompt=1.0, price_completion=1.0) as (model, _):
        reply = model.reply(QUESTION)
    assert reply.problem.startswith("the response has no message")
    assert not reply.is_usage_reported
    assert reply.cost == pytest.approx(model.highest_cost(QUESTION, 256))


def test_a_refusal_and_a_missing_usage_are_reported() -> None:
    with openai("refuse", "free") as (model, _):
        assert model.reply(QUESTION).refusal == "I will not judge this."
        assert not model.reply(QUESTION).is_usage_reported


def test_wrong_settings_are_refused_and_kinds_are_where_the_table_says() -> None:
    with pytest.raises(ConfigurationError, match="price_promt: there is no such parameter; did you mean"):
        load_language_model("openai", model="m", price_promt=1.0)
    with pytest.raises(InputError, match="there is no language model 'opnai'; did you mean openai"):
        load_language_model("opnai")
    with pytest.raises(InputError, match="temperature: expected a number from 0 to 2"):
        ReplyParameters(temperature=3.0)
    assert all(kind.location.startswith(f"language_models.{name}:") for name, kind in LANGUAGE_MODELS.items())
