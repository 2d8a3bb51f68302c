"""Rollouts moved by people: what is asked for, who may, and what the record says."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.core.errors import InputError
from assay.core.online_records import OnlineRecord
from assay.rollout.machine import NotAllowedError
from assay.rollout.served_splits import SplitSource
from assay.store.accounts import Accounts, ApiTokens
from assay.store.audit import list_entries
from assay.store.online_records import OnlineRecordKind
from assay.store.store import Store
from assay.workflows.rollout_people import Person
from assay.workflows.rollout_splits import SplitsRequest, publish_splits
from assay.workflows.rollouts import (
    NotReadyError,
    RolloutRequest,
    list_rollouts,
    read_history,
    read_status,
)
from tests.rollout.logs import NAME, POLICY, act, save_experiment, start, write_log

KEY = "a key for the tests only"
BETTER = {"control": (0.3, 0.05), "treatment": (0.45, 0.05)}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a new folder as one known person, without a token."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_ACTOR", "ann")
    for name in ("ASSAY_TOKEN", "ASSAY_SPLITS_FILE", "ASSAY_SPLITS_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)


def test_a_passed_gate_is_left_and_a_failed_one_only_on_purpose(tmp_path: Path) -> None:
    store = start(tmp_path)
    assert act(store, "advance").rollout.step.stage == "ab"
    failed = str(tmp_path / "failed")
    save_experiment(failed, "branch", "failed")
    store = start(tmp_path, store=failed, name="other")
    assert read_status(RolloutRequest(name="other", store=store)).rollout.step.stage == "gate"


def test_a_skipped_step_needs_a_reason_and_is_recorded(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "advance")
    with pytest.raises(NotReadyError, match="may not leave ab yet: 200 units in each arm"):
        act(store, "advance", events=[_empty_log(tmp_path)])
    with pytest.raises(InputError, match="--skip needs a reason"):
        act(store, "advance", is_skip=True, reason=" ")
    moved = act(store, "advance", is_skip=True, reason="at night", events=[_empty_log(tmp_path)]).rollout
    assert (moved.step.stage, moved.transitions[-1].is_skipped) == ("ramp", True)
    assert moved.transitions[-1].reason == "at night"


def _empty_log(folder: Path) -> str:
    write_log(folder / "few.jsonl", BETTER, users=40)
    return str(folder / "few.jsonl")


def test_a_step_that_holds_is_not_recorded_as_skipped(tmp_path: Path) -> None:
    store = start(tmp_path)
    moved = act(store, "advance", is_skip=True, reason="in a hurry").rollout
    assert not moved.transitions[-1].is_skipped


def test_events_since_the_ab_test_began_move_a_rollout_to_the_release(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", BETTER)
    assert act(store, "advance").rollout.step.label == "ramp to 100 %"
    released = act(store, "advance").rollout
    assert released.position.state == "released"
    history = read_history(RolloutRequest(name=NAME, store=store))
    assert history.justification.endswith("passed: 9 of 9 checks hold")
    assert history.outcome == "yes: ctr better was shown online"
    assert [record["kind"] for record in history.links.records] == ["ab_test", "ab_test"]
    sample = next(e for e in released.transitions[2].evidence if e["kind"] == "sample")
    assert sample["record"] == history.links.records[0]["id"]


def test_events_from_before_the_ab_test_or_of_another_rollout_do_not_count(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "advance")
    for name, at in ((NAME, datetime.now(UTC) - timedelta(hours=1)), ("another", None)):
        write_log(tmp_path / "log.jsonl", BETTER, name=name, at=at)
        status = read_status(RolloutRequest(name=NAME, store=store))
        sample = next(e for e in status.to_dict()["evidence"] if e["kind"] == "sample")
        assert sample["n"] == 0


def test_a_table_of_sums_is_read_as_events_are(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "advance")
    arm = '{"name": "%s", "n": 5000, "metrics": {"ctr": {"sum": %d, "sum_squares": %d}, %s}}'
    zero = '"zero_result": {"sum": 250, "sum_squares": 250}'
    arms = ", ".join(arm % (name, n, n, zero) for name, n in (("control", 1500), ("treatment", 1900)))
    (tmp_path / "sums.json").write_text(f'{{"variants": [{arms}]}}')
    status = read_status(RolloutRequest(name=NAME, store=store, events=[str(tmp_path / "sums.json")]))
    assert status.decision is not None
    assert status.decision.action == "advance"


def test_a_metric_may_be_named_in_every_way_and_twice_with_other_parameters(tmp_path: Path) -> None:
    names = ["clicks", "Zero-Result", "slo(300)", "slo(500)", "clicks@3"]
    rules = "".join(f'[[rollout.guardrails]]\nmetric = "{name}"\n' for name in names)
    store = start(tmp_path, POLICY + rules)
    act(store, "advance")
    log = tmp_path / "log.jsonl"
    write_log(log, BETTER)
    log.write_text(log.read_text().replace('"variant"', '"latency_ms": 400, "variant"'))
    status = read_status(RolloutRequest(name=NAME, store=store))
    found = {e["name"].split()[0]: e for e in status.to_dict()["evidence"] if e["kind"] == "guardrail"}
    assert all(found[name]["problem"] is None for name in ("clicks", "Zero-Result", "clicks@3"))
    assert found["slo(500)"]["relative"]["value"] == 0
    assert found["slo(300)"]["relative"]["value"] is None


def test_a_percentile_is_refused_with_what_to_use(tmp_path: Path) -> None:
    store = start(tmp_path, POLICY.replace('metric = "zero_result"', 'metric = "latency_p95"'))
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", BETTER, users=20)
    with pytest.raises(InputError, match="latency_p95: expected a metric of each unit"):
        act(store, "advance")


def test_a_rollback_reads_no_events_and_is_possible_from_every_live_state(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "advance")
    (tmp_path / "log.jsonl").write_text("broken\n")
    act(store, "hold", reason="a look")
    reverted = act(store, "rollback", reason="2 a.m.")
    assert (reverted.rollout.position.state, reverted.rollout.coverage) == ("reverted", 0.0)
    again = act(store, "rollback", reason="2 a.m.")
    assert (again.is_changed, len(again.rollout.transitions)) == (False, 4)
    with pytest.raises(NotAllowedError, match="start a new rollout"):
        act(store, "advance")


def test_a_move_of_what_was_not_seen_is_refused(tmp_path: Path) -> None:
    store = start(tmp_path)
    act(store, "hold", number=1)
    with pytest.raises(InputError, match="has moved since it was shown"):
        act(store, "rollback", number=1)


def test_where_approval_is_needed_two_people_give_it(tmp_path: Path) -> None:
    approvals = '\n[rollout.approvals]\npeople = ["ann", "bob"]\ncount = 2\n'
    policy = POLICY.replace('stage = "ramp"', 'stage = "ramp"\napproval = true') + approvals
    store = start(tmp_path, policy)
    with pytest.raises(NotAllowedError, match="the step after gate needs no approval"):
        act(store, "approve")
    act(store, "advance")
    write_log(tmp_path / "log.jsonl", BETTER)
    with pytest.raises(NotReadyError, match="2 approvals by ann or bob"):
        act(store, "advance")
    with pytest.raises(InputError, match=r"eve \(admin\) may not approve"):
        act(store, "approve", person=Person("eve", "admin"))
    assert act(store, "approve").is_changed
    assert not act(store, "approve").is_changed
    moved = act(store, "advance", person=Person("bob", "engineer")).rollout
    assert moved.step.stage == "ramp"


def test_an_approval_is_not_skipped_by_who_may_not_give_it(tmp_path: Path) -> None:
    approvals = '\n[rollout.approvals]\npeople = ["bob"]\n'
    last = 'stage = "full"\ncoverage = 1.0\n'
    store = start(tmp_path, POLICY.replace(last, f"{last}approval = true\n") + approvals)
    for _ in range(2):
        act(store, "advance", is_skip=True, events=[_empty_log(tmp_path)])
    with pytest.raises(NotReadyError, match=r"1 approval by bob, for full; .* an approval is not skipped"):
        act(store, "advance", is_skip=True, events=[_empty_log(tmp_path)])
    assert act(store, "approve", person=Person("bob", "engineer")).is_changed
    released = act(store, "advance", is_skip=True, events=[_empty_log(tmp_path)]).rollout
    assert (released.position.state, released.transitions[-1].is_skipped) == ("released", True)


def token_of(store: str, role: str) -> str:
    with Store(store) as opened:
        accounts, secret = Accounts(opened.database), f"assay_{role}_secret"
        if accounts.find("root") is None:
            accounts.add("root", "admin")
        accounts.add(f"the-{role}", role)
        expires_at = datetime.now(UTC) + timedelta(days=1)
        ApiTokens(opened.database).add(secret, f"the-{role}", "", role, expires_at)
    return secret


@pytest.mark.parametrize("action", ["advance", "approve", "hold", "rollback", "abandon"])
@pytest.mark.parametrize("token", ["", "viewer", "judge", "wrong"])
def test_in_a_store_with_accounts_nobody_moves_without_the_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, token: str
) -> None:
    store = start(tmp_path)
    secret = token_of(store, token if token in ("viewer", "judge") else "engineer")
    monkeypatch.setenv("ASSAY_TOKEN", "" if not token else "x" if token == "wrong" else secret)
    with pytest.raises(InputError, match=r"ASSAY_TOKEN|role engineer"):
        act(store, action)
    assert len(read_status(RolloutRequest(name=NAME, store=store)).rollout.transitions) == 1
    with Store(store) as opened:
        assert list_entries(opened.database)[0].result.startswith("refused")


def test_a_token_of_an_engineer_moves_and_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = start(tmp_path)
    monkeypatch.setenv("ASSAY_TOKEN", token_of(store, "engineer"))
    with pytest.raises(InputError, match="expected the-engineer, whose token it is, found bob"):
        act(store, "hold", actor="bob")
    assert act(store, "hold").rollout.transitions[-1].actor == "the-engineer"
    with Store(store) as opened:
        entry = list_entries(opened.database)[0]
    assert (entry.account, entry.action, entry.target) == ("the-engineer", "rollout hold", NAME)


def test_two_rollouts_may_not_have_the_same_users_of_a_group(tmp_path: Path) -> None:
    part = '\n[rollout.exclusive]\ngroup = "ranking"\nend = {}\nstart = {}\n'
    store = start(tmp_path, POLICY + part.format(0.5, 0.0))
    with pytest.raises(InputError, match=r"ranker has the units from 0 to 0\.5 of the group ranking"):
        start(tmp_path, POLICY + part.format(0.9, 0.4), name="second", store=store)
    start(tmp_path, POLICY + part.format(1.0, 0.5), name="second", store=store)
    assert len(list_rollouts(store).rollouts) == 2


def test_a_rollback_is_in_the_file_of_services_when_the_command_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "splits.json"
    monkeypatch.setenv("ASSAY_SPLITS_FILE", str(path))
    monkeypatch.setenv("ASSAY_SPLITS_KEY", KEY)
    store = start(tmp_path)
    act(store, "advance")
    source = SplitSource(path, KEY, refresh_seconds=0)
    split = source.split(NAME)
    assert split is not None
    assert (split.coverage, split.everyone) == (0.5, "")
    act(store, "rollback", reason="slow")
    split = source.split(NAME)
    assert split is not None
    assert {split.assign(f"user-{n}").arm for n in range(100)} == {"control"}


def test_whoever_writes_the_file_last_has_read_every_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_SPLITS_KEY", KEY)
    path, store, names = str(tmp_path / "splits.json"), str(tmp_path / "store"), [f"r{n}" for n in range(8)]
    for name in names:
        start(tmp_path, name=name, store=store)

    def roll_back(name: str) -> None:
        act(store, "rollback", name=name, reason="slow")
        publish_splits(SplitsRequest(path=path, store=store))

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(roll_back, names))
    source = SplitSource(path, KEY)
    assert {split.everyone for name in names if (split := source.split(name))} == {"control"}


def test_a_file_that_cannot_be_written_is_said_and_the_move_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_SPLITS_FILE", str(tmp_path / "no-folder" / "splits.json"))
    monkeypatch.setenv("ASSAY_SPLITS_KEY", KEY)
    store = start(tmp_path)
    reverted = act(store, "rollback", reason="slow")
    assert reverted.rollout.position.state == "reverted"
    assert "the move is recorded, but services do not know it yet" in reverted.notes[0]


def test_splits_are_signed_only_with_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = start(tmp_path)
    with pytest.raises(InputError, match="ASSAY_SPLITS_KEY must have the key that services know"):
        publish_splits(SplitsRequest(path=str(tmp_path / "s.json"), store=store))
    monkeypatch.setenv("ASSAY_SPLITS_KEY", KEY)
    published = publish_splits(SplitsRequest(path=str(tmp_path / "s.json"), store=store))
    assert published.to_dict()["splits"][NAME] == {
        "coverage": 0.0,
        "everyone": None,
        "arms": ["control", "treatment"],
    }


@pytest.mark.parametrize(
    ("compared", "failed", "status"),
    [(10, 0, "undecided"), (1500, 0, "passed"), (1500, 10, "passed"), (1500, 60, "failed")],
)
def test_the_shadow_step_asks_for_a_shadow_report_of_the_same_name(
    tmp_path: Path, compared: int, failed: int, status: str
) -> None:
    store = start(tmp_path, "[rollout]\n")
    act(store, "advance")
    with Store(store) as opened:
        counts = {"compared": compared, "logged": compared}
        body = {"counts": counts, "failed_alone": {"candidate": failed, "primary": 0}}
        record = OnlineRecord(NAME, "shadow", body, id="shadowrec1")
        opened.records(OnlineRecordKind("shadow")).add([record])
    evidence = read_status(RolloutRequest(name=NAME, store=store)).to_dict()["evidence"]
    shadow = next(entry for entry in evidence if entry["kind"] == "shadow")
    assert (shadow["status"], shadow["record"], shadow["n"]) == (status, "shadowrec1", compared)
