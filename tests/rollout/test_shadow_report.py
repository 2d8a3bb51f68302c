"""The report of a shadow: what differs beyond the primary's own noise, and what nobody can know."""

import json
import random
from pathlib import Path

import pytest

from assay import compare
from assay.core.errors import FormatError
from assay.core.tables import Qrels
from assay.rollout.shadow.report.exchanges import read_traffic
from assay.rollout.shadow.report.judged import Judged
from assay.rollout.shadow.report.report import ReportSettings, ShadowReport, build_report
from tests.rollout.shadow_logs import exchange, failed, found, report_of, write_log


def shuffled(ids: list[str], seed: int, depth: int = 10) -> list[str]:
    """The first ids in an order of their own, and the rest as it is."""
    head = ids[:depth]
    random.Random(seed).shuffle(head)
    return head + ids[depth:]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shadow.jsonl"


def test_the_overlap_counts_shared_documents_over_the_longer_list(path: Path) -> None:
    report = report_of(path, [exchange("q", ["a", "b", "c", "d"], ["b", "x"])])
    candidate = report.differences.candidate
    assert [candidate[name].value for name in ("overlap", "same_first", "same_order")] == [0.25, 0.0, 0.0]


def test_the_rank_biased_overlap_is_that_of_compare(path: Path) -> None:
    lists = {
        f"q{n}": ([f"d{i}" for i in range(9)], shuffled([f"d{i}" for i in range(12)], n)) for n in range(20)
    }
    report = report_of(path, [exchange(query, *pair) for query, pair in lists.items()])
    runs = [{query: pair[place] for query, pair in lists.items()} for place in (0, 1)]
    overlap = compare({query: {"d0": 1} for query in lists}, runs[0], runs[1], ["RR@10"]).overlaps
    (expected,) = overlap.values()
    assert report.differences.candidate["rbo"].value == pytest.approx(expected.rbo.value)
    assert report.differences.candidate["rbo"].low == pytest.approx(expected.rbo.low)


def test_a_query_counts_once_however_often_it_is_asked(path: Path) -> None:
    often = [exchange("often", ["a"], ["a"]) for _ in range(9)]
    report = report_of(path, [*often, exchange("once", ["a"], ["b"])])
    assert report.differences.candidate["overlap"].value == 0.5
    assert report.differences.candidate["overlap"].n == 2
    assert report.counts["compared"] == 10


def test_a_primary_that_differs_from_itself_as_much_is_the_noise_floor(path: Path) -> None:
    ids = [f"d{i}" for i in range(20)]
    rows = [
        exchange(f"q{n}", shuffled(ids, 3 * n), shuffled(ids, 3 * n + 1), shuffled(ids, 3 * n + 2))
        for n in range(200)
    ]
    differences = report_of(path, rows).differences
    assert differences.noise_floor is not None
    assert differences.noise_floor > 0.3
    assert differences.differing.value is not None
    assert differences.differing.value < 0.1
    beyond = differences.beyond_noise["rbo"]
    assert beyond.low is not None
    assert beyond.high is not None
    assert beyond.low < 0 < beyond.high


def test_a_real_difference_is_found_beneath_the_noise(path: Path) -> None:
    ids, others = [f"d{i}" for i in range(20)], [f"x{i}" for i in range(20)]
    rows = [
        exchange(f"q{n}", shuffled(ids, n), shuffled(ids, n + 500), shuffled(ids, n + 900))
        for n in range(100)
    ]
    rows[42] = exchange("changed", ids, others, shuffled(ids, 1))
    differences = report_of(path, rows).differences
    assert differences.queries[0].query == "changed"
    assert differences.queries[0].excess is not None
    assert differences.queries[0].excess > 0.3


def test_without_a_repeat_there_is_no_noise_floor(path: Path) -> None:
    report = report_of(path, [exchange("q", ["a"], ["b"]), exchange("r", ["a"], ["a"])])
    found = report.to_dict()
    assert found["noise_floor"] == {"value": None, "quantile": 0.95, "n": 0}
    assert found["differing"]["value"] is None
    assert found["agreement"]["beyond_noise"]["rbo"]["value"] is None
    assert [entry["query"] for entry in found["queries"]] == ["q"]


def test_two_empty_answers_say_nothing_of_similarity(path: Path) -> None:
    report = report_of(path, [exchange("none", [], []), exchange("q", ["a"], [])])
    assert report.differences.candidate["overlap"][:1] == (0.0,)
    assert report.differences.candidate["overlap"].n == 1


def test_failures_are_counted_by_kind_and_not_compared(path: Path) -> None:
    slow = [exchange("slow", ["a"], failed("timeout")) for _ in range(3)]
    rows = [*slow, exchange("q", ["a"], ["a"])]
    report = report_of(path, [*rows, exchange("both", failed("status"), failed("status"))])
    kinds = {(error.role, error.kind): (error.count, error.query) for error in report.errors}
    assert kinds == {
        ("primary", "status"): (1, "both"),
        ("candidate", "timeout"): (3, "slow"),
        ("candidate", "status"): (1, "both"),
    }
    assert report.to_dict()["failed_alone"] == {"candidate": 3, "primary": 0}
    assert report.counts["compared"] == 1


