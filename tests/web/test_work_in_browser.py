"""Uploads, jobs and the columns of experiments in a real browser."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from assay.store.jobs import Jobs
from assay.store.store import Store
from tests.web.browser import serve
from tests.web.dashboards import save_experiments
from tests.web.slow_project import QUERIES, speed_up, write_slow_project

WAIT = 30_000  # milliseconds, for a machine that does much else


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("uploads")
    save_experiments(folder)
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with serve(folder / "store") as address:
        yield address


@contextmanager
def serve_project(folder: Path) -> Iterator[str]:
    """Start `assay serve` in the folder of a project."""
    command = [str(Path(sys.executable).with_name("assay")), "serve", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if name != "ASSAY_STORE"}
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        match = re.match(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert match is not None
        yield match[0]
    finally:
        process.kill()
        process.wait(20)
        process.stderr.close()


def test_an_uploaded_run_becomes_an_experiment(page: Page, address: str, folder: Path) -> None:
    page.goto(f"{address}/upload")
    page.locator("input[name=run]").set_input_files(folder / "vectors.run")
    page.locator("input[name=qrels]").set_input_files(folder / "qrels.txt")
    expect(page.locator("input[name=name]")).to_have_value("vectors")
    page.locator("input[name=name]").fill("dropped")
    page.get_by_role("button", name="Score and save").click()
    expect(page.locator("h1")).to_contain_text("dropped", timeout=WAIT)
    expect(page.locator("main")).to_contain_text("nDCG@10")


def test_a_wrong_line_of_an_upload_is_shown_with_its_file(page: Page, address: str, folder: Path) -> None:
    broken = folder / "broken.run"
    broken.write_text("q0 Q0 a 1 2 t\nq0 Q0\n")
    page.goto(f"{address}/upload")
    page.locator("input[name=run]").set_input_files(broken)
    page.locator("input[name=qrels]").set_input_files(folder / "qrels.txt")
    page.get_by_role("button", name="Score and save").click()
    expect(page.locator("#problem")).to_contain_text("broken.run:2: expected", timeout=WAIT)


def test_chosen_columns_are_in_the_address_and_remembered(page: Page, address: str) -> None:
    page.goto(f"{address}/experiments")
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("RR@10").check()
    page.get_by_label("Find a column").fill("ndcg")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page).to_have_url(re.compile(r"column=RR%4010"))
    page.goto(f"{address}/experiments")
    expect(page).to_have_url(re.compile(r"column=RR%4010"))
    expect(page.locator("table.exps thead")).to_contain_text("RR@10")


def test_a_job_is_cancelled_and_resumed_after_the_server_was_killed(page: Page, tmp_path: Path) -> None:
    store = write_slow_project(tmp_path, seconds=1.5)
    with serve_project(tmp_path) as address:
        page.goto(f"{address}/jobs")
        page.get_by_role("button", name="Start").first.click()
        expect(page.locator("#job")).to_contain_text(re.compile(r"\d+ of 40 queries"), timeout=WAIT)
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".head")).to_contain_text("cancelled", timeout=WAIT)
        job = page.url.rsplit("/", 1)[1]
    speed_up(tmp_path)
    with serve_project(tmp_path) as address:
        page.goto(f"{address}/jobs/{job}")
        page.get_by_role("button", name="Resume").click()
        page.get_by_role("link", name="Result").click(timeout=WAIT)
        expect(page.locator("h1")).to_contain_text("slow")
    with Store(store) as opened:
        asked = [line.text for line in Jobs(opened.database).lines(job, 1000) if "asked" in line.text]
    assert len(set(asked)) == QUERIES
    assert len(asked) < 1.5 * QUERIES  # finished queries were not asked again
