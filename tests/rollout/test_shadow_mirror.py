"""The mirror: the primary's answers pass untouched, whatever the candidate does."""

import os
import signal
import socket
from collections.abc import Iterator
from dataclasses import replace
from http.client import IncompleteRead
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.rollout.shadow.http.mirror import Mirror
from assay.rollout.shadow.http.settings import MirrorSettings
from assay.rollout.shadow.limits import ShadowLimits
from tests.rollout.endpoints import Endpoint, Received, answer, ask, endpoint
from tests.rollout.faults import MAX_BODY, candidate, primary, query_of
from tests.rollout.mirrors import error, lines, logged, running, wait_until


class Stage(NamedTuple):
    """A mirror between two endpoints."""

    primary: Endpoint
    candidate: Endpoint
    mirror: Mirror
    port: int
    log: Path


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    log = tmp_path_factory.mktemp("mirror") / "shadow.jsonl"
    limits = ShadowLimits(repeat=1.0, timeout=0.5, concurrency=8, queue=50)
    with endpoint(primary) as first, endpoint(candidate) as second:
        configuration = MirrorSettings(
            primary=first.url,
            candidate=second.url,
            log=str(log),
            limits=limits,
            name="new-ranker",
            search_paths=("/search",),
            client_header="X-User",
            withheld_headers=("Authorization",),
            max_body=MAX_BODY,
        )
        with running(configuration) as (mirror, port):
            yield Stage(first, second, mirror, port, log)


UNTOUCHED = [
    *("/search?q=vpn", "/large", "/chunked", "/until-closed", "/gzip"),
    *(f"/status?q={status}" for status in (201, 204, 301, 304, 404, 500, 503)),
]


@pytest.mark.parametrize("target", UNTOUCHED)
def test_the_answer_of_the_primary_is_untouched(stage: Stage, target: str) -> None:
    assert ask(stage.port, target) == ask(stage.primary.port, target)


def test_early_hints_are_left_out(stage: Stage) -> None:
    assert ask(stage.port, "/early") == (200, [("content-length", "4")], b"late")


def test_the_headers_of_a_head_request_are_untouched(stage: Stage) -> None:
    assert ask(stage.port, "/x", "HEAD") == ask(stage.primary.port, "/x", "HEAD")


TARGETS = ["/a%2Fb/..//c;d?q=%zz&&x=+%20", "//other.example/x?q=1", "/%F0%9F%98%80", "/~!$()*,;=:@"]


@pytest.mark.parametrize("target", TARGETS)
def test_the_target_reaches_the_primary_as_it_was_sent(stage: Stage, target: str) -> None:
    ask(stage.port, target)
    assert any(request.target == target for request in stage.primary.received)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_a_request_that_may_change_something_is_passed_on_once_and_not_mirrored(
    stage: Stage, method: str
) -> None:
    target = f"/write/{method}"
    ask(stage.port, target, method, b"a body", {"X-Trace": "7"})
    ask(stage.port, "/search?q=after", "GET")
    logged(stage.log, "after")
    (received,) = [request for request in stage.primary.received if request.target == target]
    assert (received.body, received.header("x-trace")) == (b"a body", "7")
    assert all(request.target != target for request in stage.candidate.received)


def test_a_body_in_chunks_reaches_the_primary_whole(stage: Stage) -> None:
    ask(stage.port, "/upload", "PUT", iter([b"one ", b"two"]))
    assert stage.primary.received[-1].body == b"one two"


def test_a_post_to_a_search_path_is_mirrored(stage: Stage) -> None:
    ask(stage.port, "/search", "POST", b'{"query": "by post"}', {"X-User": "ada"})
    found = logged(stage.log, "by post")
    assert found["candidate"]["query_response_hit_ids"] == ["b", "a"]
    assert found["primary"]["client_id"] == "ada"
    assert [r.body for r in stage.candidate.received if r.method == "POST"] == [b'{"query": "by post"}']


def test_the_answers_are_logged_with_their_roles(stage: Stage) -> None:
    ask(stage.port, "/search?q=roles")
    found = logged(stage.log, "roles")
    orders = {role: row["query_response_hit_ids"] for role, row in found.items()}
    assert orders == {"primary": ["a", "b"], "candidate": ["b", "a"], "repeat": ["a", "b"]}
    assert {row["query_attributes"]["experiment_id"] for row in found.values()} == {"new-ranker"}


def test_a_compressed_answer_is_read(stage: Stage) -> None:
    ask(stage.port, "/gzip?q=compressed")
    assert logged(stage.log, "compressed")["primary"]["query_response_hit_ids"] == ["a", "b"]


FAILURES = {
    "hang": "timeout",
    "hang in body": "timeout",
    "crash": "connection",
    "crash in body": "connection",
    "flood": "too large",
    "flood of headers": "connection",
    "garbage": "connection",
    "short length": "malformed",
    "bomb": "too large",
    "error": "status",
    "no json": "malformed",
    "no hits": "malformed",
    "deep": "malformed",
    "nan": "malformed",
    "large": "too large",
}


