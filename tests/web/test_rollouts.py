"""The pages of rollouts: what they show, who may move one, and what is refused."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.core.records import DatasetVersion
from assay.core.tables import Qrels
from assay.store.accounts import ApiTokens
from assay.store.audit import list_entries
from assay.store.datasets import DatasetVersions
from assay.store.store import Store
from assay.web.page import Role
from assay.workflows.rollouts import StartRolloutRequest, start_rollout
from tests.rollout.logs import NAME, act, start, write_log
from tests.stores import experiment
from tests.web.dashboards import open_dashboard, token_of
from tests.web.teams import NAMES, add_accounts, create_team_app, log_in, open_client

JSON = {"accept": "application/json"}
MOVES = ("advance", "approve", "hold", "resume", "rollback", "abandon")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A rollout at its A/B test."""
    monkeypatch.chdir(tmp_path)
    for name in ("ASSAY_TOKEN", "ASSAY_SPLITS_FILE"):
        monkeypatch.delenv(name, raising=False)
    store = start(tmp_path)
    act(store, "advance")
    return store


@pytest.fixture
def client(store: str) -> TestClient:
    """The dashboard of the only person."""
    client = open_dashboard(Path(store))
    client.headers.update(token_of(client))
    return client


def moves_of(client: TestClient) -> list[str]:
    history = client.get(f"/rollouts/{NAME}.json").json()["history"]
    return [move["action"] for move in history["transitions"]]


def test_without_a_store_the_page_says_how_to_begin(tmp_path: Path) -> None:
    page = open_dashboard(tmp_path / "none").get("/rollouts")
    assert "assay rollout start NAME --experiment ID" in page.text


def test_the_list_has_every_rollout_with_its_steps_and_reason(client: TestClient) -> None:
    page = client.get("/rollouts").text
    assert f'href="/rollouts/{NAME}"' in page
    assert "25 % of the traffic is shown the candidate" in page
    assert 'aria-current="step"' in page
    assert client.get("/rollouts.json").json()["rollouts"][0]["step"] == "ab"


def test_a_rollout_answers_what_justified_it_and_whether_that_held(client: TestClient) -> None:
    page = client.get(f"/rollouts/{NAME}").text
    assert "passed: 9 of 9 checks hold" in page
    assert "not known yet: no online evidence shows a goal" in page
    assert "Roll back now" in page


