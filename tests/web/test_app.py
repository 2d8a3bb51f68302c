"""The frame of the dashboard: pages with their data, errors, and what every response carries."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.core.errors import InputError
from assay.evaluation import evaluate
from assay.store.evaluations import experiment_from_evaluation
from assay.store.store import Store
from assay.web.access import Access
from assay.web.app import create_app
from assay.web.server import ServeRequest


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    with Store(tmp_path) as store:
        for name in ("words", "<b>vectors</b>"):
            evaluation = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["nDCG@10"])
            store.put(experiment_from_evaluation(evaluation, name), evaluation.scores)
    return TestClient(create_app(Access(str(tmp_path))), base_url="http://127.0.0.1:8765")


def test_a_page_and_its_data_show_the_same(client: TestClient) -> None:
    data = client.get("/experiments.json").json()
    page = client.get("/experiments")
    assert page.status_code == 200
    assert all(experiment["id"] in page.text for experiment in data["experiments"])
    assert "assay experiments list" in page.text


def test_text_of_others_is_escaped(client: TestClient) -> None:
    page = client.get("/experiments").text
    assert "<b>vectors" not in page
    assert "&lt;b&gt;vectors" in page


def test_every_response_forbids_scripts_and_styles_of_others(client: TestClient) -> None:
    for path in ("/experiments", "/experiments.json", "/no-such-page", "/static/app.js"):
        policy = client.get(path).headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy


def test_a_wrong_address_is_an_error_that_says_what_was_found(client: TestClient) -> None:
    assert client.get("/no-such-page").status_code == 404
    wrong_filter = client.get("/experiments.json", params={"where": "x y"})
    assert wrong_filter.status_code == 400
    assert "there is no field 'x'" in wrong_filter.json()["error"]
    assert client.get("/experiments.json", params={"colour": "red"}).status_code == 422


def test_other_host_names_and_changes_without_the_token_are_refused(client: TestClient) -> None:
    assert client.get("/experiments", headers={"host": "example.org"}).status_code == 403
    assert client.post("/experiments").status_code == 403


def test_another_address_is_refused_without_a_login() -> None:
    with pytest.raises(InputError, match=r"--host 0\.0\.0\.0: without a login"):
        ServeRequest(host="0.0.0.0")
