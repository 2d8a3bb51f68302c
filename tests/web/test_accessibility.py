"""No page has a serious violation of WCAG AA, wide and narrow, light and dark, and none scrolls sideways."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from tests.web.axe import violations
from tests.web.browser import serve
from tests.web.dashboards import create_annotation_project, save_experiments
from tests.web.online_evidence import save_online_evidence
from tests.web.trials import save_known_trials

PAGES = (
    "/",
    "/experiments",
    "/experiments?group=name&differences=true",
    "/experiments/words",
    "/experiments/words/judgments",
    "/upload",
    "/jobs",
    "/search?text=reset",
    "/compare",
    "/compare?baseline=words&candidate=vectors&by=category",
    "/queries/q1",
    "/failures?experiment=words&measure=RR@10&below=0.9",
    "/indexes?recall=0.89&robustness=0.9",
    "/indexes/findings",
    "/online",
    "/online/tests/lopsided",
    "/online/interleavings/interleaved",
    "/online/predict",
    "/annotate",
    "/annotate/shop",
    "/annotate/shop?rater=rater+1",
    "/annotate/shop?rater=rater+1&by=query",
    "/no-such-page",
)
_VIEWS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1440, "light"), (390, "dark"))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("dashboard")
    store = save_experiments(folder)
    create_annotation_project(folder, store)
    save_known_trials(store)
    save_online_evidence(store)
    with serve(store) as address:
        yield address


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_violation_and_fits_its_window(
    path: str, browser: Browser, address: str
) -> None:
    for width, scheme in _VIEWS:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        page = context.new_page()
        page.goto(address + path)
        assert violations(page) == [], f"{width} {scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        context.close()
