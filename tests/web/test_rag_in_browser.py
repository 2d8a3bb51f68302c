"""The pages of studies of answers in a real browser: from the list to the passages of one question."""

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.rag.saved_studies import NAME, save_small_study
from tests.web.axe import violations
from tests.web.browser import open_browser, serve


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page whose scripts must not fail, and the address of the dashboard."""
    errors: list[str] = []
    with serve(save_small_study(tmp_path_factory.mktemp("rag"))) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        yield page, address
    assert errors == []


def test_keys_open_the_list_and_rows_lead_to_the_passages_of_a_question(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(address)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page).to_have_url(f"{address}/rag")
    page.get_by_role("row", name=NAME).get_by_role("cell").nth(1).click()
    expect(page.locator(".verdict h2")).to_contain_text("δ = 0.6")
    page.locator("#failed tbody tr").first.get_by_role("cell").nth(1).click()
    expect(page.locator("section.side")).to_have_count(2)
    expect(page.locator("section.side").first).to_contain_text("wrong: ")
    expect(page.locator("section.side mark").first).to_be_visible()


def test_another_delta_is_chosen_without_a_button(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/rag/{NAME}")
    page.get_by_label("robustness at δ").select_option("1")
    expect(page).to_have_url(re.compile(r"/rag/\w+\?delta=1$"))
    expect(page.get_by_role("img", name="accuracy against Robustness-1@5")).to_be_visible()


def test_another_configuration_is_set_against_the_first(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/rag/{NAME}/question?question=question-001")
    page.get_by_label("Configuration at the right").select_option("exact")
    expect(page.locator("section.side").nth(1).locator("h2")).to_have_text("exact")
    assert page.locator("main img").count() == 0  # markup in documents and replies is text


@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_pages_are_accessible_and_fit_their_window(
    dashboard: tuple[Page, str], width: int, theme: Literal["light", "dark"]
) -> None:
    page, address = dashboard
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=theme)
    for path in ("rag", f"rag/{NAME}", f"rag/{NAME}/question?question=question-001"):
        page.goto(f"{address}/{path}")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
