"""Generated queries and their review as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.judging.llm.generated_queries import TO_REVIEW, GeneratedQuery
from assay.models.ask_all import Replies
from assay.views import text
from assay.views.numbers import format_short
from assay.views.sections import Section, render_sections

_SHOWN = 10  # queries in the table


def render_generated(
    queries: Sequence[GeneratedQuery], counts: Mapping[str, int], notes: Sequence[str], style: str
) -> str:
    """The queries with their status, the first of them in a terminal."""
    head = ["query", "text", "document", "status"]
    shown = queries if style != "table" else queries[:_SHOWN]
    width = 60 if style == "table" else 1000
    rows = [[q.query_id, text.shorten(q.text, width), q.doc_id, q.status] for q in shown]
    if style == "csv":
        return text.render_csv(head, rows)
    more = [f"the first {_SHOWN} of {len(queries):,} are shown"] * (len(queries) > len(shown))
    return render_sections(
        "Generated queries", [Section("", [*notes, _describe(counts), *more], head, rows)], style
    )


def _describe(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    waiting = counts.get(TO_REVIEW, 0)
    hint = ": no query counts before a person has accepted or edited it (--review)" if waiting else ""
    return listed + hint


def generation_notes(
    replies: Replies, *, documents: int, dropped: int, unreadable: int, has_prices: bool
) -> list[str]:
    """What a generation asked, dropped and spent."""
    notes = [
        f"{replies.asked:,} of {documents:,} documents asked for now, {replies.reused:,} replies reused, "
        f"{dropped:,} duplicate queries dropped"
    ]
    if unreadable:
        notes.append(f"{unreadable:,} replies have no list of queries: nothing was taken from them")
    missing = documents - len(replies.replies)
    if missing:
        reason = replies.stopped_by or str(next(iter(replies.failures.values()), "not asked"))
        notes.append(f"{missing:,} documents have no reply ({reason}); the same command continues")
    if has_prices:
        cost = f"cost {format_short(replies.cost)} now, {format_short(replies.total_cost)} in all sessions"
        notes.append(cost)
    return notes


def describe_for_review(query: GeneratedQuery, document: str, number: int, total: int) -> str:
    """What a reviewer sees of one query."""
    shown = text.shorten(" ".join(document.split()), 600) if document else query.doc_id
    return f"\n{number + 1} of {total}\ndocument: {shown}\n\nquery:    {query.text}"