@pytest.mark.parametrize("fault", FAILURES)
def test_a_faulty_candidate_is_logged_and_the_primary_answers(stage: Stage, fault: str) -> None:
    target = f"/search?q={quote(fault)}"
    assert ask(stage.port, target) == ask(stage.primary.port, target)
    found = logged(stage.log, fault)
    assert error(found["candidate"]) == FAILURES[fault]
    assert error(found["primary"]) is None


def test_ids_that_no_text_can_hold_are_logged_readable(stage: Stage) -> None:
    ask(stage.port, "/search?q=halves")
    assert logged(stage.log, "halves")["candidate"]["query_response_hit_ids"] == ["? a"]


def test_hop_by_hop_and_withheld_headers_stay_here(stage: Stage) -> None:
    headers = {"Authorization": "Bearer abc", "Connection": "x-mine", "X-Mine": "1", "X-Kept": "2"}
    ask(stage.port, "/search?q=headers", headers=headers)
    logged(stage.log, "headers")
    (own,) = [r for r in stage.primary.received if query_of(r) == "headers"][:1]
    (copy,) = [r for r in stage.candidate.received if query_of(r) == "headers"]
    assert (own.header("authorization"), copy.header("authorization")) == ("Bearer abc", None)
    assert [(r.header("x-mine"), r.header("x-kept")) for r in (own, copy)] == [(None, "2")] * 2
    assert copy.header("host") == f"127.0.0.1:{stage.candidate.port}"


def test_large_bodies_pass_and_are_counted(stage: Stage) -> None:
    before = stage.mirror.counts.to_dict()["left_out"]
    assert isinstance(before, dict)
    body = b'{"query": "' + b"x" * 2 * MAX_BODY + b'"}'
    assert ask(stage.port, "/search", "POST", body)[0] == 200
    assert len(ask(stage.port, "/large?q=never")[2]) == 3 * MAX_BODY
    after = wait_until(lambda: stage.mirror.counts.to_dict()["left_out"])
    for reason in ("request too large", "answer too large"):
        assert after[reason] == before.get(reason, 0) + 1
    assert max(len(request.body) for request in stage.candidate.received) < MAX_BODY


def test_a_primary_that_breaks_off_is_seen_by_its_client(stage: Stage) -> None:
    with pytest.raises((IncompleteRead, ConnectionError)):
        ask(stage.port, "/crash?q=broken")


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        return connection.recv(1 << 16)


