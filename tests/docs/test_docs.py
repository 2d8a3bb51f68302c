"""The documentation is true: its commands are run, and everything there is appears in it."""

import re
from pathlib import Path

import pytest

from assay.cli import COMMANDS, call
from assay.datasets import FORMATS
from assay.measures import DEFINITIONS
from tests.docs.console import PAGES, ROOT, page_commands, run_in_process

IS_DIVIDED = True  # a case is a page
NUMBER = re.compile(r"-?\d+\.\d+")


def words(text: str) -> str:
    """The text without what may differ between machines in the last digit."""
    return re.sub(r"[·─●\s]+", " ", NUMBER.sub("0.0", text)).strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_print_what_it_says(
    page: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ASSAY_STORE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for command, printed in page_commands(page):
        got = run_in_process(command, demo.parent)
        assert words(got) == words(printed), command
        close = zip(NUMBER.findall(got), NUMBER.findall(printed), strict=True)
        assert all(abs(float(a) - float(b)) < 0.005 for a, b in close), command


def test_the_readme_shows_commands_with_their_output() -> None:
    assert any(command.startswith("assay eval") for command, _ in page_commands(PAGES[0]))


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


PROSE = [*PAGES, ROOT / "CHANGELOG.md", *sorted((ROOT / "examples").rglob("*.md"))]


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_text_are_at_most_100_characters_long(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    assert [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")] == []


def exit_code_text(capsys: pytest.CaptureFixture[str], command: str) -> str:
    """Return what the help of a command says about its exit codes."""
    assert call([command, "--help"]) == 0
    match = re.search(r"exit codes: (.*?)(?:\n\n|\Z)", capsys.readouterr().out, re.DOTALL)
    assert match is not None, f"assay {command} --help does not state its exit codes"
    return " ".join(match[1].split())


def test_the_help_and_the_docs_state_the_same_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    pages = " ".join(" ".join(page.read_text(encoding="utf-8").split()) for page in PAGES)
    stated = re.findall(r"Exit codes of `assay (\w+)`: ", pages)
    assert sorted(stated) == sorted(COMMANDS)
    assert "Exit codes: " not in pages
    for command in COMMANDS:
        assert f"Exit codes of `assay {command}`: {exit_code_text(capsys, command)}." in pages, command
