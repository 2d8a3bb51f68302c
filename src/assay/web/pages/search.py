"""Search: queries, documents, experiments, evaluation sets and annotation projects by text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.search_store import SHOWN, SearchRequest, SearchResults, search_store
from assay.workflows.system_numbers import number_systems

_AROUND = 90  # characters of a document on each side of the text


class SearchParameters(Parameters):
    """What to look for."""

    text: str = ""


def read(context: Context, parameters: SearchParameters) -> SearchResults:
    """Return what has the text."""
    return search_store(SearchRequest(text=parameters.text, store=context.store))


def present(context: Context, value: SearchResults, parameters: SearchParameters) -> View:
    """Return the results by kind, with the text marked in each document."""
    parts = {
        "results": value,
        "numbers": number_systems([e.name for e in value.experiments], context.store),
        "documents": [(match, _excerpt(match.fields, value.text)) for match in value.documents],
        "most": SHOWN,
    }
    return View(f"Search {value.text}".strip(), "", parts)


def _excerpt(fields: Mapping[str, Any], text: str) -> tuple[str, str, str]:
    """Return the words before the text, the text as the document has it, and the words after.

    >>> _excerpt({"text": "how to reset a password"}, "RESET")
    ('how to ', 'reset', ' a password')
    >>> _excerpt({"text": 40 * "long " + "text " + 40 * "more "}, "text")[0][:10]
    '…long long'
    """
    for value in fields.values():
        content = " ".join(str(value or "").split())
        place = content.lower().find(text.lower())
        if place >= 0:
            end = place + len(text)
            before, after = content[max(0, place - _AROUND) : place], content[end : end + _AROUND]
            if place > _AROUND:
                before = f"…{before.partition(' ')[2]}"
            if end + _AROUND < len(content):
                after = f"{after.rpartition(' ')[0]}…"
            return before, content[place:end], after
    return " ".join(str(value or "") for value in fields.values())[: 2 * _AROUND], "", ""


PAGES = (Page("/search", "", "search.html", read, present, SearchParameters),)
ACTIONS: tuple[Action, ...] = ()
