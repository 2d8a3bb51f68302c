"""All documents of one query judged at once, and keys that were changed, in a real browser."""

from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from assay.workflows.annotation import project_judgments
from tests.web.axe import violations
from tests.web.dashboards import create_annotation_project, save_experiments

PROJECTS = ("bulk", "marks", "keys", "phone", "typing", "fast")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annotate")
    store = save_experiments(folder)
    for name in PROJECTS:
        create_annotation_project(folder, store, per_pair=1 if name == "bulk" else 2, name=name)
    return store


def open_query(page: Page, address: str, project: str, rater: str = "rater 1") -> None:
    """Begin to judge one query at once."""
    page.goto(f"{address}/annotate/{project}?by=query")
    page.get_by_label("Your name").fill(rater)
    page.keyboard.press("Enter")
    expect(page.locator(".bulk > li[aria-current]")).to_have_count(1)


def press(page: Page, keys: str, judged: int) -> None:
    """Press keys; so many pairs are judged then."""
    for key in keys.split():
        page.keyboard.press(key)
    expect(page.locator(".head")).to_contain_text(f"{judged} judged")


def grades(store: Path, project: str, rater: str = "rater 1") -> list[float | None]:
    frame = project_judgments(project, str(store)).frame.filter(pl.col("judge") == rater)
    return frame.sort("query_id", "doc_id")["grade"].to_list()


def test_two_raters_judge_whole_queries_by_keyboard_at_once_and_the_quota_holds(
    browser: Browser, page: Page, address: str, store: Path
) -> None:
    other = browser.new_context().new_page()
    open_query(page, address, "bulk")
    open_query(other, address, "bulk", "rater 2")
    queries = [own.locator(".judge .mono").first.inner_text() for own in (page, other)]
    assert sorted(queries) == ["q0", "q1"]
    for number in (1, 2):
        press(page, "2", number)
        press(other, "0", number)
    expect(other.locator(".state h2")).to_contain_text("judgments")
    frame = project_judgments("bulk", str(store)).frame
    assert frame.sort("judge", "query_id").select("judge", "query_id", "grade").rows() == [
        *[("rater 1", queries[0], 2.0)] * 2,
        *[("rater 2", queries[1], 0.0)] * 2,
    ]
    other.context.close()


def test_keys_grade_move_take_back_set_aside_and_say_that_a_document_cannot_be_rated(
    page: Page, address: str, store: Path
) -> None:
    open_query(page, address, "marks")
    rows, current = page.locator(".bulk > li"), page.locator(".bulk > li[aria-current]")
    names = rows.locator("h3").all_inner_texts()
    press(page, "j 2", 1)
    expect(current).to_contain_text(names[0])
    press(page, "j 0", 1)  # another grade for the one that was judged
    expect(rows.nth(1).locator("[aria-pressed=true]")).to_contain_text("not relevant")
    press(page, "u", 0)
    expect(current).to_contain_text(names[1])
    press(page, "k l", 0)
    expect(rows).to_have_count(1)
    page.keyboard.press("x")
    page.keyboard.press("Enter")  # the first reason
    expect(page.locator(".head")).to_contain_text("1 judged")
    press(page, "1", 2)
    press(page, "1", 3)
    expect(page.locator(".bulk h3").first).to_contain_text(names[0])  # what was set aside comes back
    press(page, "2", 4)
    assert sorted(grades(store, "marks"), key=str) == [1.0, 1.0, 2.0, None]


def test_a_key_that_is_pressed_before_a_new_page_is_prepared_grades(
    page: Page, address: str, store: Path
) -> None:
    open_query(page, address, "fast")
    page.evaluate("htmx.config.defaultSettleDelay = 60_000")  # htmx never prepares the buttons by itself
    press(page, "2", 1)
    press(page, "1", 2)
    press(page, "u", 1)
    press(page, "0", 2)
    assert sorted(grades(store, "fast"), key=str) == [0.0, 2.0]


def test_a_changed_key_grades_is_kept_for_its_person_and_the_old_one_does_nothing(
    page: Page, address: str, store: Path
) -> None:
    open_query(page, address, "keys")
    page.keyboard.press("?")
    page.get_by_text("Change keys").click()
    page.get_by_label("grade 2").press_sequentially("d")
    page.get_by_label("later").press_sequentially("U")  # the key of undo, which gets that of later
    expect(page.get_by_label("undo")).to_have_value("l")
    page.keyboard.press("1")  # in a field: no grade
    expect(page.get_by_label("later")).to_have_value("1")
    page.get_by_label("later").press_sequentially("u")
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("2")
    press(page, "d", 1)
    press(page, "l", 0)
    page.reload()
    expect(page.locator(".dock")).to_contain_text("Undo L")
    press(page, "d", 1)
    assert grades(store, "keys") == [2.0]
    assert page.evaluate("Object.keys(localStorage)") == ["keys:"]
    page.keyboard.press("?")
    page.get_by_text("Change keys").click()
    page.get_by_role("button", name="Reset keys").click()
    expect(page.get_by_label("grade 2")).to_have_value("2")


def test_keys_do_nothing_while_somebody_types_or_reads_the_keys(page: Page, address: str) -> None:
    page.goto(f"{address}/annotate/typing?rater=rater+1")
    page.get_by_label("Search queries").fill("")
    page.keyboard.type("2ux")
    page.locator("h1").click()
    page.keyboard.press("?")
    page.keyboard.press("2")
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.get_by_label("Another reason").click()
    page.keyboard.type("2")
    expect(page.get_by_label("Another reason")).to_have_value("2")
    page.keyboard.press("Control+1")
    page.reload()
    expect(page.locator(".head")).to_contain_text("0 judged")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_query_at_once_is_accessible_and_is_judged_by_touch(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    dark = scheme == "dark"
    context = browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if dark else "light",
        has_touch=True,
        bypass_csp=True,
    )
    page = context.new_page()
    open_query(page, address, "phone", scheme)
    page.locator(".bulk > li").nth(1).get_by_role("button", name="related").tap()
    expect(page.locator(".head")).to_contain_text("1 judged")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator(".dock").get_by_role("button", name="Can’t rate").tap()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('keys').showModal()")
    page.get_by_text("Change keys").tap()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    context.close()