def test_latencies_stand_side_by_side(path: Path) -> None:
    rows = [exchange(f"q{n}", found(["a"], n), found(["a"], 2 * n), found(["a"], n)) for n in range(1, 401)]
    roles = report_of(path, rows).to_dict()["latency"]["roles"]
    assert [(row["role"], row["p50"]["value"], row["p95"]["value"]) for row in roles] == [
        ("primary", 200.0, 380.0),
        ("candidate", 400.0, 760.0),
        ("repeat", 200.0, 380.0),
    ]
    assert roles[0]["p50"]["low"] < 200 < roles[0]["p50"]["high"]
    assert roles[0]["p50"]["n"] == 400


def test_the_intervals_of_latencies_are_over_clients_if_they_are_named(path: Path) -> None:
    rows = [exchange(f"q{n}", ["a"], ["a"], client_id=f"client {n % 25}") for n in range(100)]
    latency = report_of(path, rows).to_dict()["latency"]
    assert (latency["unit"], latency["roles"][0]["p50"]["n"]) == ("client", 25)


def judged_report(path: Path, judged: Judged) -> ShadowReport:
    rows = [
        exchange("VPN  setup", ["a", "b"], ["b", "c"], ["a", "b"]),
        exchange("unknown", ["a"], ["z"], ["a"]),
        exchange("dns", ["d"], ["d"], ["d"]),
    ]
    return build_report(
        read_traffic([write_log(path, rows)]), ReportSettings(measures=("RR@10", "nDCG@10")), judged
    )


QRELS = {"q1": {"b": 1, "a": 0}, "q2": {"d": 1}, "q9": {"y": 1}}
JUDGED = Judged(Qrels(QRELS), {"vpn setup": "q1", "dns": "q2", "other": "q9"})


def test_judged_measures_are_those_of_compare(path: Path) -> None:
    report = judged_report(path, JUDGED)
    qrels = {query: QRELS[query] for query in ("q1", "q2")}
    expected = compare(
        qrels, {"q1": ["a", "b"], "q2": ["d"]}, {"q1": ["b", "c"], "q2": ["d"]}, ["RR@10", "nDCG@10"]
    )
    measures = report.to_dict()["measures"]
    assert [row["difference"] for row in measures] == [row.difference.to_dict() for row in expected.rows]
    assert (measures[0]["primary"], measures[0]["candidate"]) == (0.75, 1.0)


def test_only_documents_without_a_judgment_are_to_be_judged(path: Path) -> None:
    pairs = judged_report(path, JUDGED).judge_next
    chosen = {(pair.query, pair.query_id, pair.doc_id, pair.shown_by) for pair in pairs}
    assert chosen == {
        ("unknown", None, "a", "primary"),
        ("unknown", None, "z", "candidate"),
        ("VPN  setup", "q1", "c", "candidate"),
    }
    assert [pair.weight for pair in pairs] == sorted((pair.weight for pair in pairs), reverse=True)


def test_judgments_of_other_queries_leave_the_measures_undefined(path: Path) -> None:
    assert judged_report(path, Judged(Qrels({"q9": {"y": 1}}))).to_dict()["measures"] is None


def test_the_drops_of_all_processes_are_added(tmp_path: Path) -> None:
    logs = [
        write_log(tmp_path / name, [exchange("q", ["a"], ["a"])], dropped=n)
        for name, n in (("a", 3), ("b", 4))
    ]
    report = build_report(read_traffic(logs), ReportSettings())
    assert report.to_dict()["mirror"] == {
        "requests": 9,
        "mirrored": 2,
        "logged": 2,
        "log_dropped": 0,
        "late": 0,
        "left_out": {"queue full": 7},
        "dropped": 7,
    }


def test_without_counts_the_drops_are_unknown(path: Path) -> None:
    content = Path(write_log(path, [exchange("q", ["a"], ["a"])])).read_text().splitlines()
    path.write_text("\n".join(content[:-1]) + "\n")
    report = build_report(read_traffic([str(path)]), ReportSettings())
    assert report.to_dict()["mirror"] == {"left_out": {}, "dropped": None}


def test_a_request_without_a_text_is_named_by_its_digest(path: Path) -> None:
    report = report_of(path, [exchange(None, ["a"], ["b"])])
    assert report.differences.queries[0].query == "GET /search d1"


def test_half_an_exchange_is_counted_and_left_out(path: Path) -> None:
    write_log(path, [exchange("q", ["a"], ["a"]), exchange("r", ["a"], ["a"])])
    content = [line for line in path.read_text().splitlines() if '"r"' not in line or "primary" in line]
    path.write_text("\n".join(content) + '\n{"cut off\n')
    traffic = read_traffic([str(path)])
    assert (len(traffic.exchanges), traffic.incomplete) == (1, 1)
    assert [(problem.kind, problem.count) for problem in traffic.problems] == [("not JSON", 1)]


def test_another_log_is_refused(path: Path) -> None:
    path.write_text(json.dumps({"query_id": "1", "user_query": "vpn", "timestamp": "2026-01-01T00:00:00Z"}))
    with pytest.raises(FormatError, match="expected the log of a shadow"):
        read_traffic([str(path)])
