"""Queries asked of systems that answer, fail, limit, hang and lie."""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, takewhile
from pathlib import Path
from threading import Barrier, Event, Lock, Thread
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from assay.core.errors import InputError, StoreError, UndecidableError
from assay.core.tables import Run
from assay.search import pace, running
from assay.search.journal import Journal
from assay.search.pace import Pace
from assay.search.pipeline import Pipeline, Retrieve
from assay.search.running import Options, Progress, checked, run
from assay.search.searcher import Answer, Query, SearchError, Stage
from assay.search.searcher import asked as each
from assay.search.systems.http import Http
from assay.stats.intervals import wilson
from searchers import Scripted, asked, plain

if TYPE_CHECKING:
    from _typeshed import TraceFunction

NOW = Options(k=3, concurrency=4, timeout=60, backoff=0.001)


def at_first(error: SearchError, *times: int, of: str = "q1") -> Callable[[Query, int], Answer]:
    """Fails for one query at some attempts."""

    def does(query: Query, number: int) -> Answer:
        if query.id == of and number in (times or (1,)):
            raise error
        return plain(query)

    return does


@pytest.fixture
def released() -> Iterator[Event]:
    """What hangs in a test until it ends."""
    made = Event()
    yield made
    made.set()


def test_results_stand_in_the_order_of_the_queries_whoever_is_first() -> None:
    def slow_at_first(query: Query, number: int) -> Answer:
        time.sleep(0.01 if query.id == "q0" else 0)
        return plain(query)

    searcher = Scripted(slow_at_first)
    found = run(searcher, asked(), NOW)
    assert list(found.finished) == asked().ids == list(found.run().query_ids)
    assert found.run() == Run({query.id: dict(plain(query).documents[:3]) for query in each(asked())})
    assert set(searcher.counts.values()) == {1}


def test_what_a_function_prints_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    def talks(query: Query, number: int) -> Answer:
        print("searching")
        return plain(query)

    run(Scripted(talks), asked(3), replace(NOW, concurrency=1))  # threads would print into each other's lines
    print("done")
    assert capsys.readouterr() == ("done\n", "searching\n" * 3)


def test_a_failed_query_is_not_an_empty_list() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise SearchError("status", "500: no")
        return Answer([]) if query.id == "q2" else plain(query)

    found = run(Scripted(does), asked(5), NOW)
    assert found.empty == ["q2"]
    assert found.failed == {"q1": ("status", "500: no")}
    assert list(found.run().query_ids) == ["q0", "q3", "q4"]
    assert found.errors == {"status": 1}
    assert "q1" not in found.latencies
    assert found.slo(5000) == wilson(4, 5)


def test_only_what_may_go_better_is_asked_again() -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1" and number < 3:
            raise SearchError("connection", "reset", again=True)
        if query.id == "q2":
            raise SearchError("status", "503", again=True)
        if query.id == "q3":
            raise SearchError("malformed", "no JSON")
        return plain(query)

    searcher = Scripted(does)
    found = run(searcher, asked(5), NOW)
    assert searcher.counts == {"q0": 1, "q1": 3, "q2": 3, "q3": 1, "q4": 1}
    assert {key: done.attempts for key, done in found.finished.items()} == searcher.counts
    assert found.attempts == 9
    assert found.errors == {"status": 1, "malformed": 1}


def test_pauses_and_failed_attempts_are_no_part_of_the_latency() -> None:
    error = SearchError("connection", "reset", again=True)
    found = run(Scripted(at_first(error)), asked(3), Options(backoff=0.6, concurrency=1))
    done = found.finished["q1"]
    assert done.latency_ns is not None
    assert done.waited_ns >= 300_000_000 > done.latency_ns
    assert found.finished["q0"].waited_ns == 0


