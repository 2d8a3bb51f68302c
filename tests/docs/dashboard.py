"""The picture of the dashboard in the README; `python -m tests.docs.dashboard` takes it anew."""

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import ViewportSize

from tests.docs.console import ROOT
from tests.web.browser import open_browser, serve

PICTURE = ROOT / "docs" / "dashboard.png"
SIZE = ViewportSize(width=1440, height=900)
_PAGE = "/compare?baseline=bm25&candidate=lsa&by=frequency"


def take_picture(store: Path, target: Path) -> None:
    """Write what the top of a page of the demo's own store looks like."""
    with serve(store) as address, open_browser() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(f"{address}{_PAGE}")
        page.get_by_role("heading", name="Measures and slices").wait_for()
        page.screenshot(path=target)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("assay")), "demo", "--folder", folder]
        subprocess.run(command, check=True, capture_output=True)
        take_picture(Path(folder) / "store", PICTURE)
