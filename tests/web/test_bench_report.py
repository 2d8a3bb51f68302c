"""The report of a benchmark in a real browser: at three widths, light, dark and on paper."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from assay.bench.selection.tradeoff import tradeoff_planes
from assay.bench.studies.findings import FindingSettings, collect_findings
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.bench.trials import PassSpread
from assay.views.bench_charts import ReportData
from assay.views.bench_report import render_bench_report
from tests.studies import make_data, make_study, trial_with_hits
from tests.web import axe

TRUTH = np.tile(np.arange(100), (60, 1))


def searched(engine: str, seed: int, hits: int, **search: int) -> ScoredTrial:
    """A trial of 60 queries with about so many hits, and a few without any."""
    rng = np.random.default_rng(seed)
    counts = np.clip(rng.integers(hits - 1, hits + 3, 60), 0, 10)
    counts[: 3 - seed] = 0
    ids = np.where(np.arange(10) < counts[:, None], TRUTH[:, :10], 500 + np.arange(10))
    rate = 9000.0 / hits
    return trial_with_hits(
        counts.tolist(), engine, ids=ids, search=search, qps=PassSpread(rate, rate, rate, 1)
    )


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every kind of figure."""
    names = (("faiss.hnsw", "efSearch"), ("faiss.ivfflat", "nprobe"), ("hnswlib", "ef"))
    trials = [
        searched(engine, at, hits, **{parameter: 4 * hits})
        for at, (engine, parameter) in enumerate(names)
        for hits in (8, 9, 10)
    ]
    rng = np.random.default_rng(0)
    data = make_data(TRUTH, rng.normal(size=(600, 4)), rng.normal(size=(60, 4)), k=10)
    study, other = make_study(*trials, data=data), Study(tuple(trials[::-1]), {}, data, "others.csv")
    findings = collect_findings(study, FindingSettings(tolerance=0.06), others=[other])
    planes = tradeoff_planes(study.scored_trials, 0.1, defaults=2)
    page = render_bench_report(ReportData(study, findings, planes), ["assay bench report x"], "html")
    place = tmp_path_factory.mktemp("report") / "report.html"
    place.write_text(page, encoding="utf-8")
    return place


LOOKS = ({"color_scheme": "light"}, {"color_scheme": "dark"}, {"media": "print"})


def expect_drawn(page: Page) -> None:
    """Wait until every figure is drawn; the policy of the page forbids to evaluate text, so by locator."""
    expect(page.locator(".drawn:not(:has(svg))")).to_have_count(0, timeout=30_000)


@pytest.fixture(params=[1440, 768, 390])
def page(browser: Browser, page_file: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The report in a window of this width, after its figures are drawn."""
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    page.goto(page_file.as_uri())
    expect_drawn(page)
    yield page
    page.close()


def test_a_report_has_no_serious_violation_in_the_light_in_the_dark_and_on_paper(page: Page) -> None:
    for look in LOOKS:
        page.emulate_media(**look)  # type: ignore[arg-type]
        assert (look, axe.violations(page)) == (look, [])


def test_a_report_and_its_figures_fit_the_window_with_readable_labels(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    figures = page.evaluate(
        "[...document.querySelectorAll('figure')].map((one) => one.scrollWidth - one.clientWidth)"
    )
    assert max(figures) <= 0
    sizes = page.evaluate(
        """[...document.querySelectorAll('.drawn svg')].map((one) =>
             one.getBoundingClientRect().width / one.viewBox.baseVal.width)"""
    )
    assert min(sizes) * 11 >= 8.5  # the smallest label in pixels


def test_every_panel_has_both_axes(browser: Browser, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(page_file.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('.drawn')].every((one) => one.querySelector('svg'))"
    )
    counts = page.evaluate(
        """[...document.querySelectorAll('.drawn')].map((one) =>
             one.querySelectorAll('[aria-roledescription="axis"]').length)"""
    )
    page.close()
    panels = page_panels(page_file)
    assert [axes for axes, number in zip(counts, panels, strict=True) if axes < 2 * number] == []


def page_panels(page_file: Path) -> list[int]:
    """The number of panels of each figure: its facets or its concatenated charts."""
    text = page_file.read_text(encoding="utf-8")
    figures = json.loads(text.partition("const figures = ")[2].partition(";\n")[0])
    return [len(spec.get("concat", [0])) if "facet" not in spec else facets(spec) for spec in figures]


def facets(spec: Any) -> int:
    """The number of panels of a chart that is divided by a column."""
    values = spec.get("data", spec["spec"].get("data", {})).get("values") or []
    column = spec["facet"]["field"]
    return len({row[column] for row in values}) or 1


def test_the_main_finding_is_first_and_the_contents_lead_to_every_figure(
    browser: Browser, page_file: Path
) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("section").first.locator("p").first.inner_text().startswith("At a mean recall of 0.9")
    links = page.locator("nav.contents a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert len(links) > 10
    assert all(page.locator(link).count() == 1 for link in links)
    page.locator("nav.contents a", has_text="tables and notes").click()
    expect(page.locator("details[open]")).to_have_count(1)
    page.close()


def test_paper_has_what_is_folded_on_the_screen(browser: Browser, page_file: Path, tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('.drawn')].every((one) => one.querySelector('svg'))"
    )
    assert page.locator("details[open]").count() == 0
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert page.locator("details table").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    assert page.pdf(path=tmp_path / "page.pdf").startswith(b"%PDF")
    page.close()