def test_the_pauses_grow() -> None:
    error = SearchError("connection", "reset", again=True)
    options = Options(backoff=0.02, concurrency=1, retries=3)
    waits = [run(Scripted(at_first(error, *range(1, n + 1))), asked(2), options) for n in (1, 2, 3)]
    taken = [found.finished["q1"].waited_ns / 1e9 for found in waits]
    assert taken[0] >= 0.01
    assert taken[1] >= 0.03
    assert taken[2] >= 0.07


def test_a_limit_slows_all_threads_down(monkeypatch: pytest.MonkeyPatch) -> None:
    together, known, slower = Barrier(4), Event(), Pace.slower
    limited: list[float] = []

    def told(self: Pace, seconds: float, sent: int) -> None:
        slower(self, seconds, sent)
        known.set()

    def does(query: Query, number: int) -> Answer:
        if len(searcher.began) <= 4:
            together.wait(50)
            if query.id == "q1":
                limited.append(time.perf_counter())
                raise SearchError("limited", "429", again=True, after=0.3)
            known.wait(50)  # what is asked before the limit is known is not held back by it
        return plain(query)

    monkeypatch.setattr(Pace, "slower", told)
    searcher = Scripted(does)
    found = run(searcher, asked(6), NOW)
    assert not found.failed
    assert found.attempts == 7
    assert min(searcher.began[4:]) >= limited[0] + 0.3


