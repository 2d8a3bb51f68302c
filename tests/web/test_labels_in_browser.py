"""Datasets, Agreement and Judges in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from assay.workflows.annotation import ProjectRequest, progress, project_judgments
from assay.workflows.dataset_versions import ListDatasetsRequest, list_datasets
from tests.web.labels import save_clicks, save_judged, save_labels, save_second_version


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    store = save_labels(folder)
    save_judged(store, folder, "dataset:people")
    save_second_version(folder, store)
    save_clicks(store)
    return store


def test_a_difference_is_opened_from_the_list_by_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/datasets")
    row = page.locator('tr[data-href="/datasets/people"]')
    while row.get_attribute("aria-selected") != "true":
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict h2")).to_contain_text("1 added, 1 dropped, 1 changed")
    page.get_by_role("link", name="Checks").click()
    expect(page.locator("main")).to_contain_text("Fix:")


def test_disagreements_are_decided_by_keyboard(page: Page, address: str, store: Path) -> None:
    page.goto(f"{address}/agreement?dataset=people@{_first_version(store)}")
    page.get_by_label("Who decides?").fill("dee")
    page.keyboard.press("Enter")
    head = page.locator("#disagreements header")
    expect(page.locator(".case .dock")).to_contain_text("adjudicator dee")
    page.locator("h1").click()
    for number, key in enumerate("012", 1):
        page.keyboard.press(key)
        expect(head).to_contain_text(f"{number} decided")
    page.keyboard.press("u")
    expect(head).to_contain_text("2 decided")
    assert "rater=dee" in page.url
    judgments = project_judgments(f"people-{_first_version(store)}-adjudication", str(store))
    assert sorted(judgments.frame["grade"].to_list()) == [0.0, 1.0]
    assert judgments.judges == ["adjudicator dee"]


def test_what_to_judge_next_becomes_a_project_to_annotate(page: Page, address: str, store: Path) -> None:
    page.goto(f"{address}/judges")
    page.get_by_label("Labels of people").select_option(f"dataset:people@{_first_version(store)}")
    page.get_by_label("Labels of the model").select_option(index=1)
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("Name of the project").fill("next")
    page.get_by_role("button", name="Make an annotation project").click()
    expect(page.get_by_label("Your name")).to_be_visible()
    assert page.url.endswith("/annotate/next")
    assert progress(ProjectRequest(name="next", store=str(store))).pairs > 0


def _first_version(store: Path) -> str:
    """Return the digest of the first version of the labels of people."""
    versions = list_datasets(ListDatasetsRequest(name="people", store=str(store))).versions
    return versions[-1].digest[:8]


def test_from_an_experiment_to_its_judges_and_a_query_by_keyboard(page: Page, address: str) -> None:
    page.goto(f"{address}/experiments/judged")
    page.get_by_role("link", name="Who judged").click()
    expect(page.locator("#pairs tbody tr")).to_have_count(50)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("reset 0")
    expect(page.locator(".card", has_text="Judgments by judge")).to_contain_text("rater 2")
