"""The page Annotate: a rater judges pairs, and every action is saved."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.workflows.annotation import project_judgments
from tests.web.dashboards import create_annotation_project, open_dashboard, save_experiments, token_of


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = save_experiments(tmp_path)
    create_annotation_project(tmp_path, store)
    return store


@pytest.fixture
def client(store: Path) -> TestClient:
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    return client


def pair_of(client: TestClient, rater: str = "rater 1") -> int:
    turn = client.get("/annotate/shop.json", params={"rater": rater}).json()
    return int(turn["assignment"]["pair"])


def test_projects_are_listed_with_their_progress(client: TestClient) -> None:
    page = client.get("/annotate").text
    assert 'data-href="/annotate/shop"' in page
    assert client.get("/annotate.json").json()["projects"][0]["wanted"] == 8


def test_a_rater_without_a_name_is_asked_for_it(client: TestClient) -> None:
    assert "Who judges?" in client.get("/annotate/shop").text


def test_grades_are_saved_until_all_pairs_are_judged(client: TestClient, store: Path) -> None:
    for grade in (0, 1, 2, 2):
        form = {"rater": "rater 1", "pair": str(pair_of(client)), "grade": str(grade)}
        page = client.post("/annotate/shop/grade", data=form)
        assert page.status_code == 200, page.text
    assert "rater 1 · 4 judged" in page.text
    judgments = project_judgments("shop", str(store))
    assert sorted(judgments.frame["grade"].to_list()) == [0, 1, 2, 2]
    assert set(judgments.judges) == {"rater 1"}


def test_a_pair_that_cannot_be_rated_keeps_the_reason(client: TestClient, store: Path) -> None:
    form = {"rater": "rater 1", "pair": str(pair_of(client)), "reason": "no text"}
    client.post("/annotate/shop/cannot-rate", data=form)
    frame = project_judgments("shop", str(store)).frame
    assert frame.select("grade", "note").rows() == [(None, "no text")]


def test_a_pair_is_set_aside_skipped_and_taken_back(client: TestClient) -> None:
    first = pair_of(client)
    client.post("/annotate/shop/later", data={"rater": "rater 1", "pair": str(first)})
    second = pair_of(client)
    client.post("/annotate/shop/skip", data={"rater": "rater 1", "pair": str(second)})
    assert pair_of(client) not in (first, second)
    client.post("/annotate/shop/undo", data={"rater": "rater 1"})
    assert pair_of(client) == second


def test_one_query_at_once_goes_on_after_the_pair_that_was_judged(client: TestClient) -> None:
    turn = client.get("/annotate/shop.json", params={"rater": "rater 1", "by": "query"}).json()
    first, second = (pair["pair"] for pair in turn["pairs"])
    form = {"rater": "rater 1", "by": "query", "pair": str(first), "grade": "2"}
    page = client.post("/annotate/shop/grade", data=form)
    assert str(page.url).endswith(f"/annotate/shop?rater=rater+1&by=query&after={first}")
    assert f'data-pair="{second}" aria-current="true"' in page.text
    assert "1 of 2 judged" in page.text


def test_a_long_document_among_others_is_cut_and_says_so(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    (tmp_path / "documents.jsonl").write_text(
        "".join(f'{{"_id": "{d}", "title": "Title {d}", "text": "{"word " * 2000}"}}\n' for d in "abx")
    )
    create_annotation_project(tmp_path, store)
    page = open_dashboard(store).get("/annotate/shop", params={"rater": "rater 1", "by": "query"}).text
    assert page.count("5,000 more characters") == 2
    assert page.count("word") == 2 * (56 + 1000)


def test_a_grade_that_the_project_does_not_have_is_refused(client: TestClient) -> None:
    form = {"rater": "rater 1", "pair": str(pair_of(client)), "grade": "7"}
    response = client.post("/annotate/shop/grade", data=form)
    assert response.status_code == 400
    assert "found 7" in response.text


def test_a_project_may_have_a_slash_in_its_name(tmp_path: Path) -> None:
    store = save_experiments(tmp_path)
    create_annotation_project(tmp_path, store, name="failures of night/hybrid")
    client = open_dashboard(store)
    client.headers.update(token_of(client))
    address = "/annotate/failures%20of%20night%2Fhybrid"
    turn = client.get(f"{address}.json", params={"rater": "rater 1"}).json()
    form = {"rater": "rater 1", "pair": str(turn["assignment"]["pair"]), "grade": "2"}
    page = client.post(f"{address}/grade", data=form)
    assert page.status_code == 200
    assert "rater 1 · 1 judged" in page.text