class Simulated(Event):
    """A clock that is where somebody waited for it to be, and a run that nobody stops."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.now = 0
        monkeypatch.setattr(pace, "time", self)

    def perf_counter_ns(self) -> int:
        return self.now

    def wait(self, timeout: float | None = None) -> bool:
        self.now += round((timeout or 0) * 1e9)
        return False

    def between(self, asked: Pace) -> float:
        """The seconds from one turn to the next."""
        asked.turn()
        before = self.now
        asked.turn()
        return (self.now - before) / 1e9


@pytest.mark.parametrize("seed", range(5))
def test_limits_that_come_by_chance_cost_little_more_than_the_pauses_asked_for(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    clock, chance, limits, answers = Simulated(monkeypatch), random.Random(seed), 0, 0
    asked = Pace(None, 8, clock)
    while answers < 300:
        asked.turn()
        if chance.random() < 0.15:
            limits += 1
            asked.slower(1.0, clock.now)
        else:
            answers += 1
            asked.answered()
    assert limits <= clock.now / 1e9 < 3 * limits


def test_the_gap_never_grows_far_beyond_the_pause_and_is_gone_after_some_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Simulated(monkeypatch)
    asked = Pace(None, 8, clock)
    for _ in range(50):
        asked.turn()
        asked.slower(2.0, clock.now)
    assert clock.between(asked) == 3.0
    for _ in range(80):
        asked.answered()
    asked.turn()  # the last that was promised at the old pace
    assert clock.between(asked) == 0.0


def test_what_was_under_way_when_a_pause_began_is_the_same_limit_even_if_it_is_told_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Simulated(monkeypatch)
    asked = Pace(None, 4, clock)
    for told in (1, 5, 9):  # seconds: each after the pause before it
        clock.now = told * 10**9
        asked.slower(2.0, 0)
    assert clock.between(asked) == 0.5
    asked.slower(2.0, clock.now)
    assert clock.between(asked) == 0.75


def test_a_rate_that_was_asked_for_is_kept_after_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Simulated(monkeypatch)
    asked = Pace(10, 4, clock)
    asked.slower(0.1, clock.now)
    for _ in range(50):
        asked.answered()
    asked.turn()
    assert clock.between(asked) == pytest.approx(0.1)


def test_who_asks_for_too_long_a_pause_is_not_asked_again() -> None:
    error = SearchError("limited", "come back tomorrow", again=True, after=86_400)
    found = run(Scripted(at_first(error)), asked(3), NOW)
    assert found.failed == {"q1": ("limited", "come back tomorrow")}
    assert found.finished["q1"].attempts == 1


def test_the_rate_is_kept_by_all_threads_together_repetitions_included() -> None:
    error = SearchError("connection", "reset", again=True)
    searcher = Scripted(at_first(error, 1, 2))
    begin = time.perf_counter()
    run(searcher, asked(10), Options(concurrency=5, rate=100, backoff=0))
    assert len(searcher.began) == 12
    assert all(began - begin >= i / 100 for i, began in enumerate(sorted(searcher.began)))


def test_as_many_are_under_way_as_allowed_and_no_more() -> None:
    under_way, most, lock = [0], [0], Lock()
    together = Barrier(3)

    def does(query: Query, number: int) -> Answer:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        together.wait(50)  # ends only where three are here at once
        with lock:
            under_way[0] -= 1
        return plain(query)

    run(Scripted(does), asked(12), Options(concurrency=3, timeout=60))
    assert most == [3]


def test_a_call_that_hangs_is_given_up_and_its_thread_replaced(
    released: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_GRACE", 0)

    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            released.wait(60)
        return plain(query)

    found = run(Scripted(does), asked(4), Options(concurrency=1, timeout=0.5))
    assert found.errors == {"timeout": 1}
    assert "still hangs" in found.failed["q1"].said
    assert list(found.answers) == ["q0", "q2", "q3"]


def test_a_system_that_always_hangs_is_not_asked_for_ever(
    released: Event, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(running, "_GRACE", 0)

    def does(query: Query, number: int) -> Answer:
        released.wait(60)
        return plain(query)

    found = run(Scripted(does), asked(8), Options(concurrency=1, timeout=0.05), tmp_path)
    assert found.errors == {"timeout": 5, "not asked": 3}
    with pytest.raises(UndecidableError, match="5 failed"):
        found.run()
    again = run(Scripted(), asked(8), Options(), tmp_path)
    assert list(again.answers) == ["q5", "q6", "q7"]


def test_an_answer_after_the_timeout_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_GRACE", 60_000_000_000)

    def does(query: Query, number: int) -> Answer:
        time.sleep(2.1 if query.id == "q1" else 0)
        return plain(query)

    found = run(Scripted(does), asked(2), Options(timeout=2))
    assert found.errors["timeout"] == 1
    assert "only after" in found.failed["q1"].said


def test_words_that_are_no_text_are_kept_as_far_as_they_are() -> None:
    found = run(Scripted(at_first(SearchError("failed", "half \ud800"))), asked(3), NOW)
    assert found.failed["q1"].said == "half ?"


@pytest.mark.parametrize("error", [ValueError("no http://me:secret@host"), SystemExit(3), KeyError("x")])
def test_any_other_exception_is_a_failed_query_with_its_words(error: BaseException) -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id == "q1":
            raise error
        return plain(query)

    found = run(Scripted(does), asked(4), NOW)
    assert found.failed["q1"].kind == "failed"
    assert found.failed["q1"].said.startswith(f"{type(error).__name__}: ")
    assert "secret" not in found.failed["q1"].said
    assert len(found.answers) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (["d1"], "expected an Answer, found list"),
        (Answer([("a", float("nan"))]), "found 'a' and nan"),
        (Answer([(7, 1.0)]), "found 7 and 1.0"),  # type: ignore[list-item]
        (Answer([("", 1.0)]), "found '' and 1.0"),
        (Answer([("a", 2.0), ("b\ud800", 1.0)]), "found '\\ud800' in one"),
        (Answer([("a\0", 1.0)]), "found '\\x00' in one"),
        (Answer(["doc"]), "pairs of an id and a score"),  # type: ignore[list-item]
        (Answer([("a", 2.0), ("b", 1.0), ("a", 1.0)]), "'a' stands twice"),
        (Answer([], (Stage("bm25", [("a", 2.0), ("a", 1.0)], 1),)), "'a' stands twice"),
    ],
)
def test_what_cannot_be_scored_is_no_answer(answer: Answer, said: str) -> None:
    found = run(Scripted(lambda query, number: answer), asked(1), NOW)
    assert found.failed["q0"].kind == "malformed"
    assert said in found.failed["q0"].said


def test_scores_of_any_number_type_become_floats() -> None:
    import numpy as np

    found = Answer([("a", np.float32(0.5)), ("b", 0)])  # type: ignore[list-item]
    assert checked(found, 5).documents == [("a", 0.5), ("b", 0.0)]


def test_a_run_that_is_repeated_asks_nothing_and_is_the_same(tmp_path: Path) -> None:
    begin = time.monotonic()
    whole = run(Scripted(at_first(SearchError("status", "500"))), asked(), NOW, tmp_path)
    beside = time.monotonic() - begin - whole.seconds  # such as the opening of its file
    silent = Scripted(at_first(SearchError("failed", "asked again"), *range(9)))
    again = run(silent, asked(), NOW, tmp_path)
    assert not silent.counts
    assert again.run().digest == whole.run().digest
    assert again.finished == whole.finished
    assert again.resumed == 12
    assert again.seconds == pytest.approx(whole.seconds, abs=0.1 + beside)


def test_everything_is_asked_again_where_that_is_wanted(tmp_path: Path) -> None:
    run(Scripted(), asked(), NOW, tmp_path)
    changed = Scripted()
    found = run(changed, asked(), replace(NOW, again=True), tmp_path)
    assert set(changed.counts.values()) == {1}
    assert (found.resumed, len(changed.counts)) == (0, 12)


def test_only_failures_are_asked_again_and_only_where_that_is_wanted(tmp_path: Path) -> None:
    run(Scripted(at_first(SearchError("status", "500"))), asked(), NOW, tmp_path)
    better = Scripted()
    found = run(better, asked(), Options(k=3, retry_failed=True), tmp_path)
    assert better.counts == {"q1": 1}
    assert not found.failed
    assert found.run().digest == run(Scripted(), asked(), NOW).run().digest
    assert [sitting.concurrency for sitting in found.sittings] == [4, 8]


def test_an_interrupted_run_keeps_what_is_finished_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_LAST", 60.0)

    def slow(query: Query, number: int) -> Answer:
        time.sleep(0.02)
        return plain(query)

    def interrupt(progress: Progress) -> None:
        if progress.done >= 4:
            raise KeyboardInterrupt

    first, second = Scripted(slow), Scripted()
    with pytest.raises(KeyboardInterrupt):
        run(first, asked(600), Options(k=3, concurrency=2), tmp_path, interrupt)
    found = run(second, asked(600), NOW, tmp_path)
    assert 4 <= found.resumed < 600
    assert set((first.counts + second.counts).values()) == {1}
    assert found.run().digest == run(Scripted(), asked(600), NOW).run().digest


def test_an_interruption_at_any_point_loses_no_answer_that_came_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points: the steps of the interpreter while it keeps what came in, from the second time on."""
    monkeypatch.setattr(running, "_LAST", 60.0)
    gather = running._Asking._gather.__code__

    def interrupted(folder: Path, after: int) -> bool:
        steps = calls = 0

        def trace(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
            nonlocal steps, calls
            if frame.f_code is not gather:
                return None
            frame.f_trace_opcodes = True
            calls += event == "call"
            steps = 0 if event == "call" else steps + (event == "opcode")
            if calls > 1 and steps == after:
                raise KeyboardInterrupt
            return trace

        first, second = Scripted(), Scripted()
        sys.settrace(trace)
        try:
            run(first, asked(400), Options(k=3, concurrency=2, rate=500), folder)
        except KeyboardInterrupt:
            pass
        else:
            return False  # it has fewer steps
        finally:
            sys.settrace(None)
        found = run(second, asked(400), NOW, folder)
        assert 0 < found.resumed < 400
        assert set((first.counts + second.counts).values()) == {1}, after
        return True

    points = takewhile(lambda after: interrupted(tmp_path / str(after), after), count(1))
    assert len(list(points)) > 30


def test_an_interruption_does_not_wait_for_a_pause(tmp_path: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 2:  # the third waits
            raise KeyboardInterrupt

    error = SearchError("connection", "reset", again=True)
    searcher = Scripted(at_first(error, *range(9)))
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(searcher, asked(3), Options(backoff=50), tmp_path, interrupt)
    assert time.monotonic() - begin < 25
    assert run(Scripted(), asked(3), Options(), tmp_path).resumed == 2


def test_a_pause_that_is_no_number_is_the_end_of_a_query_and_not_of_the_run() -> None:
    error = SearchError("limited", "later", again=True, after="5")  # type: ignore[arg-type]
    found = run(Scripted(at_first(error)), asked(), NOW)
    assert [(one, done.failure.kind) for one, done in found.finished.items() if done.failure] == [
        ("q1", "failed")
    ]


def test_pauses_do_not_outgrow_numbers() -> None:
    error = SearchError("connection", "reset", again=True)
    found = run(Scripted(at_first(error, *range(9999))), asked(3), replace(NOW, retries=1100, backoff=0.0))
    assert len(found.failed) == 1


def test_threads_that_cannot_be_started_end_the_run_with_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Few(Thread):
        def start(self) -> None:
            if len(started) == 2:
                raise RuntimeError("can't start new thread")
            started.append(self)
            super().start()

    def slow(query: Query, number: int) -> Answer:
        time.sleep(0.01)
        return plain(query)

    started: list[Thread] = []
    monkeypatch.setattr(running, "Thread", Few)
    searcher = Scripted(slow)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        run(searcher, asked(200), NOW, tmp_path)
    monkeypatch.undo()
    asked_before = searcher.counts.total()
    assert asked_before < 200
    assert run(Scripted(), asked(200), NOW, tmp_path).resumed == asked_before


def test_progress_is_told_to_the_end() -> None:
    told: list[Progress] = []
    run(Scripted(at_first(SearchError("status", "500"))), asked(), NOW, watch=told.append)
    assert told[-1][:4] == (12, 12, 1, 0)
    assert told[-1].qps > 0


def test_a_journal_that_cannot_be_written_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, *done: object) -> None:
        raise StoreError("no space left")

    monkeypatch.setattr(Journal, "put", full)
    with pytest.raises(StoreError, match="no space left"):
        run(Scripted(), asked(), NOW, tmp_path)


def test_stages_tokens_and_cost_are_kept(tmp_path: Path) -> None:
    def does(query: Query, number: int) -> Answer:
        found = plain(query)
        stages = (Stage("first", found.documents, 1000), Stage("last", found.documents[1:], 500))
        return Answer(found.documents[1:], stages, tokens=7, cost=0.002)

    found = run(Scripted(does), asked(), NOW, tmp_path)
    again = run(Scripted(), asked(), NOW, tmp_path)
    assert again.finished == found.finished
    assert [stage.name for stage in found.answers["q1"].stages] == ["first", "last"]
    assert found.stage_latency()["first"].n == 12
    assert found.tokens == 84
    assert found.cost_per_1k == pytest.approx(2.0)
    assert run(Scripted(), asked(), NOW).cost_per_1k is None
    assert json.loads(json.dumps(found.to_dict()))["latency"]["p99_ms"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        *[{"k": 0}, {"concurrency": 0}, {"timeout": 0}, {"rate": 0}, {"retries": -1}],
        *[{name: float(odd)} for name in ("timeout", "rate", "backoff") for odd in ("inf", "nan", "-1")],
        *[{"timeout": 1e300}, {"rate": 1e-300}],
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}: expected"):
        Options(**wrong)  # type: ignore[arg-type]


def leaks(query: Query, number: int) -> Answer:
    """Fails with the secret in its words, once across the place where words are cut."""
    secret = "very-secret-1207"
    if query.id == "q0":
        raise SystemExit(f"bye {secret}")
    raise SearchError("malformed", "x" * 292 + secret if query.id == "q1" else f"no JSON: Bearer {secret}")


def test_no_secret_is_kept_whoever_fails_and_however(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_KEY", "very-secret-1207")
    found = run(Scripted(leaks), asked(3), NOW, tmp_path)
    assert found.journal is not None
    kept = found.journal.read_text() + str(found.to_dict())
    assert "very-sec" not in kept
    assert found.failed["q0"].said == "SystemExit: bye ${ASSAY_TEST_KEY}"


def test_nor_is_what_the_configuration_takes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_TENANT", "acme-7")  # by its name it is no secret
    searcher = Scripted(at_first(SearchError("failed", "who is acme-7?")))
    monkeypatch.setattr(searcher, "configuration", lambda: {"tenant": "${ASSAY_TEST_TENANT}"})
    assert run(searcher, asked(3), NOW).failed["q1"].said == "who is ${ASSAY_TEST_TENANT}?"


def test_another_server_under_the_same_name_is_asked_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def journal(url: str) -> Path:
        monkeypatch.setenv("ASSAY_ENDPOINT", url)
        http = Http("live", url="${ASSAY_ENDPOINT}/search?q={query}", ids="$.ids")
        assert "staging" not in str(http.identity()) + str(http.configuration())
        for searcher in (http, Pipeline("live", [Retrieve(http)])):
            found = run(searcher, asked(1), replace(NOW, retries=0), tmp_path / type(searcher).__name__)
        http.close()
        assert found.journal is not None
        return found.journal

    staging = journal("http://name:staging-key@localhost:1/staging")
    assert journal("http://name:another-key@localhost:1/staging") == staging
    assert journal("http://name:staging-key@localhost:1/prod") != staging
    assert [len(list(folder.iterdir())) for folder in tmp_path.iterdir()] == [2, 2]


def test_a_column_that_no_query_has_is_refused_before_anything_is_asked() -> None:
    http = Http("live", url="http://localhost:1/?q={qurey}&p={page}", ids="$.ids")
    for searcher in (http, Pipeline("live", [Retrieve(http)])):
        with pytest.raises(InputError, match=r"live puts \{qurey\} in what it asks; expected \{query\}"):
            run(searcher, asked(), NOW)


def test_again_does_not_touch_what_another_run_writes(tmp_path: Path) -> None:
    path = run(Scripted(), asked(), NOW, tmp_path).journal
    assert path is not None
    before = path.read_bytes()
    about = json.loads(before.splitlines()[0])
    other = Journal(tmp_path, "scripted", {key: about[key] for key in ("system", "k", "queries")})
    with other.opened(), pytest.raises(InputError, match="another run writes this journal"):
        run(Scripted(), asked(), replace(NOW, again=True), tmp_path)
    assert path.read_bytes() == before
    assert run(Scripted(), asked(), replace(NOW, again=True), tmp_path).resumed == 0


def test_numbers_that_are_of_different_sittings_or_of_a_part_say_so(tmp_path: Path) -> None:
    def does(query: Query, number: int) -> Answer:
        if query.id in ("q1", "q2"):
            raise SearchError("failed", "no")
        return plain(query)._replace(cost=0.1)

    first = run(Scripted(does), asked(), NOW, tmp_path)
    assert first.notes == ["the cost is that of the answers: what failed or was asked again is not in it"]
    slower = replace(NOW, concurrency=1, rate=500.0, retry_failed=True)
    found = run(Scripted(), asked(), slower, tmp_path)
    assert found.notes[0].endswith("in different ways (1 at a time, 500/s at most, 4 at a time)")
    assert run(Scripted(), asked(), NOW).notes == []


def test_a_call_that_comes_back_while_it_is_looked_at_is_not_given_up() -> None:
    class Returning(running._Call):
        looks: Iterator[int | None] = iter([1, None])
        deadline = property(lambda self: next(self.looks), lambda self, value: None)

    asking = running._Asking(Scripted(), [], NOW, None, {})
    call = asking._calls["q1"] = Returning(Query("q1", "how"))
    assert call.claimed()
    asking._give_up()
    assert list(asking._calls) == ["q1"]
