"""axe-core, which checks the accessibility of a page in the browser.

The developer tools of the browser have it; where they have none, it is fetched from the npm registry.
"""

import re
import subprocess
import tarfile
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page

VERSION = "4.14.0"
_BUNDLE = "devtools://devtools/bundled/third_party/lighthouse/lighthouse-dt-bundle.js"
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@cache
def script_of(browser: Browser) -> str:
    """Return the source of axe-core that the developer tools of the browser have; empty: they have none."""
    page = browser.new_page()
    try:
        response = page.goto(_BUNDLE)
    except Error:  # a browser without developer tools
        response = None
    literal = re.search(r"`/\*! axe v(?:[^`\\]|\\.)*`", response.text() if response else "", re.DOTALL)
    page.goto("about:blank")
    source = page.evaluate(literal[0]) if literal else ""
    page.close()
    return str(source)


@cache
def fetch_script() -> str:
    """Return the source of axe-core from the npm registry."""
    folder = Path(gettempdir()) / f"assay-axe-core-{VERSION}"
    source = folder / "package" / "axe.min.js"
    if not source.is_file():
        if which("npm") is None:
            pytest.skip("the browser has no axe-core, and without npm it cannot be fetched")
        folder.mkdir(exist_ok=True)
        command = ["npm", "pack", "--silent", f"axe-core@{VERSION}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        if done.returncode:
            pytest.skip(f"axe-core cannot be fetched: {done.stderr.strip()[-200:]}")
        with tarfile.open(folder / done.stdout.strip().splitlines()[-1]) as archive:
            archive.extract("package/axe.min.js", folder, filter="data")
    return source.read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """Return the serious violations of a page: rule, and the first place where it is broken."""
    browser = page.context.browser
    page.evaluate((script_of(browser) if browser is not None else "") or fetch_script())
    options: dict[str, Any] = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
    result = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']} at {one['nodes'][0]['html'][:160]}"
        for one in result["violations"]
        if one["impact"] in ("serious", "critical")
    ]
