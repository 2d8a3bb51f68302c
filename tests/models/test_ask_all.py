"""Many requests: asked once each, within a budget, and continued after any end."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError, StoreError
from assay.models.ask_all import AskOptions, Replies, ask_all
from assay.models.language_model import LanguageModel, Message, ReplyParameters
from assay.models.registry import load_language_model
from assay.models.reply_journal import ReplyJournal, Request
from assay.remote.errors import RemoteError
from tests.chat_doubles import ChatDouble, chat_double

PRICES = {"price_prompt": 1.0, "price_completion": 1.0}
REPLY_COST = 110 / 1e6


def requests(count: int) -> list[Request]:
    parameters = ReplyParameters(max_tokens=20)
    texts = [f"Query: q{i}\n\nDocument:\nq{i}{' more' * 20}" for i in range(count)]  # over 100 bytes
    return [Request((Message("user", text),), parameters) for text in texts]


@contextmanager
def endpoint(*faults: str, **settings: Any) -> Iterator[tuple[LanguageModel, ChatDouble]]:
    with chat_double(*faults) as server:
        options: dict[str, Any] = {"retries": 2, **PRICES, **settings}
        model = load_language_model("openai", model="m", base_url=server.url, **options)
        with closing(model):
            yield model, server


def ask(model: LanguageModel, folder: Path, todo: list[Request], **options: Any) -> Replies:
    journal = ReplyJournal(folder, "m", {"model": model.configuration()})
    with journal.open():
        return ask_all(model, todo, journal, AskOptions(**options))


def test_equal_requests_are_asked_once_and_known_ones_not_at_all(tmp_path: Path) -> None:
    with endpoint() as (model, server):
        first = ask(model, tmp_path, requests(5) + requests(3))
        second = ask(model, tmp_path, requests(8))
        assert set(server.billed.values()) == {1}
    assert (first.asked, first.reused, second.asked, second.reused) == (5, 0, 3, 5)
    assert second.total_cost == pytest.approx(8 * REPLY_COST)
    assert second.cost == pytest.approx(3 * REPLY_COST)


def test_draws_of_one_request_are_asked_separately(tmp_path: Path) -> None:
    (request,) = requests(1)
    with endpoint() as (model, server):
        assert ask(model, tmp_path, [request._replace(draw=i) for i in range(3)]).asked == 3
        assert list(server.billed.values()) == [3]


@pytest.mark.parametrize("workers", [1, 4])
def test_the_budget_is_never_exceeded_and_holds_over_sessions(tmp_path: Path, workers: int) -> None:
    with endpoint() as (model, server):
        budget = 5.5 * REPLY_COST
        for _ in range(3):
            replies = ask(model, tmp_path, requests(20), budget=budget, workers=workers)
            assert replies.stopped_by == "budget"
            assert replies.total_cost <= budget
        assert sum(server.billed.values()) * REPLY_COST <= budget


FAULTS = ["", "prose", "page", "hollow", "free", "400", "refuse"]


@given(
    faults=st.lists(st.sampled_from(FAULTS), max_size=12),
    budgets=st.lists(st.integers(0, 20), min_size=1, max_size=3),
    workers=st.integers(1, 3),
)
@settings(max_examples=25, deadline=None)
def test_whatever_fails_no_reply_is_paid_twice_and_no_budget_exceeded(
    faults: list[str], budgets: list[int], workers: int
) -> None:
    with TemporaryDirectory() as folder, endpoint(*faults, retries=0) as (model, server):
        for budget in budgets:
            limit = budget * model.highest_cost(requests(1)[0].messages, 20)
            with suppress(RemoteError):
                replies = ask(model, Path(folder), requests(8), budget=limit, workers=workers)
                assert replies.cost == 0 or replies.total_cost + replies.possible_cost <= limit + 1e-12
        assert all(count == 1 for count in server.billed.values())


def test_cuts_are_repeated_and_their_highest_cost_is_reported(tmp_path: Path) -> None:
    with endpoint("cut") as (model, _):
        replies = ask(model, tmp_path, requests(1))
        assert replies.asked == 1
        highest = model.highest_cost(requests(1)[0].messages, 20)
    assert replies.possible_cost == pytest.approx(highest)


def test_a_response_that_cannot_be_read_is_recorded_and_not_paid_for_again(tmp_path: Path) -> None:
    with endpoint("page") as (model, server):
        for _ in range(2):
            (recorded,) = ask(model, tmp_path, requests(1)).replies.values()
        assert sum(server.billed.values()) == 1
    assert "malformed" in recorded.reply.problem
    assert recorded.reply.cost > 0


def test_replies_are_asked_for_again_if_wanted(tmp_path: Path) -> None:
    with endpoint("page") as (model, _):
        ask(model, tmp_path, requests(2), workers=1)
        again = ask(model, tmp_path, requests(2), ask_again=lambda recorded: bool(recorded.reply.problem))
    assert (again.asked, again.reused) == (1, 1)
    assert not any(recorded.reply.problem for recorded in again.replies.values())


def test_a_wrong_key_stops_at_once_and_a_failing_server_after_five_failures(tmp_path: Path) -> None:
    with endpoint(*["401"] * 50) as (model, server):
        with pytest.raises(RemoteError, match="answered 401"):
            ask(model, tmp_path / "a", requests(20), workers=1)
        assert len(server.bodies) == 1
    with endpoint("", *["503"] * 50, retries=0) as (model, server):
        replies = ask(model, tmp_path / "b", requests(20), workers=1)
        assert "503" in replies.stopped_by
        assert len(server.bodies) - 1 == len(replies.failures) == 5


def test_what_failed_is_asked_again_in_the_next_session(tmp_path: Path) -> None:
    with endpoint("503", retries=0) as (model, _):
        first = ask(model, tmp_path, requests(3), workers=1)
        second = ask(model, tmp_path, requests(3))
    assert (first.asked, len(first.failures), second.asked, second.reused) == (2, 1, 1, 2)


def test_a_request_that_was_cut_off_counts_as_spent_at_its_highest_cost(tmp_path: Path) -> None:
    with endpoint() as (model, _):
        journal = ReplyJournal(tmp_path, "m", {"model": model.configuration()})
        with journal.open():
            assert journal.reserve("cut off", 0.5, budget=1.0)
        replies = ask(model, tmp_path, requests(1), budget=0.5)
    assert (replies.unanswered, replies.possible_cost, replies.stopped_by) == (1, 0.5, "budget")


def test_nothing_more_is_sent_once_a_reply_cannot_be_recorded(tmp_path: Path) -> None:
    class FullDisk(ReplyJournal):
        def put(self, *values: Any) -> None:
            raise StoreError("no space")

    with endpoint() as (model, server):
        journal = FullDisk(tmp_path, "m", {})
        with journal.open(), pytest.raises(StoreError, match="no space"):
            ask_all(model, requests(50), journal, AskOptions(workers=2))
        assert len(server.bodies) <= 3


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="workers: expected at least 1, found 0"):
        AskOptions(workers=0)
    with pytest.raises(InputError, match="budget: expected 0 or more"):
        AskOptions(budget=float("nan"))
