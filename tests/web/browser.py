"""A real server of the dashboard and a real browser, which reaches no other address."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browsers import chromium

_OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def run_server(store: Path | str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start `assay serve` over a store; yield its process and its address."""
    command = [str(Path(sys.executable).with_name("assay")), "serve", "--port", "0", "--store", str(store)]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        match = re.match(r"http://127\.0\.0\.1:\d+", line)
        assert match is not None, line + process.stderr.read()
        yield process, match[0]
    finally:
        process.terminate()
        process.wait(20)
        process.stderr.close()


@contextmanager
def serve(store: Path | str, *options: str) -> Iterator[str]:
    """Start `assay serve` over a store; yield its address."""
    with run_server(store, *options) as (_, address):
        yield address


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=_OPTIONS)
        try:
            yield browser
        finally:
            browser.close()
