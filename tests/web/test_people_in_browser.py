"""Log in, make a token, admit somebody and log out in a real browser; also without JavaScript."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from assay.store.store import Store
from assay.web.page import Role
from assay.workflows.accounts import list_people
from tests.web.axe import violations
from tests.web.browser import serve
from tests.web.teams import NAMES, PASSWORD, add_accounts


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("team") / "store"
    Store(store).database.close()
    add_accounts(store)
    return store


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    with serve(store, "--accounts") as address:
        yield address


def log_in(page: Page, address: str, path: str) -> None:
    page.goto(address + path)
    page.get_by_label("Name").fill(NAMES[Role.ADMIN])
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(address + path)


def test_an_admin_logs_in_makes_a_token_admits_somebody_and_logs_out(
    browser: Browser, address: str, store: Path
) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 900}, bypass_csp=True).new_page()
    page.goto(address + "/account")
    assert violations(page) == []
    log_in(page, address, "/account")
    page.get_by_label("Label").fill("nightly")
    page.get_by_role("button", name="New token").click()
    expect(page.locator(".secret")).to_contain_text("assay_")
    assert violations(page) == []
    page.goto(address + "/people")
    page.get_by_label("Name", exact=True).fill("not a name!")
    page.get_by_role("button", name="Add account").click()
    expect(page.get_by_role("alert")).to_contain_text("found 'not a name!'")
    page.get_by_label("Name", exact=True).fill("new-rater")
    page.get_by_role("button", name="Add account").click()
    expect(page.get_by_role("rowheader", name="new-rater")).to_be_visible()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.goto(address + "/audit")
    expect(page.locator("tbody")).to_contain_text("new-rater as viewer")
    assert violations(page) == []
    page.get_by_role("button", name="Account of").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("h1")).to_have_text("Log in to Assay")
    assert list_people(str(store)).sessions == []


def test_a_login_works_without_javascript(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    log_in(page, address, "/experiments")
    expect(page.locator("h1")).to_have_text("Experiments")
