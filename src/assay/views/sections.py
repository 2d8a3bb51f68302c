"""Reports as sections of notes and a table, for a terminal, as Markdown, LaTeX or an HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import fill
from typing import NamedTuple

from assay.views import html, latex, text
from assay.views.html import IntervalPlot, Span

WIDTH = 118  # of a line in a terminal


class Section(NamedTuple):
    """A part of a report."""

    title: str
    notes: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    spans: Sequence[Span] = ()  # an interval to draw next to each row of a page
    scale: tuple[float, float] = (0.0, 1.0)
    plot: IntervalPlot | None = None  # drawn above the table of a page


def input_section(digests: Mapping[str, str]) -> Section:
    """The inputs of a result by their digests, for a page."""
    return Section("inputs", (), ["input", "digest"], [list(row) for row in digests.items()])


def render_sections(title: str, sections: Sequence[Section], style: str) -> str:
    """A report in one of the styles; empty sections are left out."""
    return STYLES[style](title, [s for s in sections if s.notes or s.rows])


def _render_terminal(title: str, sections: Sequence[Section]) -> str:
    parts = []
    for s in sections:
        body = [text.render_table(s.head, s.rows)] if s.rows else []
        notes = [_wrap_note(note, "- " if s.title else "") for note in s.notes]
        parts.append("\n".join([*[s.title] * bool(s.title), *notes, *[""] * bool(notes and body), *body]))
    return "\n\n".join(parts)


def _wrap_note(note: str, mark: str) -> str:
    """A note wrapped to the width of a terminal."""
    return fill(
        note,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _render_markdown(title: str, sections: Sequence[Section]) -> str:
    parts = [f"## {title}"]
    for s in sections:
        parts += [f"### {text.escape_markdown(s.title)}"] * bool(s.title)
        parts += ["\n".join(f"- {text.escape_markdown(note)}" for note in s.notes)] * bool(s.notes)
        parts += [text.render_markdown(s.head, s.rows)] * bool(s.rows)
    return "\n\n".join(parts)


def _render_html(title: str, sections: Sequence[Section]) -> str:
    body = ""
    for s in sections:
        body += f"<h2>{escape(s.title)}</h2>" * bool(s.title)
        body += f"<ul>{''.join(f'<li>{escape(note)}' for note in s.notes)}</ul>" * bool(s.notes)
        body += html.render_plot(s.plot) if s.plot else ""
        body += html.render_table(s.head, s.rows, s.spans, *s.scale) if s.rows else ""
    return html.render_page(title, [], body)


def _render_latex(title: str, sections: Sequence[Section]) -> str:
    parts = [f"% {text.remove_line_breaks(title)}\n{latex.PREAMBLE}"]
    for s in sections:
        parts += [rf"\subsection*{{{latex.escape_latex(s.title)}}}"] * bool(s.title)
        parts += [latex.render_items(s.notes)] * bool(s.notes)
        parts += [latex.render_latex(s.head, s.rows)] * bool(s.rows)
    return "\n\n".join(parts)


STYLES: dict[str, Callable[[str, Sequence[Section]], str]] = {
    "table": _render_terminal,
    "md": _render_markdown,
    "html": _render_html,
    "latex": _render_latex,
}
