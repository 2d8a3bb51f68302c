"""The page of a saved shadow report shows what the command found, linked to its rollout."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.rollout.shadow.records import CallAnswer, Exchange
from assay.store.store import Store
from assay.workflows.shadow import ShadowReportRequest, read_shadow_report
from tests.rollout.logs import NAME, start
from tests.web.dashboards import open_dashboard


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """The dashboard of a store with a rollout and a shadow report of its name."""
    monkeypatch.chdir(tmp_path)
    store = start(tmp_path)
    lines = [json.dumps(line) for number in range(40) for line in exchange(number).to_records()]
    (tmp_path / "shadow.jsonl").write_text("".join(f"{line}\n" for line in lines))
    report = read_shadow_report(ShadowReportRequest(logs=[str(tmp_path / "shadow.jsonl")]))
    with Store(store) as opened:
        opened.save_shadow_report(NAME, report.to_dict(), {})
    return open_dashboard(Path(store))


def exchange(number: int) -> Exchange:
    """Return a request that the candidate answers in another order, and once not at all."""
    failed = CallAnswer(900.0, None, "timeout", "<b>did</b> not answer")
    candidate = CallAnswer(12.0, ["b", "a", "c"]) if number else failed
    answers = (CallAnswer(10.0, ["a", "b", "c"]), candidate, CallAnswer(11.0, ["a", "b", "c"]))
    return Exchange(f"query {number}", *answers, name=NAME, client_id=f"user-{number}")


def test_a_report_shows_what_the_command_found(client: TestClient) -> None:
    page = client.get(f"/shadow/{NAME}").text
    assert "39 of 40 requests were compared" in page
    assert "The candidate alone failed in 1 requests" in page
    assert "&lt;b&gt;did&lt;/b&gt; not answer" in page
    assert f'href="/rollouts/{NAME}"' in page
    assert client.get(f"/shadow/{NAME}.json").json()["body"]["counts"]["compared"] == 39


def test_the_rollout_leads_to_its_report(client: TestClient) -> None:
    links = client.get(f"/rollouts/{NAME}.json").json()["history"]["links"]["records"]
    assert [link["kind"] for link in links] == ["shadow"]
    assert f'href="/shadow/{links[0]["id"]}"' in client.get(f"/rollouts/{NAME}").text
    assert client.get(f"/shadow/{links[0]['id']}").status_code == 200


def test_an_unknown_report_is_refused(client: TestClient) -> None:
    assert client.get("/shadow/none").status_code == 400