def test_the_chain_leads_from_the_evaluation_set_to_the_rollout_and_back(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with Store(store) as opened:
        qrels = Qrels({"q1": {"a": 1}})
        version = DatasetVersions(opened).save(DatasetVersion("help centre", {}), {"qrels": qrels})
        result = {"verdict": "passed", "words": "passed"}
        digests = {"qrels": version.digests["qrels"]}
        candidate = opened.put(experiment("scored", result=result, digests=digests))
        main = opened.put(experiment("main"))
    start_rollout(StartRolloutRequest(name="r", experiment="scored", baseline="main", store=store))
    client = open_dashboard(Path(store))
    page = client.get("/rollouts/r").text
    for address in ("/datasets/help%20centre", f"/experiments/{main.id}", f"/experiments/{candidate.id}"):
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200
    for one, role in ((candidate, "candidate"), (main, "baseline")):
        assert 'href="/rollouts/r"' in client.get(f"/experiments/{one.id}").text
        (link,) = client.get(f"/experiments/{one.id}.json").json()["rollouts"]
        assert (link["name"], link["role"], link["state"]) == ("r", role, "running")
    history = client.get("/rollouts/r.json").json()["history"]
    assert history["links"]["dataset"] == version.label
    assert history["links"]["baseline"]["name"] == "main"


def test_the_evidence_is_that_of_the_command(client: TestClient, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", {"control": (0.3, 0.05), "treatment": (0.45, 0.05)})
    data = client.get(f"/rollouts/{NAME}/evidence.json").json()
    assert (data["decision"], data["problem"]) == ("advance", None)
    page = client.get(f"/rollouts/{NAME}/evidence").text
    assert "everything holds" in page
    assert "not worse by more than 5 %" in page


def test_events_that_cannot_be_read_leave_the_button_to_roll_back(client: TestClient) -> None:
    evidence = client.get(f"/rollouts/{NAME}/evidence").text
    assert "The events could not be read" in evidence
    assert "Roll back now" in client.get(f"/rollouts/{NAME}").text
    form = {"reason": "no events", "number": "2"}
    assert client.post(f"/rollouts/{NAME}/rollback", data=form, headers=JSON).status_code == 200
    assert moves_of(client) == ["start", "advance", "rollback"]


def test_a_move_needs_a_reason_and_the_state_that_was_shown(client: TestClient) -> None:
    address = f"/rollouts/{NAME}/rollback"
    assert "needs a reason" in client.post(address, data={"reason": " "}, headers=JSON).json()["error"]
    stale = client.post(address, data={"reason": "x", "number": "1"}, headers=JSON)
    assert (stale.status_code, "has moved since" in stale.json()["error"]) == (400, True)
    assert moves_of(client) == ["start", "advance"]


def test_what_the_policy_does_not_allow_is_said(client: TestClient, tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", {"control": (0.3, 0.05), "treatment": (0.3, 0.05)}, users=40)
    refused = client.post(f"/rollouts/{NAME}/advance", data={}, headers=JSON)
    assert refused.status_code == 400
    assert "200 units in each arm" in refused.json()["error"]
    skipped = client.post(
        f"/rollouts/{NAME}/advance", data={"skip": "true", "reason": "in a hurry"}, headers=JSON
    )
    assert skipped.json()["stage"] == "ramp"
    assert "left on purpose" in client.get(f"/rollouts/{NAME}").text


def test_a_rollout_is_started_from_a_page(client: TestClient) -> None:
    form = {"name": "a #1", "experiment": "branch"}
    response = client.post("/rollouts", data=form, headers=JSON)
    assert response.json()["location"] == "/rollouts/a%20%231"
    assert "a #1 is at gate" in client.get("/rollouts/a%20%231").text


def test_text_of_people_is_escaped(client: TestClient) -> None:
    form = {"reason": "<script>alert(1)</script>", "number": "2"}
    client.post(f"/rollouts/{NAME}/hold", data=form)
    page = client.get(f"/rollouts/{NAME}").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("role", [Role.VIEWER, Role.JUDGE])
def test_a_lower_role_moves_nothing_by_page(store: str, move: str, role: Role) -> None:
    add_accounts(store)
    app = create_team_app(store)
    client = log_in(app, role)
    response = client.post(f"/rollouts/{NAME}/{move}", data={"reason": "x"}, headers=JSON)
    assert response.status_code == 403
    assert "Roll back now" not in client.get(f"/rollouts/{NAME}").text
    assert moves_of(client) == ["start", "advance"]


def test_a_token_of_a_viewer_moves_nothing_and_one_of_an_engineer_does(store: str) -> None:
    add_accounts(store)
    results = {}
    for role in ("viewer", "engineer"):
        with Store(store) as opened:
            expires_at = datetime.now(UTC) + timedelta(days=1)
            ApiTokens(opened.database).add(f"assay_{role}", f"the-{role}", "", role, expires_at)
        client = open_client(create_team_app(store))
        headers = {**JSON, "Authorization": f"Bearer assay_{role}"}
        form = {"reason": "slow"}
        results[role] = client.post(f"/rollouts/{NAME}/rollback", data=form, headers=headers).status_code
    assert results == {"viewer": 403, "engineer": 200}


def test_a_move_by_page_is_in_the_record_and_in_the_audit_log(store: str) -> None:
    add_accounts(store)
    client = log_in(create_team_app(store), Role.ENGINEER)
    client.post(f"/rollouts/{NAME}/hold", data={"reason": "a look"})
    history = client.get(f"/rollouts/{NAME}.json").json()["history"]["transitions"]
    assert (history[-1]["actor"], history[-1]["reason"]) == (NAMES[Role.ENGINEER], "a look")
    with Store(store) as opened:
        entry = list_entries(opened.database)[0]
    assert (entry.account, entry.target) == (NAMES[Role.ENGINEER], f"/rollouts/{NAME}/hold")
