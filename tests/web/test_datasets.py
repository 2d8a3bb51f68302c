"""The pages of evaluation sets: versions, differences, coverage, checks and pools."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from tests.web.dashboards import create_annotation_project, open_dashboard, save_experiments
from tests.web.labels import save_labels, save_second_version

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("datasets")
    store = save_labels(folder)
    save_second_version(folder, store, HOSTILE)
    create_annotation_project(folder, store)
    return open_dashboard(store)


def test_without_a_dataset_the_page_says_how_to_import_one(tmp_path: Path) -> None:
    page = open_dashboard(save_experiments(tmp_path)).get("/datasets").text
    assert "assay dataset import FOLDER --name NAME" in page


def test_each_set_is_listed_once_with_its_versions(client: TestClient) -> None:
    page = client.get("/datasets").text
    assert page.count('<tr data-href="/datasets/people"') == 1
    assert len(client.get("/datasets.json").json()["versions"]) == 3


def test_a_version_is_compared_with_its_parent(client: TestClient) -> None:
    page = client.get("/datasets/people").text
    assert "1 added, 1 dropped, 1 changed" in page
    assert "reset 1" in page
    counts = client.get("/datasets/people.json").json()["diff"]["tables"]["qrels"]["counts"]
    assert (counts["added"], counts["dropped"], counts["changed"]) == (1, 1, 1)


def test_a_version_is_compared_with_any_other(client: TestClient) -> None:
    versions = client.get("/datasets/people.json").json()["versions"]
    newest, oldest = versions[0]["digest"][:8], versions[-1]["digest"][:8]
    data = client.get("/datasets/people.json", params={"version": oldest, "against": newest}).json()
    assert data["diff"]["first"] == f"people@{newest}"
    assert "first version" in client.get("/datasets/people", params={"version": oldest}).text


def test_coverage_shows_the_judged_share_of_kept_rankings(client: TestClient) -> None:
    rows = client.get("/datasets/people.json", params={"tab": "coverage"}).json()["coverage"]
    assert {row["name"] for row in rows} == {"words", "vectors"}
    versions = client.get("/datasets/people.json").json()["versions"]
    old = {"tab": "coverage", "version": versions[-1]["digest"][:8]}
    shares = [row["judged@10"] for row in client.get("/datasets/people.json", params=old).json()["coverage"]]
    assert [(share["value"], share["n"]) for share in shares] == [(1.0, 20), (1.0, 20)]
    assert "were scored by people@" in client.get("/datasets/people", params=old).text


def test_a_set_whose_name_has_a_slash_is_opened(tmp_path: Path) -> None:
    save_experiments(tmp_path)
    store, name = str(tmp_path / "store"), "beir/scifact"
    import_dataset(ImportDatasetRequest(name=name, source=str(tmp_path / "qrels.txt"), store=store))
    client = open_dashboard(tmp_path / "store")
    assert f'href="/datasets/{name}"' in client.get("/datasets").text
    assert name in client.get(f"/datasets/{name}").text
    assert len(client.get(f"/datasets/{name}.json").json()["versions"]) == 1


def test_checks_have_a_severity_and_a_fix(client: TestClient) -> None:
    page = client.get("/datasets/people", params={"tab": "checks"}).text
    assert "Fix:" in page
    data = client.get("/datasets/people.json", params={"tab": "checks"}).json()["checks"]
    assert data["counts"]["labels"] == 60


def test_pools_are_the_projects_with_pairs_of_its_queries(client: TestClient) -> None:
    pools = client.get("/datasets/people.json", params={"tab": "pools"}).json()["pools"]
    assert [(pool["name"], pool["pairs_of_queries"], pool["labelled"]) for pool in pools] == [("shop", 4, 2)]


def test_wrong_names_and_tabs_are_errors_that_say_what_there_is(client: TestClient) -> None:
    missing = client.get("/datasets/poeple.json")
    assert missing.status_code == 400
    assert "people" in missing.json()["error"]
    assert "diff, coverage, checks, pools" in client.get("/datasets/people.json?tab=x").json()["error"]


def test_notes_of_others_are_text(client: TestClient) -> None:
    for path in ("/datasets", "/datasets/people"):
        page = client.get(path).text
        assert HOSTILE not in page
        assert "&lt;script&gt;" in page
