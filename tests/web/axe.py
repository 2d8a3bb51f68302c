"""axe-core, which checks the accessibility of a page in the browser; it is fetched from the npm registry."""

import subprocess
import tarfile
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import gettempdir
from typing import Any

import pytest
from playwright.sync_api import Page

VERSION = "4.14.0"
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@cache
def script() -> str:
    """Return the source of axe-core."""
    folder = Path(gettempdir()) / f"assay-axe-core-{VERSION}"
    source = folder / "package" / "axe.min.js"
    if not source.is_file():
        if which("npm") is None:
            pytest.skip("npm is not installed, so axe-core cannot be fetched")
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
    page.evaluate(script())
    options: dict[str, Any] = {"runOnly": {"type": "tag", "values": _TAGS}}
    result = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']} at {one['nodes'][0]['html'][:160]}"
        for one in result["violations"]
        if one["impact"] in ("serious", "critical")
    ]
