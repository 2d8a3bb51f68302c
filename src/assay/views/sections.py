"""A report as sections, each a few lines and a table: drawn for a terminal, as Markdown or as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill
from typing import NamedTuple

from assay.views import text

WIDTH = 118  # of a line in a terminal
Span = tuple[float | None, float | None, float | None]


class Section(NamedTuple):
    """A part of a report."""

    title: str
    notes: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    spans: Sequence[Span] = ()  # an interval to draw beside each row, on a page
    scale: tuple[float, float] = (0.0, 1.0)


def render(title: str, sections: Sequence[Section], style: str) -> str:
    """A report in one of the styles; a section without content is left out."""
    return STYLES[style](title, [s for s in sections if s.notes or s.rows])


def _terminal(title: str, sections: Sequence[Section]) -> str:
    parts = []
    for s in sections:
        body = [text.table(s.head, s.rows)] if s.rows else []
        notes = [_wrapped(note, "- " if s.title else "") for note in s.notes]
        parts.append("\n".join([*[s.title] * bool(s.title), *notes, *[""] * bool(notes and body), *body]))
    return "\n\n".join(parts)


def _wrapped(note: str, mark: str) -> str:
    """A line of a list, broken where a terminal ends."""
    return fill(
        note,
        WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _markdown(title: str, sections: Sequence[Section]) -> str:
    parts = [f"## {title}"]
    for s in sections:
        parts += [f"### {text.as_markdown(s.title)}"] * bool(s.title)
        parts += ["\n".join(f"- {text.as_markdown(note)}" for note in s.notes)] * bool(s.notes)
        parts += [text.markdown(s.head, s.rows)] * bool(s.rows)
    return "\n\n".join(parts)


def _page(title: str, sections: Sequence[Section]) -> str:
    from html import escape

    from assay.views import html

    body = ""
    for s in sections:
        body += f"<h2>{escape(s.title)}</h2>" * bool(s.title)
        body += f"<ul>{''.join(f'<li>{escape(note)}' for note in s.notes)}</ul>" * bool(s.notes)
        body += html.table(s.head, s.rows, s.spans, *s.scale) if s.rows else ""
    return html.page(title, [], body)


STYLES: dict[str, Callable[[str, Sequence[Section]], str]] = {
    "table": _terminal,
    "md": _markdown,
    "html": _page,
}
