"""The pages of studies of answers: what a study found, the questions that fail, and one of them in full."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.store.rag_studies import RagStudies
from assay.store.store import Store
from tests.rag.saved_studies import ATTACK, NAME, save_small_study
from tests.web.dashboards import open_dashboard


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small_study(tmp_path_factory.mktemp("rag"))


@pytest.fixture(scope="module")
def client(store: Path) -> TestClient:
    return open_dashboard(store)


def test_the_list_leads_to_each_study(client: TestClient, store: Path) -> None:
    with Store(str(store)) as opened:
        (stored,) = RagStudies(opened).find()
    page = client.get("/rag").text
    assert f'href="/rag/{stored.id}"' in page
    assert "0.6 <span" in page
    (listed,) = client.get("/rag.json").json()["studies"]
    assert (listed["name"], listed["delta"]["value"], listed["questions"]) == (NAME, 0.6, 12)
    assert "answers" not in listed


def test_a_study_shows_its_delta_first_and_both_charts_of_accuracy(client: TestClient) -> None:
    page = client.get(f"/rag/{NAME}").text
    assert "δ = 0.6 (0.6 … 0.6): where accuracy bends." in page
    for x_name in ("mean recall@5", "Robustness-0.6@5"):
        assert f"accuracy against {x_name} of 3 configurations" in page
    assert "accuracy at 5 levels of recall, with an isotonic fit" in page
    value = client.get(f"/rag/{NAME}.json").json()
    assert {"configurations", "delta", "curves", "predictors", "causes", "failed_questions"} <= value.keys()


def test_the_chart_of_robustness_has_the_delta_that_is_chosen(client: TestClient) -> None:
    page = client.get(f"/rag/{NAME}?delta=1").text
    assert "accuracy against Robustness-1@5 of 3 configurations" in page
    assert '<option value="1" selected>1</option>' in page


def test_questions_fail_for_the_cause_that_was_planted(client: TestClient) -> None:
    value = client.get(f"/rag/{NAME}.json").json()
    causes = {cause for failed in value["failed_questions"] for cause in failed["causes"].values()}
    assert causes == {"not retrieved", "declined", "misread"}
    assert all(failed["with_exact"] == "" for failed in value["failed_questions"])
    assert "right with exact search" in client.get(f"/rag/{NAME}").text


def test_a_question_shows_a_wrong_and_a_right_configuration_side_by_side(client: TestClient) -> None:
    failed = client.get(f"/rag/{NAME}.json").json()["failed_questions"][0]
    address = f"/rag/{NAME}/question"
    page = client.get(address, params={"question": failed["question"]}).text
    assert "wrong: " in page
    assert "right, resting on documents" in page
    assert f"<mark>{failed['answers'][0]}</mark>" in page
    sides = client.get(f"{address}.json", params={"question": failed["question"]}).json()["sides"]
    wrong, right = (side["contained"] for side in sides)
    assert (wrong, right) == (0.0, 1.0)
    names = [side["configuration"] for side in sides]
    chosen = {"question": failed["question"], "left": names[1], "right": names[0]}
    turned = client.get(f"{address}.json", params=chosen).json()["sides"]
    assert [side["configuration"] for side in turned] == names[::-1]


def test_texts_of_models_and_documents_are_never_markup(client: TestClient) -> None:
    failed = client.get(f"/rag/{NAME}.json").json()["failed_questions"]
    pages = [client.get(f"/rag/{NAME}/question", params={"question": f["question"]}).text for f in failed]
    assert any("&lt;img src=x onerror" in page for page in pages)
    assert not any(ATTACK in page for page in pages)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/rag/none", "there is no RAG study"),
        (f"/rag/{NAME}/question?question=none", "has no question"),
        (f"/rag/{NAME}/question?question=question-001&left=none", "expected a configuration, one of"),
    ],
)
def test_what_is_not_there_is_refused_in_words(client: TestClient, path: str, problem: str) -> None:
    response = client.get(path)
    assert response.status_code == 400
    assert problem in response.text


def test_a_store_without_studies_says_how_to_make_one(tmp_path: Path) -> None:
    with Store(str(tmp_path / "store")):
        pass
    page = open_dashboard(tmp_path / "store").get("/rag").text
    assert "No study of answers yet" in page
    assert "assay rag run" in page
