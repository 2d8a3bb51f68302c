"""The page of a saved shadow report shows what the command found, linked to its rollout."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.rollout.logs import NAME, start
from tests.web.dashboards import open_dashboard
from tests.web.releases import save_shadow_report


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """The dashboard of a store with a rollout and a shadow report of its name."""
    monkeypatch.chdir(tmp_path)
    store = start(tmp_path)
    save_shadow_report(tmp_path, store, "<b>shoes</b>")
    return open_dashboard(Path(store))


def test_a_report_shows_what_the_command_found(client: TestClient) -> None:
    page = client.get(f"/shadow/{NAME}").text
    assert "39 of 40 requests were compared" in page
    assert "The candidate alone failed in 1 requests" in page
    assert "same first document" in page
    assert "&lt;b&gt;shoes&lt;/b&gt; was not answered" in page
    assert f'href="/rollouts/{NAME}"' in page
    assert client.get(f"/shadow/{NAME}.json").json()["body"]["counts"]["compared"] == 39


def test_the_rollout_leads_to_its_report(client: TestClient) -> None:
    links = client.get(f"/rollouts/{NAME}.json").json()["history"]["links"]["records"]
    assert [link["kind"] for link in links] == ["shadow"]
    assert f'href="/shadow/{links[0]["id"]}"' in client.get(f"/rollouts/{NAME}").text
    assert client.get(f"/shadow/{links[0]['id']}").status_code == 200


def test_an_unknown_report_is_refused(client: TestClient) -> None:
    assert client.get("/shadow/none").status_code == 400
