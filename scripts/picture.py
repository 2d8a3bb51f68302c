"""Write docs/demo.svg: the terminal output of a command of the README, which is run for it."""

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
ASSAY = Path(sys.executable).parent / "assay"
COMMAND = "assay eval helpcentre bm25.run lsa.run -m nDCG@10 -m Robustness-0.5@10 --by category"
LINE_HEIGHT, CHAR_WIDTH, PADDING = 19, 8.43, 18
COLORS = {"·": "#3a424b", "─": "#6aa5e0", "●": "#bcd9f5"}


def run_command() -> str:
    """Return the command and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ASSAY, "demo", "--folder", folder], check=True, capture_output=True)
        command = [str(ASSAY), *COMMAND.split()[1:]]
        process = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return f"$ {COMMAND}\n\n{process.stdout.strip()}"


def draw_terminal(text: str) -> str:
    """Return an SVG image of a terminal with this text."""
    lines = text.splitlines()
    width = 2 * PADDING + CHAR_WIDTH * max(map(len, lines))
    height = 2 * PADDING + LINE_HEIGHT * len(lines)
    rows = [
        f'<text x="{PADDING}" y="{PADDING + LINE_HEIGHT * (n + 0.75)}" '
        f'textLength="{CHAR_WIDTH * len(line):.1f}" '
        f'xml:space="preserve">{_color_bars(escape(line))}</text>'
        for n, line in enumerate(lines)
        if line
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, Menlo, Consolas, monospace" '
        f'font-size="14" fill="#d6dde6"><rect width="100%" height="100%" rx="8" fill="#15181c"/>'
        + "\n".join(rows)
        + "</svg>\n"
    )


def _color_bars(line: str) -> str:
    """Color the characters of which bars consist."""
    return re.sub("·+|─+|●", lambda m: f'<tspan fill="{COLORS[m[0][0]]}">{m[0]}</tspan>', line)


if __name__ == "__main__":
    (ROOT / "docs" / "demo.svg").write_text(draw_terminal(run_command()), encoding="utf-8")
