"""The page of one experiment: scores with intervals, and its note, tags and pin."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.store.store import Store
from tests.web.dashboards import open_dashboard, save_experiments, token_of


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return save_experiments(tmp_path)


@pytest.fixture
def client(store: Path) -> TestClient:
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    return client


def test_scores_have_intervals_and_n(client: TestClient) -> None:
    page = client.get("/experiments/words").text
    assert "RR@10" in page
    assert "0.5000" in page
    assert client.get("/experiments/words.json").json()["name"] == "words"


def test_note_tags_and_pin_are_changed(client: TestClient, store: Path) -> None:
    client.post("/experiments/words/note", data={"text": "<b>first</b>"})
    client.post("/experiments/words/tag", data={"tag": "nightly"})
    page = client.post("/experiments/words/pin", data={"pinned": "true"}).text
    assert "&lt;b&gt;first&lt;/b&gt;" in page
    with Store(store) as opened:
        saved = opened.get("words")
        assert (saved.note, saved.tags, saved.pinned) == ("<b>first</b>", ("nightly",), True)
    client.post("/experiments/words/tag", data={"tag": "nightly", "remove": "true"})
    with Store(store) as opened:
        assert opened.get("words").tags == ()


def test_an_unknown_experiment_is_an_error_page(client: TestClient) -> None:
    response = client.get("/experiments/pictures")
    assert response.status_code == 400
    assert "there is no experiment &#39;pictures&#39;" in response.text
