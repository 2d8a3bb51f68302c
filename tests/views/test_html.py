"""Pages: nothing runs off the edge of a screen or of paper, and they say what they were made from."""

import re
from pathlib import Path

import pytest

from assay import __version__
from assay.cli import call
from assay.datasets import read
from assay.views.html import IntervalPlot, PlotRow, render_page, render_plot, render_table
from tests.browsers import as_printed, overflow, printed

PAPER = 718  # pixels: A4 without the margins of the browser
PAGES = {
    "eval": "eval helpcentre bm25.run lsa.run --by category",
    "per query": "eval helpcentre bm25.run --per-query",
    "compare": "compare helpcentre bm25.run lsa.run --by category",
    "failures": "failures helpcentre bm25.run --by category",
    "gate": "gate",
    "experiments": "experiments list --store store",
    "truth": "truth base.fbin queries.fbin -k 10 --metric l2",
    "dataset": "dataset check base.fbin queries.fbin",
    "trials": "bench show bench",
    "bench report": "bench report bench",
}


def make_page(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> str:
    monkeypatch.chdir(demo)
    assert call([*line.split(), "--format", "html"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("line", PAGES.values(), ids=PAGES)
def test_no_page_runs_off_the_edge(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    page = make_page(demo, monkeypatch, capsys, line)
    screens = [(page, 1200), (page, 390)]
    *on_screens, on_paper = overflow([*screens, (as_printed(page), PAPER)], tmp_path)
    assert [document for document, _ in on_screens] == [0, 0]  # a wide table scrolls inside of the page
    assert on_paper == (0, 0)  # where nothing can be scrolled


@pytest.mark.parametrize("name", ["compare", "bench report"])
def test_a_page_is_printed(
    name: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make_page(demo, monkeypatch, capsys, PAGES[name])
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert printed(tmp_path / "page.html", tmp_path).startswith(b"%PDF")


def test_a_page_names_its_date_its_version_and_its_inputs(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make_page(demo, monkeypatch, capsys, PAGES["eval"])
    assert re.search(rf"<footer>Assay {__version__}, \d{{4}}-\d\d-\d\d \d\d:\d\d UTC</footer>", page)
    qrels, run = read(demo / "helpcentre", "qrels"), read(demo / "lsa.run", "run")
    assert f'>judgments<td class="t">{qrels.digest}<' in page
    assert f'>run lsa<td class="t">{run.digest}<' in page


@pytest.mark.parametrize("name", ["compare", "failures", "gate"])
def test_every_page_about_runs_has_their_digests(
    name: str, demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make_page(demo, monkeypatch, capsys, PAGES[name])
    assert read(demo / "helpcentre", "qrels").digest in page
    assert read(demo / "bm25.run", "run").digest in page


def test_the_page_of_an_evaluation_has_a_plot_and_the_worst_queries(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make_page(demo, monkeypatch, capsys, f"{PAGES['eval']} --worst 2")
    plot = page.partition('<div class="plot">')[2].partition("</figure>")[0]
    assert plot.count('class="track"') == 10  # five measures of two runs
    worst = page.partition("<h2>worst queries of lsa by nDCG@10</h2>")[2].partition("</table>")[0]
    assert worst.count("<tr>") == 3


def test_the_page_of_a_comparison_has_a_plot_of_the_differences(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make_page(demo, monkeypatch, capsys, PAGES["compare"])
    plot = page.partition('<div class="plot">')[2].partition("</figure>")[0]
    assert "<strong>" not in plot  # one candidate needs no groups
    assert plot.count('class="track"') == plot.count('class="zero"') == 6
    assert ">ZeroHit@10 (lower is better)</span>" in plot


def test_a_plot_places_values_on_its_axis_and_escapes_its_labels() -> None:
    rows = [PlotRow("<g>", "a & b", (0.25, 0.5, 0.75)), PlotRow("<g>", "none", (None, None, None), 1)]
    plot = render_plot(IntervalPlot("t", rows))
    assert '<i class="span" style="left:25.0%;width:50.0%"></i><i class="dot" style="left:50.0%">' in plot
    assert plot.count("<strong>&lt;g&gt;</strong>") == 1
    assert "a &amp; b" in plot


def test_text_may_be_broken_and_numbers_and_intervals_may_not() -> None:
    table = render_table(["name", "n", "i"], [["Robustness(delta=0.3)@10", "1", "0.1 … 0.2"]])
    assert '<td class="t">Robustness(delta=0.3)@10<td class="n">1<td class="i">0.1 … 0.2' in table


def test_a_page_loads_nothing() -> None:
    assert not re.findall(r"(?:src|href)=|url\(|@import", render_page("t", ["n"], "<p>b</p>"))
