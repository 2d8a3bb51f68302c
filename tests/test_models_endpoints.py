"""Endpoints of embeddings and reranking, over a double: no real one can be reached here."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.models import http
from assay.models.cache import Cached
from assay.models.encoder import Encoder
from assay.models.kinds import encoder, reranker
from assay.models.model import ModelError, Usage, until
from assay.models.reranker import Reranker
from model_doubles import KEY, Running, double, vector

TEXTS = ["a cat", "", "banana banana", "dog"]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The key in the environment, and how long was waited, without waiting."""
    made: list[float] = []
    monkeypatch.setenv("THE_KEY", KEY)
    monkeypatch.setattr(http, "sleep", made.append)
    return made


@contextmanager
def embedding(*faults: str, **given: Any) -> Iterator[tuple[Encoder, Running]]:
    with double(*faults) as running:
        made = encoder("openai", model="m", base_url=running.url, key_env="THE_KEY", **given)
        try:
            yield made, running
        finally:
            made.close()


@contextmanager
def reranking(*faults: str, **given: Any) -> Iterator[tuple[Reranker, Running]]:
    with double(*faults) as running:
        made = reranker("endpoint", model="m", base_url=running.url, key_env="THE_KEY", **given)
        try:
            yield made, running
        finally:
            made.close()


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer() -> None:
    with embedding("reversed") as (model, _):
        assert model.encode(TEXTS).tolist() == [vector(text or " ") for text in TEXTS]
        assert model.d == 3


def test_batches_are_bounded_by_texts_and_by_characters() -> None:
    with embedding(batch=2, batch_characters=13) as (model, running):
        model.encode([*TEXTS, "x" * 40, "y"])
        asked = [body["input"] for body in running.seen()]
    assert asked == [["a cat", " "], ["banana banana"], ["dog"], ["x" * 40], ["y"]]


def test_tokens_requests_and_cost_are_those_the_endpoint_counted() -> None:
    with embedding(batch=2, price=0.5) as (model, _):
        model.encode(["one two three", "four", "five six"])
        assert model.usage == pytest.approx((6, 2, 6 * 0.5 / 1e6))


def test_a_thread_sees_what_it_used_itself() -> None:
    with embedding() as (model, _):
        other = Thread(target=model.encode, args=(["one two three"],))
        other.start()
        other.join()
        before = model.usage_here
        model.encode_query("four")
        assert model.usage_here.minus(before) == Usage(1, 1)
        assert model.usage == Usage(4, 2)


def test_fewer_dimensions_and_prefixes_are_asked_for() -> None:
    with embedding(dimensions=2, query_prefix="q: ", document_prefix="d: ") as (model, running):
        assert model.encode_query("cat").tolist() == vector("q: cat")[:2]
        model.encode(["cat"])
        assert [(b["dimensions"], b["input"]) for b in running.seen()] == [(2, ["q: cat"]), (2, ["d: cat"])]


def test_limits_errors_and_resets_are_asked_again_and_the_endpoint_says_how_long_to_wait(
    waits: list[float],
) -> None:
    with embedding("429", "500", "reset", "reset", "503") as (model, running):
        assert len(model.encode(TEXTS)) == len(TEXTS)
        assert len(running.seen()) == 6
        assert model.usage.requests == 1
    assert waits[:2] == [3.0, 3.0]
    assert (
        2.0 <= waits[2] <= 3.0
    )  # the third wait without a word of the endpoint: half a second, doubled twice


def test_it_gives_up_after_the_retries_with_the_words_of_the_endpoint_but_not_the_key() -> None:
    with embedding("429", "429", retries=1) as (model, running):
        with pytest.raises(
            ModelError, match=r"limited: http://.*/v1 answered 429: .*no, \$\{THE_KEY\}"
        ) as caught:
            model.encode(TEXTS)
        assert len(running.seen()) == 2
    assert (caught.value.again, caught.value.after) == (True, 3.0)


@pytest.mark.parametrize("status", ["400", "404", "301"])
def test_what_asking_again_cannot_help_is_asked_once(status: str) -> None:
    with embedding(status) as (model, running):
        with pytest.raises(ModelError, match=f"answered {status}"):
            model.encode(TEXTS)
        assert len(running.seen()) == 1


@pytest.mark.parametrize("fault", ["short", "twice", "ragged", "page"])
def test_an_answer_that_is_not_one_vector_of_each_text_is_refused(fault: str) -> None:
    with embedding(fault) as (model, _), pytest.raises(ModelError, match="malformed: "):
        model.encode(TEXTS)


def test_a_vector_that_is_not_finite_is_refused_with_its_text() -> None:
    with embedding("nan") as (model, _), pytest.raises(ModelError, match="not finite for text 4"):
        model.encode(TEXTS)


def test_vectors_of_other_dimensions_than_before_are_refused() -> None:
    with embedding() as (model, _):
        model.encode(TEXTS)
        model.d = 7
        with pytest.raises(ModelError, match=r"\(4, 3\), expected 4 vectors of 7 dimensions"):
            model.encode(TEXTS)


def test_a_price_without_a_count_of_tokens_is_no_cost_of_zero() -> None:
    with embedding("uncounted", price=1.0) as (model, _), pytest.raises(ModelError, match=r"total_tokens"):
        model.encode(TEXTS)


def test_an_answer_without_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST", 100)
    with embedding() as (model, _), pytest.raises(ModelError, match=r"too large: .* more than 100 bytes"):
        model.encode(TEXTS)


