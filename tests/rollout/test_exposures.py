"""Exposures: only of counted units, once each, in forms that Assay and OpenTelemetry read."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from assay.datasets.ubi import read_events
from assay.rollout.assignment import TrafficSplit
from assay.rollout.exposures import ExposureLog, otel_exposure, query_attributes, ubi_exposure

AT = datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)


def test_queries_carry_the_arm_only_of_units_that_are_counted() -> None:
    split = TrafficSplit("a", 0.3, overrides={"tester": "treatment"})
    assert query_attributes("a", split.assign("tester")) == {}
    shown = [query_attributes("a", split.assign(f"user-{n}")) for n in range(2000)]
    assert 500 < sum(bool(attributes) for attributes in shown) < 700


def test_each_unit_is_written_once_by_all_threads_together(tmp_path: Path) -> None:
    log = ExposureLog(tmp_path / "e.jsonl", "shop")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: log.report("a", f"user-{n % 50}", "control"), range(400)))
    log.close()
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert len({line["client_id"] for line in lines}) == len(lines) == 50


def test_assay_reads_an_exposure_as_an_event_without_a_problem(tmp_path: Path) -> None:
    line = ubi_exposure("new-ranker", "user-1", "treatment", AT) | {"query_id": "q1"}
    (tmp_path / "e.jsonl").write_text(json.dumps(line) + "\n")
    events = read_events(str(tmp_path / "e.jsonl"))
    assert events.frame["action"].to_list() == ["exposure"]
    assert [p for p in events.problems if "cannot" in p.kind] == []


def test_the_open_telemetry_form_follows_the_conventions_for_feature_flags() -> None:
    event = otel_exposure("new-ranker", "user-1", "treatment", AT)
    assert event["event.name"] == "feature_flag.evaluation"
    assert event["timeUnixNano"] == "1769860800000005000"
    assert event["attributes"]["feature_flag.result.variant"] == "treatment"
    assert event["attributes"]["feature_flag.context.id"] == "user-1"
