"""The commands of the pages with what they print; `python -m tests.docs.console` writes it anew."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.S)
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.M)


def page_commands(page: Path) -> list[tuple[str, str]]:
    """Return the commands of Assay on a page, each with the output that the page shows."""
    text = page.read_text(encoding="utf-8")
    matches = (match for block in _BLOCK.findall(text) for match in _COMMAND.finditer(block))
    return [(m["command"], m["output"].strip()) for m in matches if m["command"].startswith("assay")]


def run_command(command: str, folder: Path) -> str:
    """Return what a command prints in a folder."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    process = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    return (process.stdout + process.stderr).strip()


def record_page(page: Path, folder: Path) -> None:
    """Write the output of every command of a page anew; the demo has been run in the folder."""

    def record_command(match: re.Match[str]) -> str:
        if not match["command"].startswith("assay"):
            return match[0]
        output = run_command(match["command"], folder)
        if output.split() == match["output"].split():  # lines may be broken to fit the page
            return match[0]
        lines = [f"$ {match['command']}", *(line.rstrip() for line in output.splitlines())]
        spacing = match["output"][len(match["output"].rstrip()) :] or "\n"
        return "\n".join(lines) + spacing

    def record_block(match: re.Match[str]) -> str:
        return _COMMAND.sub(record_command, match[0])

    text = page.read_text(encoding="utf-8")
    page.write_text(_BLOCK.sub(record_block, text), encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        run_command("assay demo", Path(name))
        for path in PAGES:
            if page_commands(path):
                print(path.relative_to(ROOT), flush=True)
                page_folder = Path(name) / path.stem  # commands write beside the demo
                shutil.copytree(Path(name) / "assay-demo", page_folder / "assay-demo")
                record_page(path, page_folder)
