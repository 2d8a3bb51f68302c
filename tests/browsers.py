"""Pages opened in a real browser that reaches no network."""

import re
import subprocess
from collections.abc import Sequence
from functools import cache
from html import escape
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
    return len(
        re.findall(r'aria-roledescription="(?:bar|rect mark|point|line mark|rule|area mark|circle)"', after)
    )


def overflow(pages: Sequence[tuple[str, int]], folder: Path) -> list[tuple[int, int]]:
    """By how many pixels each page, and the widest of its tables, is wider than its window.

    A page is opened in a frame of the given width: a window cannot be as narrow as a telephone.
    """
    frames = "".join(
        f'<iframe style="width:{width}px;height:900px;border:0" srcdoc="{escape(page)}"></iframe>'
        for page, width in pages
    )
    script = """<script>setTimeout(() => {
      const extra = (one) => one.scrollWidth - one.clientWidth;
      document.body.dataset.overflow = [...document.querySelectorAll("iframe")].map((frame) => {
        const page = frame.contentDocument;
        return extra(page.documentElement) + ":" +
          Math.max(0, ...[...page.querySelectorAll(".wide")].map(extra));
      }).join(" ");
    }, 5000)</script>"""
    place = folder / "frames.html"
    place.write_text(f"<!doctype html><body>{frames}{script}</body>", encoding="utf-8")
    dom, _ = opened(place, folder / "profile")
    (found,) = re.findall(r'data-overflow="([\d: ]+)"', dom)
    return [(int(page), int(tables)) for page, tables in (pair.split(":") for pair in found.split())]


def as_printed(page: str) -> str:
    """A page whose rules for paper hold on the screen."""
    return page.replace("@media print", "@media all")


def printed(page: Path, folder: Path) -> bytes:
    """A page as PDF."""
    target = folder / "page.pdf"
    options = [option for option in _OPTIONS if option != "--dump-dom"]
    command = [chromium(), *options, f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={target}"]
    subprocess.run([*command, page.resolve().as_uri()], capture_output=True, timeout=120, check=True)
    return target.read_bytes()