def test_a_server_that_is_gone_is_a_connection_error() -> None:
    with embedding(retries=0) as (model, _):
        pass
    with pytest.raises(ModelError, match=r"connection: http://127\.0\.0\.1:.*cannot be reached") as caught:
        model.encode(TEXTS)
    assert caught.value.again


def test_the_key_is_neither_in_the_configuration_nor_in_what_is_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG), embedding("401") as (model, _):
        with pytest.raises(ModelError, match="look at the key") as caught:
            model.encode(TEXTS)
        shown = f"{model.configuration()} {model!r} {caught.value} {caplog.text}"
    assert KEY not in shown


def test_a_named_variable_must_be_set_and_a_key_in_the_url_is_refused() -> None:
    with pytest.raises(InputError, match="NO_KEY_HERE is not set"):
        encoder("openai", model="m", key_env="NO_KEY_HERE")
    with pytest.raises(InputError, match="key_env") as caught:
        encoder("openai", model="m", base_url=f"https://me:{KEY}@host/v1")
    assert KEY not in str(caught.value)


def test_scores_come_in_the_order_of_the_texts_in_batches_with_their_price() -> None:
    with reranking("", "reversed", batch=2, price=2.0, price_searches=1.0) as (model, running):
        assert model.scores("red car", ["red", "blue sky", "car red", "sea", "red"]) == [0.5, 0, 1, 0, 0.5]
        assert [len(body["documents"]) for body in running.seen()] == [2, 2, 1]
        assert model.usage == pytest.approx((150, 3, 150 * 2 / 1e6 + 3 * 1 / 1e3))


@pytest.mark.parametrize("fault", ["short", "twice"])
def test_an_answer_that_is_not_one_score_of_each_text_is_refused(fault: str) -> None:
    with reranking(fault) as (model, _), pytest.raises(ModelError, match="each index once"):
        model.scores("red", ["red", "blue"])


def test_no_texts_ask_nothing() -> None:
    with reranking() as (model, running):
        assert model.scores("red", []) == []
        assert running.seen() == []
    with embedding() as (made, running):
        assert made.encode([]).shape == (0, 0)
        assert running.seen() == []
    assert made.encode([]).dtype == np.float32


def test_a_query_is_asked_for_once_so_that_no_pause_is_inside_of_a_clock(waits: list[float]) -> None:
    with embedding("503") as (model, running):
        with pytest.raises(ModelError, match="answered 503") as caught:
            model.encode_query("a cat")
        assert (len(running.seen()), waits, caught.value.again) == (1, [], True)
        assert model.encode_query("a cat").tolist() == vector("a cat")


def test_a_reranker_asks_once_and_so_does_the_encoder_within_it(waits: list[float]) -> None:
    with reranking("503") as (model, running):
        with pytest.raises(ModelError, match="answered 503"):
            model.scores("red", ["red"])
        assert (len(running.seen()), waits) == (1, [])
    with embedding("", "503") as (inner, running):
        with pytest.raises(ModelError, match="answered 503"):
            reranker("late_interaction", inner).scores("red", ["red"])
        assert (len(running.seen()), waits) == (2, [])


def test_documents_are_asked_for_again_after_a_query_was_not(waits: list[float]) -> None:
    with embedding("503", "503") as (model, running):
        with pytest.raises(ModelError):
            model.encode_query("a cat")
        assert model.encode(["a cat"]).tolist() == [vector("a cat")]
        assert (len(running.seen()), len(waits)) == (3, 1)


def test_a_page_that_repeats_the_key_does_not_have_it_repeated_whole_or_in_part() -> None:
    with embedding("echo") as (model, _), pytest.raises(ModelError, match="no JSON: ") as caught:
        model.encode(["a cat"])
    assert KEY[:5] not in str(caught.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}€"])
def test_a_key_that_no_header_carries_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("THE_KEY", key)
    with pytest.raises(InputError, match="key_env: the environment variable THE_KEY has a") as caught:
        encoder("openai", model="m", key_env="THE_KEY")
    assert KEY not in str(caught.value)


def test_an_answer_is_waited_for_until_the_time_of_the_query_is_over() -> None:
    with embedding("hang") as (model, _), until(time.monotonic() + 2):
        with pytest.raises(ModelError, match=r"timeout: no answer of .* in (0\.|1\.|2 )") as caught:
            model.encode_query("a cat")
        assert caught.value.again
    with reranking() as (ranks, running), until(time.monotonic()):
        with pytest.raises(ModelError, match="timeout: "):
            ranks.scores("red", ["red"])
        assert running.seen() == []


def test_the_time_of_a_model_is_its_own_where_the_query_has_more() -> None:
    with embedding("hang", timeout=0.2, retries=0) as (model, _), until(time.monotonic() + 600):
        with pytest.raises(ModelError, match=r"in 0\.2 s; raise timeout"):
            model.encode_query("a cat")
        model.close()


def test_a_price_makes_another_cost_but_no_other_vectors(tmp_path: Path) -> None:
    given: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    plain, dear = encoder("openai", **given), encoder("openai", **given, price=2.0)
    assert plain.configuration() == dear.configuration() == plain.identity()
    assert dear.identity() == {**plain.identity(), "price": 2.0}
    assert Cached(dear, tmp_path).identity() == dear.identity()
    late = reranker("late_interaction", dear)
    assert late.identity()["encoder"] == dear.identity() != late.configuration()["encoder"]
    ranks = reranker("endpoint", **given, price_searches=1.0)
    assert ranks.identity() == {**ranks.configuration(), "price_searches": 1.0}
