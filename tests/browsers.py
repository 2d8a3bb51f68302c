"""Pages opened in a real browser that reaches no network."""

import re
import subprocess
from functools import cache
from pathlib import Path
from shutil import which

import pytest

APT = Path(__file__).parent.parent / "scripts" / "apt.sh"
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--proxy-server=127.0.0.1:9",  # nobody listens there
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",  # until all scripts have come to an end
    "--dump-dom",
)


@cache
def chromium() -> str:
    """The program, installed where it is missing."""
    subprocess.run([APT], check=True)  # half of one may be there
    program = which("chromium") or which("chromium-browser") or which("google-chrome")
    if program is None:
        done = subprocess.run([APT, "chromium"], capture_output=True, text=True)
        program = which("chromium")
        if program is None:
            pytest.skip(done.stderr.strip())
    return program


def opened(page: Path, folder: Path) -> tuple[str, list[str]]:
    """A page as the browser has it after its scripts ran, and what they said on the console."""
    command = [chromium(), *_OPTIONS, f"--user-data-dir={folder}", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout, re.findall(r"CONSOLE.*", done.stderr)


def marks(dom: str, number: int) -> int:
    """How many marks (not axes or legends) of a figure are drawn with an extent."""
    after = dom.partition(f'id="figure-{number}"')[2].partition("</figure>")[0].partition('id="figure-')[0]
    return len(re.findall(r'aria-roledescription="(?:bar|point|line mark|rule|area mark|circle)"', after))
