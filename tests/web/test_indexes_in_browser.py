"""Floors that are dragged in a real browser."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.web.browser import open_browser, serve
from tests.web.dashboards import save_experiments
from tests.web.trials import save_known_trials

REPLACED = ("htmx:sendAbort", "htmx:afterRequest")  # what htmx says of a request that a newer floor ended


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page Indexes, whose scripts must not fail."""
    store = save_experiments(tmp_path_factory.mktemp("indexes"))
    save_known_trials(store)
    errors: list[str] = []
    with serve(store) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{address}/indexes?recall=0.89")
        yield page
    assert [error for error in errors if not error.startswith(REPLACED)] == []


def test_dragging_floors_changes_the_choice_and_the_address(page: Page) -> None:
    title = page.locator("#chosen h2")
    expect(title).to_contain_text("engines.even")
    recall = page.locator("input[name=recall]")
    box = recall.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10, steps=5)
    page.mouse.up()
    expect(title).to_contain_text("engines.exact")
    expect(page.locator("#trials .win")).to_contain_text("engines.exact")
    expect(page).to_have_url(re.compile("[&?]recall=1&"))  # the answer to the last move
    recall.focus()
    page.keyboard.press("Home")
    expect(title).to_contain_text("engines.quick")
    expect(page.locator("label", has=recall).locator("output")).to_have_text("any")
    page.reload()
    expect(title).to_contain_text("engines.quick")


def test_a_floor_is_dragged_on_the_chart_and_typed(page: Page) -> None:
    title = page.locator("#chosen h2")
    typed = page.locator("[data-typed=recall]")
    typed.fill("0.86")
    page.keyboard.press("Enter")
    expect(title).to_contain_text("engines.even")
    expect(page).to_have_url(re.compile("[&?]recall=0.86&"))
    rule = page.locator("#frontier-recall .role-mark.mark-rule line").first
    box, plot = rule.bounding_box(), page.locator("#frontier-recall svg").bounding_box()
    assert box is not None
    assert plot is not None
    page.mouse.move(box["x"], box["y"] + 40)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 4, box["y"] + 60, steps=5)
    expect(title).to_contain_text("engines.exact")  # while the floor is still held
    page.mouse.up()
    expect(page.locator("#trials .win")).to_contain_text("engines.exact")
    assert float(typed.input_value()) == 1.0


def test_charts_are_as_wide_as_their_cards(page: Page) -> None:
    page.reload()  # no answer to a floor is on its way
    for plot in page.locator("figure[data-chart] .plot").all():
        expect(plot.locator("svg")).to_be_visible()
        card, drawing = plot.bounding_box(), plot.locator("svg").bounding_box()
        assert card is not None
        assert drawing is not None
        assert abs(card["width"] - drawing["width"]) <= 1


def test_charts_follow_the_theme(page: Page) -> None:
    line = page.locator("#frontier-recall .role-mark.mark-line path").first
    color = line.get_attribute("stroke")
    page.get_by_label("Switch light and dark").click()
    expect(line).not_to_have_attribute("stroke", str(color))


def test_what_the_mean_hides_loads_after_the_choice(page: Page) -> None:
    expect(page.locator("#behind")).to_contain_text("All tables of the report")
