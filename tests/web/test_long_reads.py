"""Pages that take long: each is computed once, and says how far it is until it is ready."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

from assay.core.errors import InputError
from assay.core.progress import report_step
from assay.web import long_reads
from assay.web.access import Access
from assay.web.app import create_app
from assay.web.long_reads import LongRead, LongReads
from assay.web.page import Context, Page, Parameters, View
from tests.web.dashboards import save_experiments


class Value:
    """What the page shows."""

    def to_dict(self) -> dict[str, Any]:
        return {"ready": True}


@pytest.fixture
def gate() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


@pytest.fixture
def client(tmp_path: Path, gate: Event) -> TestClient:
    def read(context: Context, parameters: Parameters) -> Value:
        report_step("labels read", 3, 10)
        assert gate.wait(20)
        return Value()

    def present(context: Context, value: Value, parameters: Parameters) -> View:
        return View("Slow")

    page = Page("/slow", "Slow", "error.html", read, present, is_long=True)
    module = SimpleNamespace(PAGES=(page,), ACTIONS=())
    app = create_app(Access(str(save_experiments(tmp_path))), [module], patience=0.01)
    return TestClient(app, base_url="http://127.0.0.1:8765")


def test_a_page_that_takes_long_says_how_far_it_is_and_asks_again(client: TestClient) -> None:
    client.get("/slow")
    answer = client.get("/slow")
    assert answer.status_code == 202
    assert "labels read: 3 of 10" in answer.text
    assert '<noscript><meta http-equiv="refresh" content="1"></noscript>' in answer.text
    assert 'hx-get="/slow?"' in answer.text


def test_a_waiting_page_is_loaded_once_it_is_ready(client: TestClient, gate: Event) -> None:
    headers = {"HX-Request": "true", "X-Reload-When-Ready": "1"}
    assert "X-Reload-When-Ready" in client.get("/slow", headers=headers).text
    gate.set()
    while "HX-Refresh" not in (answer := client.get("/slow", headers=headers)).headers:
        assert answer.status_code == 202
    assert answer.headers["HX-Refresh"] == "true"


def test_a_part_of_a_page_asks_again_in_its_place(client: TestClient) -> None:
    assert 'hx-get="/slow?' in client.get("/slow", headers={"HX-Request": "true"}).text


def test_the_data_of_a_page_are_waited_for(client: TestClient, gate: Event) -> None:
    gate.set()
    assert client.get("/slow.json").json() == {"ready": True}


def test_a_read_that_many_ask_for_is_done_once(gate: Event) -> None:
    calls: list[int] = []
    reads = LongReads(patience=0.01)

    def read() -> int:
        calls.append(1)
        assert gate.wait(20)
        return 7

    first, second = reads.get("key", read), reads.get("key", read)
    assert isinstance(first, LongRead)
    assert second is first
    gate.set()
    assert first.future.result(20) == 7
    assert reads.get("key", read) == 7
    assert len(calls) == 1


def test_an_error_of_a_long_read_is_raised_when_it_is_asked_for_again(gate: Event) -> None:
    reads = LongReads(patience=0.01)

    def fail() -> None:
        assert gate.wait(20)
        raise InputError("no labels")

    started = reads.get("key", fail)
    gate.set()
    assert isinstance(started.future.exception(20), InputError)
    with pytest.raises(InputError, match="no labels"):
        reads.get("key", fail)


def test_a_result_that_nobody_fetched_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, reads = Event(), LongReads(patience=0.01)
    started = reads.get("key", lambda: gate.wait(20) and "old")
    gate.set()
    started.future.result(20)
    monkeypatch.setattr(long_reads, "_FRESH_SECONDS", -1.0)
    second = reads.get("key", lambda: "new")
    assert (second if isinstance(second, str) else second.future.result(20)) == "new"


def test_too_many_long_reads_at_once_are_refused(gate: Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_reads, "_MOST_READS", 2)
    reads = LongReads(patience=0.01)
    for key in range(2):
        reads.get(key, lambda: gate.wait(20))
    with pytest.raises(HTTPException, match="too many"):
        reads.get(2, lambda: gate.wait(20))
