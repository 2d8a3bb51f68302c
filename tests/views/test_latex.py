"""Reports in LaTeX: every format list has it, and what it prints is well-formed."""

import re
from pathlib import Path

import pytest

from assay.cli import COMMANDS, call
from assay.views.latex import escape_latex, render_latex
from assay.views.sections import Section, render_sections

SPECIAL = re.compile(r"(?<!\\)[&%$#_]")


def test_special_characters_are_escaped() -> None:
    assert escape_latex(r"a\b_{c}^~") == r"a\textbackslash{}b\_\{c\}\textasciicircum{}\textasciitilde{}"
    assert escape_latex("p < 0.05 | 95 % & $5 #1") == r"p $<$ 0.05 $|$ 95 \% \& \$5 \#1"


def test_a_table_has_rules_and_right_aligned_numbers() -> None:
    lines = render_latex(["measure", "value"], [["nDCG@10", "0.5"], ["R_x", "–"]]).splitlines()
    assert lines[0] == r"\begin{tabular}{lr}"
    assert lines[1:4] == [r"\toprule", r"measure & value \\", r"\midrule"]
    assert lines[4:] == [r"nDCG@10 & 0.5 \\", r"R\_x & -- \\", r"\bottomrule", r"\end{tabular}"]


def test_the_title_cannot_end_its_comment() -> None:
    text = render_sections("a\nb", [Section("50 %", ["x_1"], ["h"], [["c"]])], "latex")
    assert text.startswith("% a b\n% in the preamble")
    assert r"\subsection*{50 \%}" in text
    assert "\\begin{itemize}\n\\item x\\_1\n\\end{itemize}" in text


@pytest.fixture
def folder(demo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo)
    return demo


@pytest.mark.parametrize(
    "line",
    [
        "eval helpcentre bm25.run --by category",
        "eval helpcentre bm25.run --per-query -m R@10",
        "compare helpcentre bm25.run lsa.run --by category",
        "failures helpcentre bm25.run",
        "gate",
        "measures",
        "measures nDCG",
        "bench engines",
        "dataset show base.fbin",
    ],
)
def test_commands_print_latex_that_has_balanced_tables(
    folder: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call([*line.split(), "--format", "latex"]) == 0
    out = capsys.readouterr().out
    assert out.count(r"\begin{") == out.count(r"\end{") > 0
    for table in re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\\end\{tabular\}", out, re.S):
        rows = [row for row in table[1].splitlines() if row.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {len(table[0])}


def test_every_command_with_markdown_has_latex() -> None:
    from importlib import import_module

    for name in COMMANDS:
        text = import_module(f"assay.cli.{name}").parser().format_help()
        assert ("latex" in text) == (",md" in text), name
