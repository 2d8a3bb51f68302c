"""Watchers: they act as the policy allows, any number of them act once, and a problem is never neutral."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.workflows.rollout_watch import WatchPass, WatchRolloutsRequest, parse_pause, watch_rollouts
from assay.workflows.rollouts import RolloutRequest, read_history, read_status
from tests.rollout.logs import NAME, POLICY, act, start, write_log

BETTER = {"control": (0.3, 0.05), "treatment": (0.45, 0.05)}
EMPTIER = {"control": (0.3, 0.05), "treatment": (0.45, 0.3)}
ASSAY = str(Path(sys.executable).with_name("assay"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rollout at its A/B test."""
    monkeypatch.chdir(tmp_path)
    for name in ("ASSAY_TOKEN", "ASSAY_SPLITS_FILE", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    store = start(tmp_path)
    act(store, "advance")
    return store


def look(store: str) -> WatchPass:
    return watch_rollouts(WatchRolloutsRequest(store=store))


def state(store: str) -> tuple[str, str]:
    rollout = read_status(RolloutRequest(name=NAME, store=store, events=[])).rollout
    return rollout.position.state, rollout.step.stage


def test_a_breached_guardrail_rolls_back(store: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", EMPTIER)
    result = look(store)
    assert (result.rollouts[0].action, result.exit_code) == ("rollback", 1)
    assert result.rollouts[0].reason == "breached: zero_result not worse by more than 5 %"
    assert look(store).rollouts == []
    history = read_history(RolloutRequest(name=NAME, store=store))
    assert history.rollout.transitions[-1].actor == "assay rollout watch"
    assert history.outcome == "no: zero_result not worse by more than 5 % failed online"


def test_a_breach_rolls_back_a_rollout_that_is_held(store: str, tmp_path: Path) -> None:
    act(store, "hold", reason="a look")
    write_log(tmp_path / "log.jsonl", BETTER)
    assert look(store).rollouts[0].action == "wait"
    write_log(tmp_path / "log.jsonl", EMPTIER)
    assert look(store).rollouts[0].action == "rollback"


def test_a_good_change_is_moved_on_step_by_step(store: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", BETTER)
    assert [look(store).rollouts[0].action for _ in range(2)] == ["advance", "advance"]
    assert state(store) == ("released", "full")


def test_a_signal_only_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = start(tmp_path, POLICY.replace("[[rollout.guardrails]]", "[[rollout.signals]]"))
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", EMPTIER)
    assert look(store).rollouts[0].action == "hold"
    assert state(store) == ("held", "ab")


def test_a_dry_run_guardrail_only_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = start(tmp_path, POLICY + "dry_run = true\n")
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", {**EMPTIER, "treatment": (0.8, 0.3)})
    result = look(store).rollouts[0]
    assert result.action == "advance"
    assert result.status is not None
    evidence = result.status.rollout.transitions[-1].evidence
    assert [(e["status"], e["dry_run"]) for e in evidence if e["kind"] == "guardrail"] == [("failed", True)]


def test_a_wrong_sample_ratio_holds(store: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write_log(path, BETTER, users=4000)
    lines = path.read_text().splitlines(keepends=True)
    lost = [n for n, line in enumerate(lines) if '"variant": "treatment"' in line][::3]
    path.write_text("".join(line for n, line in enumerate(lines) if n not in lost))
    assert look(store).rollouts[0].action == "hold"


def test_events_that_cannot_be_read_are_a_problem_and_move_nothing(store: str, tmp_path: Path) -> None:
    result = look(store)  # the log is not there
    assert (result.rollouts[0].action, result.exit_code) == ("none", 3)
    assert "log.jsonl" in result.rollouts[0].problem
    assert state_without_events(store) == "running"


def state_without_events(store: str) -> str:
    return read_history(RolloutRequest(name=NAME, store=store)).rollout.position.state


def test_one_rollout_with_a_problem_does_not_stop_the_others(store: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("")
    (tmp_path / "other").mkdir()
    start(tmp_path / "other", POLICY.replace("log.jsonl", "no.jsonl"), name="other", store=store)
    act(store, "advance", name="other")
    write_log(tmp_path / "log.jsonl", EMPTIER)
    actions = {one.name: one.action for one in look(store).rollouts}
    assert actions == {"other": "none", NAME: "rollback"}


def test_of_many_watchers_at_once_one_acts(store: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", EMPTIER)
    with ThreadPoolExecutor(4) as pool:
        results = [one for done in pool.map(look, [store] * 4) for one in done.rollouts]
    assert sum(one.action == "rollback" for one in results) == 1
    assert all("was first" in one.reason for one in results if one.action == "none")
    history = read_history(RolloutRequest(name=NAME, store=store)).rollout
    assert [move.action for move in history.transitions] == ["start", "advance", "rollback"]


def test_as_a_daemon_it_acts_on_new_events_and_stops_on_sigterm(store: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", BETTER, users=40)
    command = [ASSAY, "rollout", "watch", "--all", "--every", "1s", "--store", store]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        assert f"{NAME}: wait:" in process.stdout.readline()
        write_log(tmp_path / "new.jsonl", EMPTIER)
        os.replace(tmp_path / "new.jsonl", tmp_path / "log.jsonl")
        lines = iter(process.stdout.readline, "")
        assert any(f"{NAME}: rollback: breached" in line for line in lines)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_once_prints_json_and_says_by_its_exit_code_what_it_did(store: str, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", EMPTIER)
    command = [ASSAY, "rollout", "watch", NAME, "--once", "--store", store, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["rollouts"][0]["status"]["state"] == "reverted"


@pytest.mark.parametrize("text", ["", "5", "0s", "x m", "25h", "nans"])
def test_a_pause_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--every expects 1s to 24h"):
        parse_pause(text)
