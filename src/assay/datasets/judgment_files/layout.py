"""The two layouts of tables of judgments: one row for each judgment, or one column for each judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from assay.core.columns import match_columns
from assay.core.errors import FormatError, TableError
from assay.core.judgments import ALIASES, Judgments
from assay.datasets.judgment_files.cells import Cells, build_judgments, check_repeats, is_label
from assay.datasets.judgment_files.grades import is_empty, parse_grades

ITEM = (  # names of a column that identifies what was judged, if there is no pair of query and document
    *("item", "item_id", "unit", "unit_id", "pair", "pair_id", "sample", "sample_id", "example"),
    *("example_id", "object", "object_id", "task", "task_id", "question", "question_id", "id", "_id"),
)
NAMES: dict[str, tuple[str, ...]] = {
    **ALIASES,
    "judge": (
        *ALIASES["judge"],
        *("worker_id", "user_id", "annotator_id", "assessor_id", "user_email", "coder", "reviewer"),
    ),
    "at": (*ALIASES["at"], "updated_at", "date"),
}
_NOT_JUDGES = {  # columns of a wide table that are not judges, even if they hold numbers
    *("text", "title", "url", "rank", "position", "iteration", "iter", "q0", "split", "topic", "index"),
    *("query", "document", "lead_time", "row", "mean", "average", "majority", "truth", "gold", "n"),
}


class Layout(NamedTuple):
    """Which columns of a file say what was judged, by whom and how."""

    query_id: str
    doc_id: str
    judge: str  # empty: the file has no column of judges
    grade: str  # empty: the table is wide
    judges: Sequence[str]  # the columns of a wide table, one for each judge
    others: Mapping[str, str]  # at, source and note


def is_known_name(name: str, columns: Mapping[str, str]) -> bool:
    """Return whether a column of judgments may have this name.

    >>> is_known_name("Rater", {}), is_known_name("q17", {})
    (True, False)
    """
    lower = name.strip().lower()
    names = {*NAMES, *(alias for aliases in NAMES.values() for alias in aliases), *ITEM}
    return lower in names or name in columns.values() or name in _listed_judges(columns)


def read_cells(cells: Cells, name: str, columns: Mapping[str, str], labels: Mapping[str, float]) -> Judgments:
    """Return the judgments of a table, long or wide; `name` is the judge of a table without judges."""
    layout = _find_layout(cells, columns, labels)
    if not layout.grade:
        return _read_wide(cells, layout, labels)
    judges: Sequence[Any] = cells.columns[layout.judge] if layout.judge else [name] * len(cells.places)
    own = {
        "query_id": cells.columns[layout.query_id],
        "doc_id": cells.columns[layout.doc_id],
        "judge": judges,
        "grade": cells.columns[layout.grade],
        **{target: cells.columns[source] for target, source in layout.others.items()},
    }
    return build_judgments(Cells(own, cells.places, cells.label, cells.unit), labels)


def _find_layout(cells: Cells, columns: Mapping[str, str], labels: Mapping[str, float]) -> Layout:
    """Return the layout of a table by the names of its columns."""
    names = list(cells.columns)
    wanted = _listed_judges(columns)
    mapped = {target: source for target, source in columns.items() if target != "judges"}
    try:
        matches = {target: name for name, target in match_columns(names, NAMES, mapped).items()}
    except TableError as error:
        raise FormatError(str(error), cells.label) from None
    query, doc = _find_pair(names, matches, cells.label)
    others: dict[str, str] = {
        target: matches[target] for target in ("at", "source", "note") if target in matches
    }
    if wanted or "judge" not in matches:
        judges = wanted or _find_judges(cells, {query, doc, *matches.values()}, labels)
        if wanted or (judges and "grade" not in matches):
            _require_names(wanted, names, cells.label)
            return Layout(query, doc, "", "", judges, others)
        if judges and "grade" not in columns:
            raise FormatError(
                f"expected a column of judges beside the grades in {matches.get('grade', 'grade')!r}, or one "
                f"column for each judge, found also numbers in {', '.join(judges)}: say which it is with "
                f"--columns grade={matches.get('grade', 'grade')} or --columns judges={','.join(judges)} "
                "(columns= in Python)",
                cells.label,
            )
    if "grade" not in matches:
        raise FormatError(
            "expected columns query_id, doc_id, judge, grade, or one column of grades for each judge, found "
            f"{', '.join(names)[:100]}: name them with --columns grade=NAME or --columns judges=NAME,NAME "
            "(columns= in Python)",
            cells.label,
        )
    return Layout(query, doc, matches.get("judge", ""), matches["grade"], (), others)


def _listed_judges(columns: Mapping[str, str]) -> list[str]:
    return [name for name in columns.get("judges", "").split(",") if name]


def _require_names(wanted: Sequence[str], names: Sequence[str], label: str) -> None:
    missing = [name for name in wanted if name not in names]
    if missing:
        raise FormatError(f"there is no column {missing[0]!r} among {', '.join(names)}", label)


def _find_pair(names: Sequence[str], matches: Mapping[str, str], label: str) -> tuple[str, str]:
    """Return the columns of the query and the document; a single item is both."""
    by_lower = {name.lower(): name for name in reversed(names)}
    used = set(matches.values())
    item = next((by_lower[name] for name in ITEM if name in by_lower and by_lower[name] not in used), "")
    query, doc = matches.get("query_id", ""), matches.get("doc_id", "")
    if not (query or doc or item):
        raise FormatError(
            "expected columns query_id and doc_id, or one such as item or id, found "
            f"{', '.join(names)[:100]}: name it with --columns doc_id=NAME (columns= in Python)",
            label,
        )
    if query and (doc or item):
        return query, doc or item
    return query or doc or item, query or doc or item


def _find_judges(cells: Cells, used: set[str], labels: Mapping[str, float]) -> list[str]:
    """Return the columns of which most cells that are not empty hold numbers or labels of a scale."""
    return [
        name
        for name, values in cells.columns.items()
        if name not in used and not _is_other(name) and _holds_grades(values, labels)
    ]


def _is_other(name: str) -> bool:
    lower = name.strip().lower()
    return lower in _NOT_JUDGES or lower in ITEM or lower.endswith(("_id", "_at"))


def _holds_grades(values: Sequence[Any], labels: Mapping[str, float]) -> bool:
    rated = [value for value in values if not is_empty(value)]
    texts = [row for row in parse_grades(rated).texts if not is_label(rated[row], labels)]
    return bool(rated) and 2 * len(texts) <= len(rated)


def _read_wide(cells: Cells, layout: Layout, labels: Mapping[str, float]) -> Judgments:
    """Return the judgments of a wide table, row by row; an empty cell is no judgment."""
    grades = cells.grades(layout.judges, labels)
    rows, columns = np.nonzero(~np.isnan(grades))
    if not len(rows):
        raise FormatError(f"expected grades in {', '.join(layout.judges)}, found none", cells.label)
    queries, docs = (
        np.array(cells.ids(name, target), object)
        for name, target in ((layout.query_id, "query_id"), (layout.doc_id, "doc_id"))
    )
    judges = np.array([name.strip() for name in layout.judges], object)
    data: dict[str, Any] = {
        "query_id": pl.Series(queries[rows], dtype=pl.String),
        "doc_id": pl.Series(docs[rows], dtype=pl.String),
        "judge": pl.Series(judges[columns], dtype=pl.String),
        "grade": grades[rows, columns],
    }
    frame = pl.DataFrame(data)
    check_repeats(frame, cells, rows)
    return Judgments(frame)
