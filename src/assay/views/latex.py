r"""Tables and reports in LaTeX, in the style of the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from assay.views.text import is_number_column, remove_line_breaks

PREAMBLE = "% in the preamble: \\usepackage{booktabs}"
_CHARACTERS = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "[": "{[}",  # at the beginning of a row or an item it would be an option
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "²": "$^2$",
    "δ": r"$\delta$",
    "…": r"\ldots{}",
    "–": "--",
    "“": "``",
    "”": "''",
    "→": r"$\rightarrow$",
    "·": r"$\cdot$",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "✓": r"$\surd$",
    "✗": r"$\times$",
    "┄": "--",
    "█": r"\rule{0.5em}{1.2ex}",
}
_ESCAPES = str.maketrans(_CHARACTERS)


def escape_latex(words: str) -> str:
    r"""A text in which nothing is read as a command, with symbols that every LaTeX engine has.

    >>> print(escape_latex("R_10 & 95 % … −0.5"))
    R\_10 \& 95 \% \ldots{} $-$0.5
    """
    return words.translate(_ESCAPES)


def render_latex(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""A table in LaTeX; columns of numbers are right-aligned.

    >>> print(render_latex(["run", "n"], [["bm_25", "43"]]))
    \begin{tabular}{lr}
    \toprule
    run & n \\
    \midrule
    bm\_25 & 43 \\
    \bottomrule
    \end{tabular}
    """
    lines = [[remove_line_breaks(cell) for cell in row] for row in (head, *rows)]
    columns = zip(*lines, strict=True)
    alignment = "".join("r" if is_number_column(column[1:]) else "l" for column in columns)
    first, *others = [" & ".join(map(escape_latex, row)) + r" \\" for row in lines]
    body = "\n".join([r"\toprule", first, r"\midrule", *others, r"\bottomrule"])
    return f"\\begin{{tabular}}{{{alignment}}}\n{body}\n\\end{{tabular}}"


def render_items(notes: Sequence[str]) -> str:
    r"""Notes as a list in LaTeX.

    >>> print(render_items(["100 %"]))
    \begin{itemize}
    \item 100 \%
    \end{itemize}
    """
    items = "\n".join(rf"\item {escape_latex(remove_line_breaks(note))}" for note in notes)
    return f"\\begin{{itemize}}\n{items}\n\\end{{itemize}}"
