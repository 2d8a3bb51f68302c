"""What the tests in a real browser share: the browser, the server of the store of a file, and a page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.web.browser import open_browser, serve


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(store: Path) -> Iterator[str]:
    """The address of a dashboard over the store of the file."""
    with serve(store) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page whose scripts must not fail."""
    errors: list[str] = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert errors == []
