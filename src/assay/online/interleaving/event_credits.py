"""Credit from a log: the clicks on interleaved lists, for the teams that the log names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.errors import InputError, UndecidableError
from assay.core.events import Events, Place
from assay.core.suggestions import did_you_mean
from assay.online.interleaving.page_credits import CreditProblems, PageCredits

_TEAM_NAMES = ("team", "search_config")
_DEFAULT_METHOD = "team-draft"
_PAGE_COLUMNS = ("query_id", "user", "hit_ids", "hit_teams", "attributes", "source", "line")
_CLICK_COLUMNS = ("query_id", "object_id", "attributes", "is_repeated", "source", "line")


class _Page(NamedTuple):
    """An interleaved page: its user, the teams of its documents, and what a click is worth."""

    user: str | None
    team_by_doc: Mapping[str, str]
    credit_by_doc: Mapping[str, Mapping[str, float]] | None  # None: 1 for the team of the document
    uncredited: frozenset[str]

    def credit(self, doc: str, team: str) -> Mapping[str, float]:
        """Return what a click on a document is worth to each ranker."""
        if self.credit_by_doc is not None:
            return self.credit_by_doc.get(doc, {})
        return {} if doc in self.uncredited else {team: 1.0}


def credit_events(
    events: Events, actions: Sequence[str] = ("click",), experiment: str | None = None
) -> PageCredits:
    """Return the credits of the clicks of a log on the interleaved lists of one experiment.

    A document that is clicked twice on a page counts once. The record `credit_by_doc` of the builder is
    used if the log has it; else a click counts 1 for the team of the document.
    """
    return _Ledger(events, actions, experiment).page_credits()


class _Ledger:
    """The credits while the clicks of a log are read."""

    def __init__(self, events: Events, actions: Sequence[str], experiment: str | None) -> None:
        self.problems = CreditProblems()
        self.events, self.actions = events, actions
        queries = events.queries.with_columns(user=pl.coalesce("client_id", "user_id"))
        all_interleaved = queries.filter(pl.col("hit_teams").is_not_null())
        if all_interleaved.is_empty():
            raise UndecidableError(
                "expected queries with the team of each result (query_attributes.team_by_doc, or team or "
                f"search_config of a hit), found {len(queries):,} without it; log the query_attributes "
                "of the lists that assay.online.interleaving builds"
            )
        self.interleaved = _of_experiment(all_interleaved, experiment)
        self.others = frozenset(all_interleaved["query_id"].to_list()) - {*self.interleaved["query_id"]}
        self.known = frozenset(queries["query_id"].drop_nulls().to_list())
        clicked = events.frame.filter(pl.col("action").is_in(list(actions)))
        self.clicks = clicked.select(_CLICK_COLUMNS)
        self.pages = self._read_pages()
        self.credits: dict[tuple[str, str], dict[str, float]] = {}  # of a user and a query

    def page_credits(self) -> PageCredits:
        """Return the credits of all pages."""
        self._credit_clicks()
        rankers = self._rankers()
        rows = [[row.get(ranker, 0.0) for ranker in rankers] for row in self.credits.values()]
        users = [user for user, _ in self.credits]
        counts = {
            "queries": len(self.interleaved),
            "queries_with_credit": len(rows),
            "users": self.interleaved["user"].drop_nulls().n_unique(),
            "clicks": len(self.clicks),
        }
        matrix = np.array(rows, float).reshape(len(rows), len(rankers))
        return PageCredits(self._method(), rankers, users, matrix, counts, self.problems.problems())

    def _rankers(self) -> tuple[str, ...]:
        teams = self.interleaved["hit_teams"].explode().drop_nulls().unique().to_list()
        credited = {ranker for row in self.credits.values() for ranker in row}
        return tuple(sorted({*teams, *credited} - {""}))

    def _method(self) -> str:
        """Return the methods that the log names; without any, a click counts for its team."""
        names = self.interleaved["attributes"].str.json_path_match("$.interleaving").drop_nulls()
        return ", ".join(sorted(names.unique().to_list())) or _DEFAULT_METHOD

    def _read_pages(self) -> dict[str, _Page]:
        clicked = self.clicks["query_id"].drop_nulls().unique().to_list()
        rows = self.interleaved.filter(pl.col("query_id").is_in(clicked)).select(_PAGE_COLUMNS)
        return {row[0]: self._page(*row[1:]) for row in rows.iter_rows()}

    def _page(
        self,
        user: str | None,
        hits: list[str],
        teams: list[str],
        attributes: str | None,
        source: str,
        line: int | None,
    ) -> _Page:
        record = json.loads(attributes) if attributes else {}
        credit = record.get("credit_by_doc")
        if credit is not None and not _is_credit(credit):
            self.problems.add("credit record that cannot be read", Place(source, line, str(credit)[:80]))
            credit = None
        uncredited = record.get("uncredited_docs")
        docs = frozenset(map(str, uncredited)) if isinstance(uncredited, list) else frozenset()
        return _Page(user, dict(zip(hits, teams, strict=True)), credit, docs)

    def _credit_clicks(self) -> None:
        seen: set[tuple[str, str]] = set()
        for query, doc, place in self._documents():
            page = self.pages[query]
            if (query, doc) in seen:
                self.problems.add("document clicked again", place)
                continue
            seen.add((query, doc))
            credit = page.credit(doc, page.team_by_doc.get(doc, "")) if page.team_by_doc.get(doc) else None
            if credit is None:
                self.problems.add("click on a document without a team", place)
            elif not credit:
                self.problems.add("click on a shared or filled rank", place)
            elif page.user is None:
                self.problems.add("click on a query without a user", place)
            else:
                total = self.credits.setdefault((page.user, query), {})
                for ranker, value in credit.items():
                    total[ranker] = total.get(ranker, 0.0) + float(value)

    def _documents(self) -> Iterator[tuple[str, str, Place]]:
        """Yield the query and the document of each click that has both; the others are counted."""
        for query, doc, attributes, is_repeated, source, line in self.clicks.iter_rows():
            place = Place(source or "", line, doc or "")
            problem = self._problem(query, is_repeated)
            if problem:
                self.problems.add(problem, place)
                continue
            page = self.pages[query]
            if doc is None:
                self.problems.add("click without a document", place)
            elif doc in page.team_by_doc or self._learn_team(query, doc, attributes):
                yield query, doc, place
            else:
                self.problems.add("click on a document that the list does not have", place)

    def _problem(self, query: str | None, is_repeated: bool | None) -> str:
        """Return why a click cannot be credited whatever was clicked, or an empty text."""
        if query is None:
            return "click without a query id"
        if query not in self.known:
            return "click of an unknown query"
        if query in self.others:
            return "click on a query of another experiment"
        if query not in self.pages:
            return "click on a query that is not interleaved"
        return "repeated event" if is_repeated else ""

    def _learn_team(self, query: str, doc: str, attributes: str | None) -> bool:
        """Take the team of a document from the click itself, and return whether it names one."""
        record = json.loads(attributes) if attributes else {}
        team = next((record[name] for name in _TEAM_NAMES if isinstance(record.get(name), str)), None)
        if team is None:
            return False
        page = self.pages[query]
        self.pages[query] = page._replace(team_by_doc={**page.team_by_doc, doc: team})
        return True


def _of_experiment(queries: pl.DataFrame, experiment: str | None) -> pl.DataFrame:
    """Return the queries of an experiment; without a name, all queries must be of the same one.

    A ranker that did not take part in an experiment would lose to one that did.
    """
    names = sorted(queries["experiment_id"].drop_nulls().unique().to_list())
    if experiment is None:
        if len(names) > 1:
            raise InputError(
                f"expected interleaved lists of one experiment, found {', '.join(names)}; "
                "name one with --experiment"
            )
        return queries
    if experiment not in names:
        found = ", ".join(names) or "lists without an experiment_id"
        hint = did_you_mean(experiment, names)
        ending = f"; {hint}" if hint else ""
        raise InputError(
            f"expected interleaved lists of the experiment {experiment!r}, found {found}{ending}"
        )
    return queries.filter(pl.col("experiment_id") == experiment)


def _is_credit(value: Any) -> bool:
    """Whether a value has a number of 0 or more for rankers of each document."""
    return isinstance(value, dict) and all(
        isinstance(row, dict) and all(isinstance(x, int | float) and 0 <= x < math.inf for x in row.values())
        for row in value.values()
    )
