"""No page has a serious violation of WCAG AA, wide and narrow, light and dark, and none scrolls sideways."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from assay.web.pages import MODULES
from tests.rollout.logs import NAME
from tests.web.axe import violations
from tests.web.browser import serve
from tests.web.dashboards import create_annotation_project
from tests.web.labels import save_clicks, save_judged, save_labels, save_second_version
from tests.web.online_evidence import save_online_evidence
from tests.web.releases import save_release
from tests.web.trials import save_known_trials

PAGES: Mapping[str, str] = {  # addresses, and the paths of their pages
    "/": "/",
    "/experiments": "/experiments",
    "/experiments?group=name&differences=true": "/experiments",
    "/experiments/words": "/experiments/{experiment}",
    "/experiments/judged/judgments": "/experiments/{experiment}/judgments",
    "/upload": "/upload",
    "/jobs": "/jobs",
    "/jobs/JOB": "/jobs/{job}",
    "/search?text=reset": "/search",
    "/compare": "/compare",
    "/compare?baseline=words&candidate=vectors&by=category": "/compare",
    "/queries/q5?experiment=judged": "/queries/{query_id:path}",
    "/failures?experiment=words&measure=RR@10&below=0.9": "/failures",
    "/indexes?recall=0.89&robustness=0.9": "/indexes",
    "/indexes/findings": "/indexes/findings",
    "/datasets": "/datasets",
    "/datasets/people": "/datasets/{name:path}",
    "/datasets/people?tab=checks": "/datasets/{name:path}",
    "/agreement?dataset=people&rater=dee": "/agreement",
    "/judges?human=dataset:people%23rater+1&model=dataset:model&by=category": "/judges",
    "/online": "/online",
    "/online/tests/lopsided": "/online/tests/{test_id:path}",
    "/online/interleavings/interleaved": "/online/interleavings/{interleaving_id:path}",
    "/online/predict": "/online/predict",
    "/rollouts": "/rollouts",
    f"/rollouts/{NAME}": "/rollouts/{name}",
    f"/rollouts/{NAME}/evidence": "/rollouts/{name}/evidence",
    f"/shadow/{NAME}": "/shadow/{report}",
    "/annotate": "/annotate",
    "/annotate/shop": "/annotate/{name:path}",
    "/annotate/shop?rater=rater+1": "/annotate/{name:path}",
    "/annotate/shop?rater=rater+1&by=query": "/annotate/{name:path}",
    "/account": "/account",
    "/no-such-page": "",
}
ELSEWHERE = {
    *("/people", "/audit"),  # with a login: test_people_in_browser.py
    *("/rag", "/rag/{study}", "/rag/{study}/question"),  # test_rag_in_browser.py
}
_VIEWS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1440, "light"), (390, "dark"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dashboard")


@pytest.fixture(scope="module")
def job(folder: Path) -> str:
    """The id of a job in a store with something for each page."""
    store = save_labels(folder)
    save_judged(store, folder, "dataset:people")
    save_second_version(folder, store)
    save_clicks(store)
    create_annotation_project(folder, store)
    save_known_trials(store)
    save_online_evidence(store)
    return save_release(folder, store)


@pytest.fixture(scope="module")
def address(folder: Path, job: str) -> Iterator[str]:
    with serve(folder / "store") as address:
        yield address


@pytest.fixture(scope="module")
def contexts(browser: Browser) -> Iterator[Mapping[int, BrowserContext]]:
    """A browser window of each width."""
    contexts = {
        width: browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
        )
        for width, scheme in _VIEWS
    }
    yield contexts
    for context in contexts.values():
        context.close()


def expect_complete(page: Page) -> None:
    """Wait until a page that is computed is shown, its parts are loaded and its charts drawn."""
    for part in ("[aria-busy=true]", "#behind[hx-get]", "figure[data-chart] .plot:empty"):
        expect(page.locator(part)).to_have_count(0, timeout=60_000)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_serious_violation_and_fits_its_window(
    path: str, contexts: Mapping[int, BrowserContext], address: str, job: str
) -> None:
    for width, context in contexts.items():
        page = context.new_page()
        page.goto(address + path.replace("JOB", job))
        expect_complete(page)
        assert violations(page) == [], width
        for narrower in (width, min(width, 1024)):
            page.set_viewport_size({"width": narrower, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= narrower
        page.close()


def test_every_page_is_checked() -> None:
    pages = {page.path for module in MODULES for page in module.PAGES}
    assert pages - ELSEWHERE == set(PAGES.values()) - {""}
