"""The commands of the pages with what they print; `python -m tests.docs.console` writes it anew."""

import io
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from assay.cli import call

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.S)
_PLAIN = re.compile(r"assay (?P<words>[^|<>&;$`*]*)(?P<silent>2> /dev/null)?( *\| head -(?P<lines>\d+))?")
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


def run_in_process(command: str, folder: Path) -> str:
    """Return what a command prints in a folder, without a process of its own if it needs no shell."""
    plain = _PLAIN.fullmatch(command)
    if plain is None:
        return run_command(command, folder)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        call(shlex.split(plain["words"]))
    printed, notes = (stream.buffer.getvalue().decode() for stream in (out, err))
    if plain["lines"]:
        printed = "".join(printed.splitlines(keepends=True)[: int(plain["lines"])])
    return (printed + ("" if plain["silent"] else notes)).strip()


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
