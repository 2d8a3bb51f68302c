"""Draw docs/demo.svg: what the terminal shows for a command of the README, run here and now."""

import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
ASSAY = Path(sys.executable).parent / "assay"
COMMAND = "assay eval helpcentre bm25.run lsa.run -m nDCG@10 -m Robustness-0.5@10 --by category"
LINE, CHAR, PAD = 19, 8.43, 18
COLOURS = {"·": "#3a424b", "─": "#6aa5e0", "●": "#bcd9f5"}


def shown() -> str:
    """What the command prints."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ASSAY, "demo", "--folder", folder], check=True, capture_output=True)
        command = [str(ASSAY), *COMMAND.split()[1:]]
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return f"$ {COMMAND}\n\n{done.stdout.strip()}"


def drawn(text: str) -> str:
    """Text as a picture of a terminal."""
    lines = text.splitlines()
    width = 2 * PAD + CHAR * max(map(len, lines))
    height = 2 * PAD + LINE * len(lines)
    rows = [
        f'<text x="{PAD}" y="{PAD + LINE * (n + 0.75)}" textLength="{CHAR * len(line):.1f}" '
        f'xml:space="preserve">{_coloured(escape(line))}</text>'
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


def _coloured(line: str) -> str:
    """A line with the parts of its bar in their colours."""
    return re.sub("·+|─+|●", lambda m: f'<tspan fill="{COLOURS[m[0][0]]}">{m[0]}</tspan>', line)


if __name__ == "__main__":
    (ROOT / "docs" / "demo.svg").write_text(drawn(shown()), encoding="utf-8")