def test_it_is_no_open_proxy(stage: Stage) -> None:
    with endpoint(primary) as other:
        host = f"127.0.0.1:{other.port}"
        for line in (f"GET http://{host}/x HTTP/1.1", f"CONNECT {host} HTTP/1.1", "GET /x HTTP/1.1"):
            raw(stage.port, f"{line}\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert other.received == []
    assert stage.primary.received[-1].header("host") == f"127.0.0.1:{stage.primary.port}"


SAFE = st.characters(min_codepoint=32, max_codepoint=126)


@given(
    chunks=st.lists(st.binary(max_size=300), max_size=5),
    status=st.sampled_from([200, 206, 400, 418, 500]),
    value=st.text(SAFE, max_size=40).map(str.strip),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_answer_passes_byte_by_byte(chunks: list[bytes], status: int, value: str) -> None:
    stage = _CURRENT["stage"]

    def behave(server: Endpoint, request: Received, connection: socket.socket) -> bool:
        head = f"HTTP/1.1 {status} -\r\ntransfer-encoding: chunked\r\nx-any: {value}\r\n\r\n"
        connection.sendall(head.encode())
        for chunk in filter(None, chunks):
            connection.sendall(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        return True

    usual, stage.primary.behave = stage.primary.behave, behave
    try:
        found = ask(stage.port, "/any")
    finally:
        stage.primary.behave = usual
    assert found == (status, [("x-any", value)], b"".join(chunks))


_CURRENT: dict[str, Stage] = {}


@pytest.fixture(autouse=True)
def _keep(stage: Stage) -> None:
    _CURRENT["stage"] = stage


def test_every_request_is_accounted_for(tmp_path: Path) -> None:
    log = tmp_path / "shadow.jsonl"
    limits = ShadowLimits(sample=0.5, timeout=0.2, concurrency=2, queue=3, seed=1)
    with endpoint(primary) as first, endpoint(candidate) as second:
        configuration = MirrorSettings(primary=first.url, candidate=second.url, log=str(log), limits=limits)
        with running(configuration) as (mirror, port):
            for number in range(60):
                ask(port, f"/search?q={'hang' if number % 3 else number}")
            ask(port, "/x", "PUT", b"")
    counts = mirror.counts.to_dict()
    left_out = counts["left_out"]
    assert isinstance(left_out, dict)
    assert counts["requests"] == 61 == counts["mirrored"] + sum(left_out.values())  # type: ignore[operator]
    assert mirror.link.final["logged"] == counts["mirrored"]
    written = lines(log)
    assert (
        sum(row.get("query_attributes", {}).get("variant") == "primary" for row in written)
        == counts["mirrored"]
    )
    assert written[-1]["event_attributes"]["counts"]["left_out"] == left_out


def test_requests_without_room_are_dropped_and_counted(tmp_path: Path) -> None:
    limits = ShadowLimits(timeout=0.2, concurrency=1, queue=1)
    with endpoint(primary) as first, endpoint(candidate) as second:
        configuration = MirrorSettings(
            primary=first.url,
            candidate=second.url,
            log=str(tmp_path / "shadow.jsonl"),
            limits=limits,
            search_paths=("/search",),
        )
        with running(configuration) as (mirror, port):
            for _ in range(80):
                assert ask(port, "/search?q=hang", "POST", b"x" * 50_000)[0] == 200
    counts = mirror.counts.to_dict()
    left_out = counts["left_out"]
    assert isinstance(left_out, dict)
    assert left_out.keys() == {"queue full"}
    assert counts["mirrored"] == 80 - left_out["queue full"] == mirror.link.final["logged"]


def test_a_shadow_process_that_is_killed_takes_no_answer_with_it(tmp_path: Path) -> None:
    log = tmp_path / "shadow.jsonl"
    with endpoint(primary) as first, endpoint(candidate) as second:
        configuration = MirrorSettings(primary=first.url, candidate=second.url, log=str(log))
        with running(configuration) as (mirror, port):
            pid = mirror.link.pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: mirror.link.has_ended)
            assert ask(port, "/search?q=lost")[0] == 200
            wait_until(lambda: mirror.link.restarts == 1 and not mirror.link.has_ended)
            ask(port, "/search?q=again")
            assert "candidate" in logged(log, "again")
    assert mirror.counts.to_dict()["left_out"] == {"shadow process ended": 1}


def test_a_primary_that_is_down_is_answered_for(tmp_path: Path) -> None:
    with endpoint(primary) as gone:
        pass
    configuration = MirrorSettings(primary=gone.url, candidate=gone.url, log=str(tmp_path / "s.jsonl"))
    with running(configuration) as (mirror, port):
        status, _, body = ask(port, "/x")
    assert (status, b"cannot be reached" in body) == (502, True)
    assert mirror.counts.to_dict()["left_out"] == {"primary failed": 1}


@pytest.mark.parametrize(("method", "path"), [("GET", "/x"), ("POST", "/search"), ("POST", "/write")])
def test_no_request_is_lost_to_a_connection_that_the_primary_closed(
    tmp_path: Path, method: str, path: str
) -> None:
    answered: set[object] = set()

    def once(server: Endpoint, request: Received, connection: socket.socket) -> bool:
        if connection.getpeername() in answered:
            return False  # without an answer
        answered.add(connection.getpeername())
        return answer(connection, b"x")

    log = str(tmp_path / "s.jsonl")
    with endpoint(once) as first, endpoint(candidate) as second:
        configuration = MirrorSettings(
            primary=first.url, candidate=second.url, log=log, search_paths=("/search",)
        )
        configuration = replace(configuration, limits=ShadowLimits(sample=0))
        with running(configuration) as (_, port):
            assert [ask(port, path, method, b"a body")[0] for _ in range(3)] == [200] * 3
        assert [request.body for request in first.received if request.body != b"a body"] == []
        assert path != "/write" or len(first.received) == 3


def test_a_client_that_leaves_in_the_middle_of_its_request_is_counted(tmp_path: Path) -> None:
    with endpoint(primary) as first:
        configuration = MirrorSettings(
            primary=first.url, candidate=first.url, log=str(tmp_path / "s.jsonl"), search_paths=("/search",)
        )
        with running(configuration) as (mirror, port):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(b"POST /search HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nhalf")
                wait_until(lambda: mirror.counts.to_dict()["requests"])
            left_out = wait_until(lambda: mirror.counts.to_dict()["left_out"])
    assert left_out == {"client left": 1}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"primary": "ftp://a"}, "expected http://HOST:PORT"),
        ({"candidate": "http://a/?x=1"}, r"expected a URL without \? and #"),
        ({"primary": "http://me:secret@a"}, "without a login"),
        ({"search_paths": ("search",)}, "expected a path"),
        ({"hits": "hits"}, "expected a path such as"),
        ({"memory": 0}, "expected bytes above 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"primary": "http://a", "candidate": "http://b", "log": "x"}
    with pytest.raises(ValueError, match=problem) as refusal:
        MirrorSettings(**{**usual, **change})  # type: ignore[arg-type]
    assert "secret" not in str(refusal.value)
