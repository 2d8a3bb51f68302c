"""From a bar to its queries, and from these to annotation, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from assay.workflows.annotation import ListProjectsRequest, list_projects
from tests.web.browser import open_browser, serve
from tests.web.dashboards import save_experiments


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_experiments(tmp_path_factory.mktemp("failures"))


@pytest.fixture(scope="module")
def page(store: Path) -> Iterator[Page]:
    """The page Failures, whose scripts must not fail."""
    errors: list[str] = []
    with serve(store) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/failures?experiment=words&measure=RR@10&below=0.9")
        yield page
    assert errors == []


def test_a_bar_filters_queries_and_t_sends_them_to_annotation(page: Page, store: Path) -> None:
    rows = page.locator(".failing tbody tr")
    expect(rows).to_have_count(6)
    page.locator(".bars tr", has_text="category: b").locator(".iv").click()
    expect(rows).to_have_count(3)
    expect(page.locator("#queries header").first).to_contain_text("category: b")
    page.keyboard.press("t")
    expect(page.locator("h1")).to_have_text("failures of words")
    (project,) = list_projects(ListProjectsRequest(store=str(store))).projects
    assert project.project.counts == {"counted": 3, "gold": 0, "training": 0}


def test_what_cannot_be_sent_is_said_beside_the_button(page: Page) -> None:
    page.goto(page.url.partition("/annotate")[0] + "/failures?experiment=words&measure=RR@10&below=0.9")
    page.route(
        "**/failures/annotate", lambda route: route.fulfill(status=400, json={"error": "all are judged"})
    )
    page.keyboard.press("t")
    expect(page.get_by_role("alert")).to_have_text("all are judged")
