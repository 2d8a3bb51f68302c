"""The main job of each page in a real browser, by keyboard where people use it."""

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from assay.workflows.annotation import project_judgments
from tests.web.dashboards import create_annotation_project, save_experiments


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dashboard")
    store = save_experiments(folder)
    create_annotation_project(folder, store)
    return store


def test_two_raters_judge_a_queue_by_keyboard_at_once(
    browser: Browser, page: Page, address: str, store: Path
) -> None:
    other = browser.new_context().new_page()
    pages = {"rater 1": page, "rater 2": other}
    for rater, own in pages.items():
        own.goto(f"{address}/annotate/shop")
        own.get_by_label("Your name").fill(rater)
        own.keyboard.press("Enter")
    for number in range(1, 5):
        for rater, own in pages.items():
            own.keyboard.press("2" if rater == "rater 1" else "0")
            expect(own.locator(".head")).to_contain_text(f"{rater} · {number} judged")
    judgments = project_judgments("shop", str(store))
    assert judgments.frame.group_by("judge").len().sort("judge").rows() == [("rater 1", 4), ("rater 2", 4)]
    assert set(judgments.take(pl.col("judge") == "rater 1").grades) == {2.0}


def test_experiments_are_ticked_compared_and_a_query_is_opened(page: Page, address: str) -> None:
    page.goto(f"{address}/experiments")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.keyboard.press("c")
    expect(page.locator("h1")).to_have_text("Compare")
    expect(page.locator(".cmp")).to_contain_text("RR@10")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("reset")
    expect(page.locator(".duel")).to_contain_text("Title a")


def test_from_a_comparison_to_a_query_and_the_annotation_of_its_unjudged(
    page: Page, address: str, store: Path
) -> None:
    page.goto(f"{address}/compare?baseline=words&candidate=vectors")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".duel")).to_contain_text("Title x")
    query = page.locator(".qhead .mono").inner_text()
    page.keyboard.press("t")
    expect(page.locator("h1")).to_have_text(f"query {query}")
    page.get_by_label("Your name").fill("rater 3")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Title x")
    page.keyboard.press("1")
    expect(page.locator(".head")).to_contain_text("rater 3 · 1 judged")
    judgments = project_judgments(f"query {query}", str(store))
    assert judgments.frame.select("query_id", "doc_id", "grade").rows() == [(query, "x", 1)]


def test_keys_open_pages_and_the_theme_is_kept(page: Page, address: str) -> None:
    page.goto(f"{address}/experiments")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.locator("h1")).to_have_text("Annotate")
    page.get_by_label("Switch light and dark").click()
    theme = page.locator("html").get_attribute("data-theme")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == theme
