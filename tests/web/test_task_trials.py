"""Three questions that a newcomer answers on the pages of the demo, within a few actions each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browser import open_browser, serve

WAIT = 60_000  # milliseconds: the machine may be busy


class Visitor:
    """Someone at a page, whose clicks, choices and typed values are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.actions = page, 0

    def click(self, link: str) -> None:
        """Open a link by its name."""
        self.page.get_by_role("link", name=link, exact=True).click()
        self.actions += 1

    def choose(self, label: str, option: str) -> None:
        """Choose the first option that begins with a text."""
        field = self.page.get_by_role("combobox", name=label)
        value = field.locator("option", has_text=option).first.get_attribute("value")
        field.select_option(value)
        self.actions += 1

    def enter(self, label: str, text: str) -> None:
        """Type a value and confirm it."""
        self.page.get_by_label(label).fill(text)
        self.page.keyboard.press("Enter")
        self.actions += 1


@pytest.fixture(scope="module")
def opened(demo: Path) -> Iterator[tuple[str, Browser]]:
    with serve(demo / "store") as address, open_browser() as browser:
        yield address, browser


@pytest.fixture
def visitor(opened: tuple[str, Browser]) -> Iterator[Visitor]:
    """A visitor who has opened Home."""
    address, browser = opened
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(WAIT)
    page.goto(address)
    yield Visitor(page)
    page.close()


def test_which_change_broke_tail_queries_last_week(visitor: Visitor) -> None:
    expect(visitor.page.locator(".verdict")).to_contain_text("changed: dimensions 160 → 30")
    visitor.click("Compare before and after")
    visitor.choose("Slices", "frequency")
    tail = visitor.page.locator(".cmp tr", has_text="frequency: tail").first
    expect(tail).to_contain_text("−0.0700", timeout=WAIT)
    expect(tail).to_contain_text("worse")
    assert visitor.actions <= 2


def test_which_five_queries_to_judge_next(visitor: Visitor) -> None:
    visitor.click("Judges")
    visitor.choose("Labels of people", "helpcentre-sample")
    visitor.choose("Labels of the model", "helpcentre-model")
    visitor.enter("Pairs to judge next", "60")
    expect(visitor.page.locator("#next tbody tr")).to_have_count(5, timeout=WAIT)
    assert visitor.actions <= 4


def test_which_index_meets_two_floors_at_the_highest_throughput(visitor: Visitor) -> None:
    visitor.click("Indexes")
    visitor.enter("recall, at least, typed", "0.9")
    visitor.enter("robustness-0.3, at least, typed", "0.99")
    expect(visitor.page.locator("#trials thead")).to_contain_text("robustness-0.3 ≥ 0.9900", timeout=WAIT)
    expect(visitor.page.locator("#chosen h2")).to_contain_text("Chosen: faiss.")
    reasons = visitor.page.locator("#trials .why").all_inner_texts()
    assert len(reasons) == 6
    assert all(reasons)
    assert visitor.actions <= 3
