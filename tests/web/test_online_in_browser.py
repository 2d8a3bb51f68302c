"""The online pages in a real browser: from the list to a test, its metrics over time, and its experiment."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser import open_browser, serve
from tests.web.dashboards import save_experiments
from tests.web.online_evidence import analyse, save_interleaving, save_metrics, save_releases, save_test


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, str]]:
    """A page whose scripts must not fail, and the address of the dashboard."""
    store = save_experiments(tmp_path_factory.mktemp("online"))
    save_releases(store, reversed_at=5)
    save_test(store, "vectors", analyse(), "words", "vectors")
    save_interleaving(store)
    save_metrics(store)
    errors: list[str] = []
    with serve(store) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        yield page, address
    assert errors == []


def test_keys_open_the_list_and_a_row_opens_its_test(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(address)
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page).to_have_url(f"{address}/online")
    expect(page.get_by_role("link", name="Online", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("row", name="vectors Ready to ship").get_by_role("cell").nth(3).click()
    expect(page.locator("h1")).to_have_text("vectors")
    expect(page.locator(".verdict h2").first).to_have_text("Ready to ship")


def test_another_metric_is_chosen_without_a_button(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/online/tests/vectors")
    page.get_by_label("Over time and by slice").select_option("reformulation")
    expect(page).to_have_url(re.compile(r"/online/tests/\w+\?metric=reformulation#over-time$"))
    chart = page.get_by_role("img", name="relative difference of reformulation over 14 points")
    expect(chart).to_be_visible()
    page.get_by_text("The same as a table").first.click()
    expect(page.locator("#over-time details[open] tbody tr")).to_have_count(14)


def test_a_test_leads_to_its_experiment_and_back(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/online/tests/vectors")
    page.get_by_role("link", name="vectors", exact=True).click()
    expect(page.locator("h1")).to_have_text("vectors")
    page.locator("#online").get_by_role("link", name="vectors").click()
    expect(page.locator("#ratio")).to_be_visible()


def test_a_metric_of_the_log_is_chosen_by_its_row(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/online")
    page.locator("#metrics").get_by_role("row", name="zero_result").click()
    expect(page.locator("#metrics h3").first).to_have_text("zero_result")
    expect(page.locator("tr[aria-selected=true]")).to_contain_text("zero_result")


def test_a_reversed_test_is_opened_from_its_warning(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.goto(f"{address}/online")
    page.get_by_role("link", name="Offline against online").click()
    warning = page.locator(".verdict", has_text="won offline and lost online")
    expect(warning).to_contain_text("changed corpus")
    warning.get_by_role("link", name="release 5").click()
    expect(page.locator("h1")).to_have_text("release 5")


def test_at_phone_width_only_tables_scroll_sideways(dashboard: tuple[Page, str]) -> None:
    page, address = dashboard
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("online", "online/tests/vectors", "online/interleavings/interleaved", "online/predict"):
        page.goto(f"{address}/{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        wide = "[...document.querySelectorAll('main *')].filter(e => e.scrollWidth > e.clientWidth + 1 && "
        wide += "getComputedStyle(e).overflowX === 'auto' && !e.querySelector('table')).length"
        assert page.evaluate(wide) == 0
