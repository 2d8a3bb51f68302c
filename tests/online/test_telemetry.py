"""Events that the client emits arrive, over real files and sockets, as the reader of logs expects them."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import polars as pl
import pytest

from assay.core.errors import InputError
from assay.datasets.ubi import read_events
from assay.online.interleaving import team_draft
from assay.online.telemetry import AsyncEventClient, EventClient, FileSink, HttpSink, Record
from assay.remote.retry import RetryPolicy

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
SOON = RetryPolicy(retries=2, backoff=0.001)


class Collector(ThreadingHTTPServer):
    """Takes records; answers with the statuses and the body that it was given."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, str, bytes]] = []
        self.statuses: list[int] = []
        self.answer = b"thank you"
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def received(self) -> bytes:
        return b"".join(body for _, _, body in self.bodies)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.bodies.append((self.path, self.headers["Content-Type"], body))
        self.send_response(status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class HeldSink:
    """Writes nothing until it is released."""

    def __init__(self) -> None:
        self.released, self.entered = threading.Event(), threading.Event()
        self.lines: list[bytes] = []

    def write(self, records: Sequence[Record]) -> int:
        self.entered.set()
        self.released.wait()
        self.lines += [record.line for record in records]
        return 0

    def close(self) -> None:
        pass


def record_search(client: EventClient | AsyncEventClient) -> str:
    """One query with two results, and a click on the second."""
    query_id = client.query(
        "red shoes",
        client_id="c",
        session_id="s",
        hit_ids=["a", "b"],
        latency_ms=12.5,
        variant="treatment",
        team_by_doc={"a": "A", "b": "B"},
        at=AT,
        attributes={"device": "phone"},
    )
    click_at = AT + timedelta(seconds=5)
    ids = {"query_id": query_id, "client_id": "c", "session_id": "s"}
    client.event("click", object_id="b", rank=2, at=click_at, **ids)  # type: ignore[arg-type]
    return query_id


def test_attributes_may_have_what_is_also_a_parameter(tmp_path: Path) -> None:
    shown = team_draft({"A": ["a", "b"], "B": ["c", "d"]}, 4, salt="s", query="q", user="u")
    position = {"xy": {"x": 3.0, "y": 4.0}}
    with EventClient(FileSink(str(tmp_path / "log.ndjson"))) as client:
        client.query("q", client_id="u", hit_ids=shown.documents, attributes=shown.query_attributes())
        client.event(
            "click", object_id="a", rank=2, attributes={"object": {"name": "A"}, "position": position}
        )
    events = read_events(tmp_path / "log.ndjson")
    assert events.queries["hit_teams"].to_list() == [[*shown.teams]]
    (click,) = events.frame.to_dicts()
    assert (click["object_id"], click["x"], click["y"]) == ("a", 3.0, 4.0)
    assert b'"name":"A"' in (tmp_path / "log.ndjson").read_bytes()


def assert_search(path: Path, query_id: str) -> None:
    """The records of `record_search` are read back in full, and nothing is odd about them."""
    events = read_events(path)
    (query,) = events.queries.to_dicts()
    expected = {"query_id": query_id, "client_id": "c", "session_id": "s", "at": AT, "latency_ms": 12.5}
    expected |= {"user_query": "red shoes", "hit_ids": ["a", "b"], "hit_teams": ["A", "B"]}
    assert {name: query[name] for name in expected} == expected
    assert (query["variant"], json.loads(query["attributes"])["device"]) == ("treatment", "phone")
    (click,) = events.frame.to_dicts()
    assert (click["action"], click["object_id"], click["rank"]) == ("click", "b", 2)
    assert (click["at"] - AT).total_seconds() == 5
    assert events.problems == ()


def test_a_file_is_read_back(tmp_path: Path) -> None:
    with EventClient(FileSink(tmp_path / "log.ndjson"), application="shop") as client:
        query_id = record_search(client)
    assert_search(tmp_path / "log.ndjson", query_id)
    assert (client.counts.recorded, client.counts.written) == (2, 2)


@pytest.mark.parametrize("form", ["lines", "list", "bulk"])
def test_records_arrive_over_http(collector: Collector, tmp_path: Path, form: str) -> None:
    with EventClient(HttpSink(f"{collector.url}/events?key=1", form=form)) as client:
        query_id = record_search(client)
    (tmp_path / "log.ndjson").write_bytes(collector.received)
    assert_search(tmp_path / "log.ndjson", query_id)
    assert {path for path, _, _ in collector.bodies} == {"/events?key=1"}


def test_an_async_program_waits_without_blocking_its_loop(collector: Collector, tmp_path: Path) -> None:
    async def search() -> str:
        async with AsyncEventClient(HttpSink(collector.url)) as client:
            query_id = record_search(client)
            assert await client.flush(10)
            assert client.counts.written == 2
        return query_id

    query_id = asyncio.run(search())
    (tmp_path / "log.ndjson").write_bytes(collector.received)
    assert_search(tmp_path / "log.ndjson", query_id)


def test_transient_failures_are_repeated(collector: Collector) -> None:
    collector.statuses = [503, 429]
    with EventClient(HttpSink(collector.url, retries=SOON)) as client:
        client.event("click")
    assert client.counts.written == 1
    assert len(collector.bodies) == 1


def test_events_that_cannot_be_sent_are_counted_and_logged(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.statuses = [503, 503, 503, 400]
    with caplog.at_level(logging.WARNING), EventClient(HttpSink(collector.url, retries=SOON)) as client:
        client.event("click")
        assert client.flush(10)
        client.event("view")
        assert client.flush(10)
        client.event("purchase")
    assert (client.counts.failed, client.counts.written) == (2, 1)
    assert [record.message[:31] for record in caplog.records] == ["1 of 1 events were not written:"] * 2


def test_records_that_a_bulk_request_refuses_are_counted(collector: Collector) -> None:
    refused = {"index": {"status": 400, "error": {"type": "mapper_parsing_exception"}}}
    collector.answer = json.dumps({"errors": True, "items": [{"index": {"status": 201}}, refused]}).encode()
    with EventClient(HttpSink(f"{collector.url}/_bulk", form="bulk")) as client:
        record_search(client)
    assert (client.counts.written, client.counts.failed) == (1, 1)
    heads = [json.loads(line) for line in collector.received.splitlines()[::2]]
    assert [head["index"]["_index"] for head in heads] == ["ubi_queries", "ubi_events"]


def test_a_full_queue_drops_and_counts() -> None:
    sink = HeldSink()
    client = EventClient(sink, capacity=3, batch=1)
    client.event("first")
    assert sink.entered.wait(10)
    assert [client.event(f"e{number}") for number in range(5)] == [True] * 3 + [False] * 2
    counts = client.counts
    assert (counts.recorded, counts.waiting, counts.dropped) == (6, 4, 2)
    assert not client.flush(0.01)
    sink.released.set()
    client.close()
    assert client.counts.written == len(sink.lines) == 4
    assert not client.event("after the end")
    assert client.counts.dropped == 3


def test_a_sink_that_hangs_does_not_hold_up_the_end() -> None:
    sink = HeldSink()
    client = EventClient(sink, batch=1)
    client.event("first")
    assert sink.entered.wait(10)
    client.event("second")
    client.close(timeout=0.01)
    assert (client.counts.waiting, client.counts.dropped) == (1, 1)
    sink.released.set()


def test_many_threads_lose_nothing(tmp_path: Path) -> None:
    with EventClient(FileSink(tmp_path / "log"), batch=7, interval=0.001) as client:
        threads = [
            threading.Thread(target=lambda: [client.event("click") for _ in range(200)]) for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    counts = client.counts
    assert counts.recorded == counts.written + counts.dropped + counts.failed == 1000
    assert len(read_events(tmp_path / "log")) == counts.written == 1000


def test_a_program_that_ends_without_closing_writes_its_events(tmp_path: Path) -> None:
    code = (
        "import sys; from assay.online.telemetry import EventClient, FileSink\n"
        "client = EventClient(FileSink(sys.argv[1]), interval=1000)\n"
        "client.event('click')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], check=True)
    assert len(read_events(tmp_path / "log")) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_a_queue_of_its_own(tmp_path: Path) -> None:
    code = (
        "import os, sys; from assay.online.telemetry import EventClient, FileSink\n"
        "client = EventClient(FileSink(sys.argv[1]), interval=1000)\n"
        "client.event('parent')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    client.event('child'); client.close(); os._exit(0)\n"
        "os.waitpid(child, 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], check=True)
    assert sorted(read_events(tmp_path / "log").frame["action"]) == ["child", "parent"]


def test_a_file_that_was_moved_is_begun_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with EventClient(FileSink(log)) as client:
        client.event("before")
        assert client.flush(10)
        log.rename(tmp_path / "log.1")
        client.event("after")
    assert read_events(tmp_path / "log.1").frame["action"].to_list() == ["before"]
    assert read_events(log).frame["action"].to_list() == ["after"]


def test_a_line_that_a_crash_cut_off_spoils_only_itself(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"action_name": "cli')
    with EventClient(FileSink(tmp_path / "log")) as client:
        client.event("click")
    events = read_events(tmp_path / "log")
    assert (len(events), events.problem_count("not JSON")) == (1, 1)


def test_a_full_disk_costs_only_what_it_could_not_take(small_disk: Path) -> None:
    with EventClient(FileSink(small_disk / "log"), batch=1) as client:
        filler = small_disk / "filler"
        client.event("click")
        assert client.flush(10)
        filler.write_bytes(b"0" * (os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize))
        client.event("click", message="x" * 10_000)
        assert client.flush(10)
        filler.unlink()
        client.event("purchase")
    assert (client.counts.written, client.counts.failed) == (2, 1)
    assert read_events(small_disk / "log").frame["action"].to_list() == ["click", "purchase"]


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a capacity and a batch of 1 or more"):
        EventClient(FileSink(tmp_path / "log"), capacity=0)
    with pytest.raises(InputError, match="expected a form of lines, list, bulk, found 'xml'"):
        HttpSink("http://127.0.0.1", form="xml")


def test_spans_of_opentelemetry_become_queries_and_events(tmp_path: Path) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from assay.online.telemetry.spans import UbiSpanExporter

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(UbiSpanExporter(FileSink(tmp_path / "log"))))
    tracer = provider.get_tracer("shop")
    ids = {"ubi.client_id": "c", "ubi.variant": "treatment"}
    with tracer.start_as_current_span("search", attributes={"ubi.user_query": "vpn", **ids}) as span:
        span.set_attribute("ubi.hit_ids", ["a", "b"])
        span.add_event("shown", {"ubi.action_name": "impression", "ubi.object_id": "a", "ubi.rank": 1})
        trace = f"{span.get_span_context().trace_id:032x}"
    click: dict[str, str | int] = {
        "ubi.action_name": "click",
        "ubi.query_id": trace,
        "ubi.object_id": "b",
        "ubi.rank": 2,
    }
    with tracer.start_as_current_span("open", attributes=click), tracer.start_as_current_span("database"):
        pass
    provider.shutdown()
    events = read_events(tmp_path / "log")
    (query,) = events.queries.to_dicts()
    assert (query["query_id"], query["hit_ids"], query["variant"]) == (trace, ["a", "b"], "treatment")
    assert 0 <= query["latency_ms"] < 60_000
    found = events.frame.select("action", "object_id", "rank", "query_id", "client_id").rows()
    assert found == [("impression", "a", 1, trace, "c"), ("click", "b", 2, trace, None)]
    assert events.frame.filter(pl.col("at").is_null()).is_empty()


def test_a_sink_that_fails_is_a_failed_export(collector: Collector) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    from assay.online.telemetry.spans import UbiSpanExporter

    collector.statuses = [400]
    exporter = UbiSpanExporter(HttpSink(collector.url))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("shop").start_as_current_span("s", attributes={"ubi.user_query": "vpn"}):
        pass
    assert exporter.refused == 1
    provider.shutdown()
