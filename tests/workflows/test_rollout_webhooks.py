"""Webhooks and metrics are sent to real servers: signed, repeated until they are answered, never lost."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from assay.rollout.webhooks import WebhookReceiver
from assay.store.rollouts import Rollouts
from assay.store.schema import webhook_deliveries
from assay.store.store import Store
from assay.store.webhook_deliveries import MAX_ATTEMPTS
from assay.workflows.rollout_telemetry import read_prometheus
from assay.workflows.rollout_watch import WatchRolloutsRequest, watch_rollouts
from assay.workflows.rollout_webhooks import deliver_webhooks
from tests.rollout.logs import NAME, POLICY, act, start

SECRET = "a secret for the tests"


class Receiver(ThreadingHTTPServer):
    """Keeps what it was sent; answers with `status`."""

    daemon_threads = True
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def types(self) -> list[str]:
        """The types of the messages, in the order of their arrival."""
        return [json.loads(body)["type"] for _, _, body in self.requests]


class Handler(BaseHTTPRequestHandler):
    """Accepts messages."""

    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def store(tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rollout whose moves are told to the receiver."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    for name in ("ASSAY_TOKEN", "ASSAY_SPLITS_FILE", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    url = f"http://127.0.0.1:{receiver.server_port}/hook?a=b"
    hook = f'\n[[rollout.webhooks]]\nurl = "{url}"\nsecret_env = "HOOK_SECRET"\n'
    return start(tmp_path, POLICY + hook)


def make_due(store: str, **values: Any) -> None:
    """Let the pause after a failure pass."""
    with Store(store) as opened, opened.database.write_transaction() as connection:
        connection.execute(update(webhook_deliveries).values(next_at=0, **values))


def deliver(store: str) -> list[str]:
    with Store(store) as opened:
        return deliver_webhooks(opened.database, Rollouts(opened.database).all())


def test_every_move_is_told_once_and_signed(store: str, receiver: Receiver) -> None:
    act(store, "advance")
    act(store, "rollback", reason="slow")
    deliver(store)
    assert receiver.types == ["rollout.start", "rollout.advance", "rollout.rollback"]
    own = WebhookReceiver(SECRET)
    messages = [own.receive(headers, body) for _, headers, body in receiver.requests]
    assert messages[-1]["data"] | {"actor": ""} == {
        "rollout": NAME,
        "number": 3,
        "experiment": messages[0]["data"]["experiment"],
        "state": "reverted",
        "stage": "ab",
        "action": "rollback",
        "actor": "",
        "from": "running: ab",
        "to": "reverted: ab",
        "coverage": 0.0,
        "reason": "slow",
        "skipped": False,
    }
    assert {path for path, _, _ in receiver.requests} == {"/hook?a=b"}


def test_what_is_not_answered_is_repeated_by_a_later_watcher(store: str, receiver: Receiver) -> None:
    receiver.status = 503
    notes = act(store, "hold").notes
    assert "503" in notes[0]
    assert "repeated later" in notes[0]
    assert deliver(store) == []  # not yet
    receiver.status = 200
    make_due(store)
    watch_rollouts(WatchRolloutsRequest(store=store))
    assert receiver.types == ["rollout.start", "rollout.hold", "rollout.hold"]
    ids = [headers["webhook-id"] for _, headers, _ in receiver.requests]
    assert ids[1] == ids[2]


def test_a_crash_after_the_claim_is_made_good(store: str, receiver: Receiver) -> None:
    act(store, "hold")
    make_due(store, delivered_at=None)  # as a process leaves it that dies before the answer
    deliver(store)
    assert sorted(receiver.types) == ["rollout.hold", "rollout.hold", "rollout.start", "rollout.start"]


def test_of_many_at_once_one_sends(store: str, receiver: Receiver) -> None:
    receiver.status = 500
    act(store, "hold")
    make_due(store)
    receiver.status = 200
    receiver.requests.clear()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deliver, [store] * 4))
    assert receiver.types == ["rollout.hold"]


def test_after_many_failures_it_gives_up_and_the_metrics_say_so(store: str, receiver: Receiver) -> None:
    receiver.status = 500
    act(store, "hold")
    make_due(store, attempts=MAX_ATTEMPTS, delivered_at=None)
    receiver.requests.clear()
    assert (deliver(store), receiver.requests) == ([], [])
    assert "assay_webhooks_given_up 2.0\n" in read_prometheus(store)


def test_a_missing_secret_is_a_problem_and_nothing_is_sent(
    store: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.requests.clear()
    monkeypatch.delenv("HOOK_SECRET")
    assert "HOOK_SECRET, which has the secret, is not set" in act(store, "hold").notes[0]
    assert receiver.requests == []


def test_an_address_that_does_not_exist_does_not_stop_a_rollback(store: str, receiver: Receiver) -> None:
    receiver.server_close()
    status = act(store, "rollback", reason="slow")
    assert status.rollout.position.state == "reverted"
    assert "cannot be reached" in status.notes[0] or "did not answer" in status.notes[0]


def test_the_state_of_a_rollout_is_a_metric(store: str) -> None:
    act(store, "advance")
    text = read_prometheus(store)
    assert f'assay_rollout_state{{rollout="{NAME}",state="running"}} 1.0\n' in text
    assert f'assay_rollout_candidate_ratio{{rollout="{NAME}"}} 0.25\n' in text
    assert f'assay_rollout_transitions_total{{rollout="{NAME}"}} 2.0\n' in text


def test_metrics_are_pushed_to_a_collector(
    store: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{receiver.server_port}/otlp/")
    receiver.requests.clear()
    assert watch_rollouts(WatchRolloutsRequest(store=store)).notes == []
    path, _, body = receiver.requests[-1]
    metrics = json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    by_name = {metric["name"]: metric for metric in metrics}
    assert path == "/otlp/v1/metrics"
    assert by_name["assay_rollout_step"]["gauge"]["dataPoints"][0]["asDouble"] == 1.0
    assert by_name["assay_rollout_transitions_total"]["sum"]["isMonotonic"] is True
