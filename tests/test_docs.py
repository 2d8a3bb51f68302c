"""The documentation is true: its commands are run, and everything there is appears in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import COMMANDS
from assay.datasets import FORMATS
from assay.measures import DEFINITIONS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NUMBER = re.compile(r"-?\d+\.\d+")


def blocks(page: Path) -> list[str]:
    return re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a block with what they print."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [(part.split("\n", 1)[0], part.split("\n", 1)[1].strip()) for part in parts]


def words(text: str) -> str:
    """The text without what may differ between machines in the last digit."""
    return re.sub(r"[·─●\s]+", " ", NUMBER.sub("0.0", text)).strip()


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    return (done.stdout + done.stderr).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_print_what_it_says(page: Path, demo: Path) -> None:
    for block in blocks(page):
        for command, printed in commands(block):
            if command.startswith("assay"):
                got = shell(command, demo.parent)
                assert words(got) == words(printed), command
                close = zip(NUMBER.findall(got), NUMBER.findall(printed), strict=True)
                assert all(abs(float(a) - float(b)) < 0.005 for a, b in close), command


def test_the_readme_shows_commands_with_their_output() -> None:
    assert any(
        command.startswith("assay eval") for block in blocks(PAGES[0]) for command, _ in commands(block)
    )


def test_every_link_to_a_file_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_command_measure_and_format_is_documented() -> None:
    reference = {page.name: page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md")}
    assert all(f"## assay {name}" in reference["cli.md"] for name in COMMANDS)
    ours = [name for name, d in DEFINITIONS.items() if not hasattr(d.formula, "own")]
    assert all(f"| `{name}` |" in reference["measures.md"] for name in ours)
    assert all(f"| `{name}` |" in reference["formats.md"] for name in FORMATS)
