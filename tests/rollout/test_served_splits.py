"""Signed splits: forged, old and broken documents are refused, and a rollback is obeyed at once."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay.rollout.assignment import Slot, TrafficSplit
from assay.rollout.served_splits import RefusedDocumentError, ServedSplits, SplitSource
from assay.rollout.split_client import SplitClient

KEY = "a key for the tests only"
SPLIT = TrafficSplit(
    "ranker", 0.1, salt="s", holdout=0.05, slot=Slot("g", 0, 0.5), overrides={"u": "treatment"}
)
REVERTED = TrafficSplit("ranker", everyone="control")


def source(path: Path) -> SplitSource:
    return SplitSource(path, KEY, refresh_seconds=0)


def test_a_document_gives_the_splits_back() -> None:
    served = ServedSplits.of(3, [SPLIT, TrafficSplit("other", 0.5)])
    assert ServedSplits.verify(served.sign(KEY), KEY) == served


@pytest.mark.parametrize("change", ["coverage", "sequence", "signature"])
def test_a_forged_document_is_refused(change: str) -> None:
    document = json.loads(ServedSplits.of(3, [SPLIT]).sign(KEY))
    document["payload"] = (
        document["payload"].replace("0.1", "0.9") if change == "coverage" else document["payload"]
    )
    if change == "sequence":
        document["payload"] = document["payload"].replace('"sequence": 3', '"sequence": 4')
    if change == "signature":
        document["signature"] = "0" * 64
    with pytest.raises(RefusedDocumentError, match="not signed with this key"):
        ServedSplits.verify(json.dumps(document), KEY)


@pytest.mark.parametrize(
    "document", ["", "{}", "[]", "null", '{"payload": 1, "signature": 2}', "\x00", '{"pay']
)
def test_what_is_no_document_is_refused(document: str) -> None:
    with pytest.raises(RefusedDocumentError, match="expected a signed document"):
        ServedSplits.verify(document, KEY)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 characters, found 3"):
        ServedSplits.of(1, [SPLIT]).sign("key")


def test_a_rollback_is_obeyed_at_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    ServedSplits.of(1, [SPLIT]).write(path, KEY)
    reader = source(path)
    assert reader.split("ranker") == SPLIT
    ServedSplits.of(2, [REVERTED]).write(path, KEY)
    assert reader.split("ranker") == REVERTED


def test_a_replayed_document_is_refused_even_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    ServedSplits.of(1, [SPLIT]).write(path, KEY)
    old = path.read_bytes()
    ServedSplits.of(2, [REVERTED]).write(path, KEY)
    reader = source(path)
    assert reader.split("ranker") == REVERTED
    path.write_bytes(old)
    assert reader.split("ranker") == REVERTED
    assert "expected splits from number 2 on, found number 1" in reader.problem
    restarted = source(path)
    assert restarted.split("ranker") is None
    assert "found number 1" in restarted.problem


def test_the_last_splits_hold_while_the_file_is_broken_or_gone(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    ServedSplits.of(1, [SPLIT]).write(path, KEY)
    reader = source(path)
    reader.refresh()
    path.write_text("half of a docum")
    assert reader.split("ranker") == SPLIT
    path.unlink()
    assert reader.split("ranker") == SPLIT
    assert "there is no such file" in reader.problem


def test_without_any_file_there_is_no_split(tmp_path: Path) -> None:
    assert source(tmp_path / "none.json").split("ranker") is None


def test_readers_never_see_half_a_document(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    ServedSplits.of(0, [SPLIT]).write(path, KEY)
    reader, problems = source(path), []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            assert reader.split("ranker") is not None
            problems.append(reader.problem)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 60):
        ServedSplits.of(number, [SPLIT]).write(path, KEY)
    stop.set()
    for thread in threads:
        thread.join()
    reader.refresh()
    assert set(problems) == {""}
    assert reader.sequence == 59


class Server(ThreadingHTTPServer):
    """Answers with `document`, or with 503 if it is empty; 304 if it was fetched before."""

    document = ""
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    """Answers requests for splits."""

    def do_GET(self) -> None:
        document = getattr(self.server, "document", "")
        mark = str(hash(document))
        code = 503 if not document else 304 if self.headers["If-None-Match"] == mark else 200
        self.send_response(code)
        self.send_header("ETag", mark)
        body = document.encode() if code == 200 else b""
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_service_goes_on_while_assay_is_down(tmp_path: Path, server: Server) -> None:
    reader = source(tmp_path / "splits.json")
    client = SplitClient(f"http://127.0.0.1:{server.server_port}/splits", reader, KEY)
    server.document = ServedSplits.of(1, [SPLIT]).sign(KEY)
    client.fetch()
    assert reader.split("ranker") == SPLIT
    server.document = ""
    client.fetch()
    assert "503" in client.problem
    assert reader.split("ranker") == SPLIT
    assert source(reader.path).split("ranker") == SPLIT


def test_a_client_refuses_a_forged_answer_and_obeys_a_rollback(tmp_path: Path, server: Server) -> None:
    reader = source(tmp_path / "splits.json")
    client = SplitClient(f"http://127.0.0.1:{server.server_port}/splits", reader, KEY)
    server.document = ServedSplits.of(1, [SPLIT]).sign(KEY)
    client.fetch()
    server.document = ServedSplits.of(9, []).sign("the key of someone else")
    client.fetch()
    assert "not signed with this key" in client.problem
    assert reader.split("ranker") == SPLIT
    server.document = ServedSplits.of(2, [REVERTED]).sign(KEY)
    client.fetch()
    assert (client.problem, reader.split("ranker")) == ("", REVERTED)
    client.fetch()
    assert client.problem == ""


def test_a_client_fetches_in_the_background(tmp_path: Path, server: Server) -> None:
    reader = source(tmp_path / "splits.json")
    server.document = ServedSplits.of(1, [SPLIT]).sign(KEY)
    client = SplitClient(f"http://127.0.0.1:{server.server_port}/", reader, KEY, seconds=0.01).start()
    server.document = ServedSplits.of(2, [REVERTED]).sign(KEY)
    waited = threading.Event()
    for _ in range(500):
        if reader.split("ranker") == REVERTED:
            break
        waited.wait(0.01)
    client.close()
    assert reader.split("ranker") == REVERTED


def test_an_address_that_is_not_http_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected an http or https address"):
        SplitClient("file:///etc/passwd", source(tmp_path / "s"), KEY)
