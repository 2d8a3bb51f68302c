"""Endpoints of embeddings and reranking, tested with a double."""

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
from assay.models import endpoint
from assay.models.embedding_cache import EmbeddingCache
from assay.models.encoder import Encoder
from assay.models.model import Usage
from assay.models.registry import load_encoder, load_reranker
from assay.models.reranker import Reranker
from assay.remote import retry
from assay.remote.deadline import deadline
from assay.remote.errors import RemoteError
from tests.model_doubles import KEY, Running, double, vector

TEXTS = ["a cat", "", "banana banana", "dog"]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Set the key in the environment, and record pauses instead of sleeping."""
    model_made: list[float] = []
    monkeypatch.setenv("THE_KEY", KEY)
    monkeypatch.setattr(retry, "sleep", model_made.append)
    return model_made


@contextmanager
def embedding(*faults: str, **settings: Any) -> Iterator[tuple[Encoder, Running]]:
    with double(*faults) as running:
        model_made = load_encoder("openai", model="m", base_url=running.url, key_env="THE_KEY", **settings)
        try:
            yield model_made, running
        finally:
            model_made.close()


@contextmanager
def reranking(*faults: str, **settings: Any) -> Iterator[tuple[Reranker, Running]]:
    with double(*faults) as running:
        model_made = load_reranker("endpoint", model="m", base_url=running.url, key_env="THE_KEY", **settings)
        try:
            yield model_made, running
        finally:
            model_made.close()


def test_vectors_come_in_the_order_of_the_texts_whatever_the_order_of_the_answer() -> None:
    with embedding("reversed") as (model, _):
        assert model.encode(TEXTS).tolist() == [vector(text or " ") for text in TEXTS]
        assert model.d == 3


def test_batches_are_bounded_by_texts_and_by_characters() -> None:
    with embedding(batch=2, batch_characters=13) as (model, running):
        model.encode([*TEXTS, "x" * 40, "y"])
        inputs = [body["input"] for body in running.seen()]
    assert inputs == [["a cat", " "], ["banana banana"], ["dog"], ["x" * 40], ["y"]]


def test_tokens_requests_and_cost_are_those_the_endpoint_counted() -> None:
    with embedding(batch=2, price=0.5) as (model, _):
        model.encode(["one two three", "four", "five six"])
        assert model.usage == pytest.approx((6, 2, 6 * 0.5 / 1e6))


def test_a_thread_sees_its_own_usage() -> None:
    with embedding() as (model, _):
        other = Thread(target=model.encode, args=(["one two three"],))
        other.start()
        other.join()
        before = model.thread_usage
        model.encode_query("four")
        assert model.thread_usage.minus(before) == Usage(1, 1)
        assert model.usage == Usage(4, 2)


def test_dimensions_and_prefixes_are_sent() -> None:
    with embedding(dimensions=2, query_prefix="q: ", document_prefix="d: ") as (model, running):
        assert model.encode_query("cat").tolist() == vector("q: cat")[:2]
        model.encode(["cat"])
        assert [(b["dimensions"], b["input"]) for b in running.seen()] == [(2, ["q: cat"]), (2, ["d: cat"])]


def test_limits_errors_and_resets_are_retried_after_the_pause_of_the_endpoint(
    waits: list[float],
) -> None:
    with embedding("429", "500", "reset", "reset", "503") as (model, running):
        assert len(model.encode(TEXTS)) == len(TEXTS)
        assert len(running.seen()) == 6
        assert model.usage.requests == 1
    assert waits[:2] == [3.0, 3.0]
    assert (
        2.0 <= waits[2] <= 3.0
    )  # the third pause is not chosen by the endpoint: half a second, doubled twice


def test_the_last_error_has_the_message_of_the_endpoint_but_not_the_key() -> None:
    with embedding("429", "429", retries=1) as (model, running):
        with pytest.raises(
            RemoteError, match=r"limited: http://.*/v1 answered 429: .*no, \$\{THE_KEY\}"
        ) as caught:
            model.encode(TEXTS)
        assert len(running.seen()) == 2
    assert (caught.value.is_transient, caught.value.retry_after) == (True, 3.0)


@pytest.mark.parametrize("status", ["400", "404", "301"])
def test_a_final_failure_is_not_retried(status: str) -> None:
    with embedding(status) as (model, running):
        with pytest.raises(RemoteError, match=f"answered {status}"):
            model.encode(TEXTS)
        assert len(running.seen()) == 1


@pytest.mark.parametrize("fault", ["short", "twice", "ragged", "page"])
def test_an_answer_that_is_not_one_vector_of_each_text_is_refused(fault: str) -> None:
    with embedding(fault) as (model, _), pytest.raises(RemoteError, match="malformed: "):
        model.encode(TEXTS)


def test_a_vector_that_is_not_finite_is_refused_with_its_text() -> None:
    with embedding("nan") as (model, _), pytest.raises(RemoteError, match="not finite for text 4"):
        model.encode(TEXTS)


def test_vectors_of_other_dimensions_than_before_are_refused() -> None:
    with embedding() as (model, _):
        model.encode(TEXTS)
        model.d = 7
        with pytest.raises(RemoteError, match=r"\(4, 3\), expected 4 vectors of 7 dimensions"):
            model.encode(TEXTS)


def test_a_price_without_a_token_count_is_an_error() -> None:
    with embedding("uncounted", price=1.0) as (model, _), pytest.raises(RemoteError, match=r"total_tokens"):
        model.encode(TEXTS)


def test_a_response_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MAX_RESPONSE_BYTES", 100)
    with embedding() as (model, _), pytest.raises(RemoteError, match=r"too large: .* more than 100 bytes"):
        model.encode(TEXTS)


def test_a_server_that_is_gone_is_a_connection_error() -> None:
    with embedding(retries=0) as (model, _):
        pass
    with pytest.raises(RemoteError, match=r"connection: http://127\.0\.0\.1:.*cannot be reached") as caught:
        model.encode(TEXTS)
    assert caught.value.is_transient


def test_the_key_is_neither_in_the_configuration_nor_in_what_is_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.DEBUG), embedding("401") as (model, _):
        with pytest.raises(RemoteError, match="check the key") as caught:
            model.encode(TEXTS)
        texts_shown = f"{model.configuration()} {model!r} {caught.value} {caplog.text}"
    assert KEY not in texts_shown


def test_a_named_variable_must_be_set_and_a_key_in_the_url_is_refused() -> None:
    with pytest.raises(InputError, match="NO_KEY_HERE is not set"):
        load_encoder("openai", model="m", key_env="NO_KEY_HERE")
    with pytest.raises(InputError, match="key_env") as caught:
        load_encoder("openai", model="m", base_url=f"https://me:{KEY}@host/v1")
    assert KEY not in str(caught.value)


def test_scores_come_in_the_order_of_the_texts_in_batches_with_their_price() -> None:
    with reranking("", "reversed", batch=2, price=2.0, price_searches=1.0) as (model, running):
        assert model.scores("red car", ["red", "blue sky", "car red", "sea", "red"]) == [0.5, 0, 1, 0, 0.5]
        assert [len(body["documents"]) for body in running.seen()] == [2, 2, 1]
        assert model.usage == pytest.approx((150, 3, 150 * 2 / 1e6 + 3 * 1 / 1e3))


@pytest.mark.parametrize("fault", ["short", "twice"])
def test_an_answer_that_is_not_one_score_of_each_text_is_refused(fault: str) -> None:
    with reranking(fault) as (model, _), pytest.raises(RemoteError, match="each index from 0 to 1 once"):
        model.scores("red", ["red", "blue"])


def test_no_texts_make_no_request() -> None:
    with reranking() as (model, running):
        assert model.scores("red", []) == []
        assert running.seen() == []
    with embedding() as (model_made, running):
        assert model_made.encode([]).shape == (0, 0)
        assert running.seen() == []
    assert model_made.encode([]).dtype == np.float32


def test_a_query_is_encoded_without_retries(waits: list[float]) -> None:
    with embedding("503") as (model, running):
        with pytest.raises(RemoteError, match="answered 503") as caught:
            model.encode_query("a cat")
        assert (len(running.seen()), waits, caught.value.is_transient) == (1, [], True)
        assert model.encode_query("a cat").tolist() == vector("a cat")


def test_a_reranker_and_its_encoder_make_no_retries(waits: list[float]) -> None:
    with reranking("503") as (model, running):
        with pytest.raises(RemoteError, match="answered 503"):
            model.scores("red", ["red"])
        assert (len(running.seen()), waits) == (1, [])
    with embedding("", "503") as (inner, running):
        with pytest.raises(RemoteError, match="answered 503"):
            load_reranker("late_interaction", inner).scores("red", ["red"])
        assert (len(running.seen()), waits) == (2, [])


def test_documents_are_encoded_with_retries_after_a_query_without(waits: list[float]) -> None:
    with embedding("503", "503") as (model, running):
        with pytest.raises(RemoteError):
            model.encode_query("a cat")
        assert model.encode(["a cat"]).tolist() == [vector("a cat")]
        assert (len(running.seen()), len(waits)) == (3, 1)


def test_a_response_that_repeats_the_key_is_shown_without_it() -> None:
    with embedding("echo") as (model, _), pytest.raises(RemoteError, match="no JSON") as caught:
        model.encode(["a cat"])
    assert KEY[:5] not in str(caught.value)


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}€"])
def test_a_key_that_is_invalid_in_a_header_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("THE_KEY", key)
    with pytest.raises(InputError, match="key_env: the environment variable THE_KEY has a") as caught:
        load_encoder("openai", model="m", key_env="THE_KEY")
    assert KEY not in str(caught.value)


def test_the_deadline_of_the_query_limits_the_timeout() -> None:
    with embedding("hang") as (model, _), deadline(time.monotonic() + 2):
        with pytest.raises(RemoteError, match=r"timeout: .* did not answer in (0\.|1\.|2 )") as caught:
            model.encode_query("a cat")
        assert caught.value.is_transient
    with reranking() as (ranks, running), deadline(time.monotonic()):
        with pytest.raises(RemoteError, match="timeout: "):
            ranks.scores("red", ["red"])
        assert running.seen() == []


def test_the_timeout_of_the_model_counts_if_the_query_has_more_time() -> None:
    with embedding("hang", timeout=0.2, retries=0) as (model, _), deadline(time.monotonic() + 600):
        with pytest.raises(RemoteError, match=r"in 0\.2 s; raise timeout"):
            model.encode_query("a cat")
        model.close()


def test_a_price_changes_the_identity_and_not_the_configuration(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    plain, dear = load_encoder("openai", **settings), load_encoder("openai", **settings, price=2.0)
    assert plain.configuration() == dear.configuration() == plain.identity()
    assert dear.identity() == {**plain.identity(), "price": 2.0}
    assert EmbeddingCache(dear, tmp_path).identity() == dear.identity()
    late = load_reranker("late_interaction", dear)
    assert late.identity()["encoder"] == dear.identity() != late.configuration()["encoder"]
    ranks = load_reranker("endpoint", **settings, price_searches=1.0)
    assert ranks.identity() == {**ranks.configuration(), "price_searches": 1.0}
