"""Hypothesis strategies for tables, and the property that every format must have."""

import math
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import Collection, Kind, Table, read, write

quick = settings(max_examples=60, deadline=None)
words = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Z", "Cs"), exclude_characters="#\ufeff")
)
tame_ids = words.filter(bool)
any_ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
scores = st.floats(allow_nan=False)
grades = st.integers(-2, 10**7)
values = st.one_of(
    st.none(), st.integers(-(10**17), 10**17), st.floats(allow_nan=False), st.booleans(), texts
)


def qrels(ids: st.SearchStrategy[str] = tame_ids) -> st.SearchStrategy[Qrels]:
    return _nested(ids, grades).map(Qrels)


def runs(ids: st.SearchStrategy[str] = tame_ids) -> st.SearchStrategy[Run]:
    return _nested(ids, scores).map(Run)


def _nested(ids: st.SearchStrategy[str], value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    docs = st.dictionaries(ids, value, min_size=1, max_size=6)
    return st.dictionaries(ids, docs, min_size=1, max_size=5)


@st.composite
def queries(draw: st.DrawFn, value: st.SearchStrategy[Any] = values, text: Any = texts) -> Queries:
    return Queries(_columns(draw, "query_id", value, text))


@st.composite
def documents(draw: st.DrawFn, value: st.SearchStrategy[Any] = values, text: Any = texts) -> Documents:
    return Documents(_columns(draw, "doc_id", value, text))


def _columns(draw: st.DrawFn, key: str, value: Any, text: Any) -> dict[str, list[Any]]:
    ids = draw(st.lists(any_ids, min_size=1, max_size=5, unique=True))
    names = draw(st.lists(st.sampled_from(("category", "at", "frequency", "title", "x.y")), unique=True))
    columns: dict[str, list[Any]] = {key: ids}
    for name in ("text", *names):
        strategy = text if name in ("text", "title") else value
        columns[name] = draw(st.lists(strategy, min_size=len(ids), max_size=len(ids)))
    return columns


def is_infinite(value: Any) -> bool:
    return isinstance(value, float) and math.isinf(value)


def write_and_read(table: Table | Collection, path: Path, kind: Kind | None, format: str) -> Any:  # noqa: A002
    """Write a table and return the table that is read again."""
    write(table, path, format=format)
    return read(path, kind, format=format)


def check_kept_or_refused(table: Table, path: Path, kind: Kind, format: str) -> bool:  # noqa: A002
    """Return whether a table was written; check that it is read again unchanged, or that no file is left."""
    path.unlink(missing_ok=True)
    try:
        write(table, path, format=format)
    except InputError:
        assert list(path.parent.iterdir()) == []
        return False
    read_table = read(path, kind, format=format)
    assert read_table == table
    assert read_table.digest == table.digest
    path.unlink()
    return True
