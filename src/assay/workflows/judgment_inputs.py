"""Judgments of files, annotation projects and stored evaluation sets, joined to one table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import KEY, Judgments
from assay.core.suggestions import did_you_mean
from assay.datasets.judgment_files import read_judgments

PROJECT, DATASET = "project:", "dataset:"
COLUMNS = ("query_id", "doc_id", "judge", "grade", "at", "source", "note", "judges")


def open_judgments(
    sources: Sequence[str],
    columns: Sequence[str] = (),
    store: str | None = None,
    labels: Sequence[str] = (),
    format: str | None = None,  # noqa: A002
) -> Judgments:
    """Return the judgments of all sources; a source is a path, JUDGE=PATH, project:NAME or dataset:NAME.

    `columns` are NAME=COLUMN, `labels` TEXT=GRADE. JUDGE=PATH names the judge of a file that has only one.
    """
    if not sources:
        raise InputError("expected files of judgments, project:NAME or dataset:NAME, found none")
    if list(sources).count("-") > 1:
        raise InputError("standard input (-) can be read only once; give the other files by their paths")
    names, grades = parse_columns(columns), parse_labels(labels)
    tables = [_open_source(source, names, grades, store, format) for source in sources]
    return join_judgments(sources, tables)


def _open_source(
    source: str,
    columns: Mapping[str, str],
    labels: Mapping[str, float],
    store: str | None,
    file_format: str | None,
) -> Judgments:
    if source.startswith(PROJECT):
        from assay.workflows.annotation import project_judgments  # loads the store

        return project_judgments(source.removeprefix(PROJECT), store)
    if source.startswith(DATASET):
        return _open_dataset(source, store)
    judge, equals, path = source.partition("=")
    if not equals or os.sep in judge or os.path.exists(source):
        return read_judgments(source, file_format, columns, labels)
    judgments = read_judgments(path, file_format, columns, labels)
    if len(judgments.judges) != 1:
        raise InputError(
            f"{source}: expected one judge in {path}, found {len(judgments.judges)}: give the path"
        )
    return Judgments(judgments.frame.with_columns(judge=pl.lit(judge)))


def _open_dataset(source: str, store: str | None) -> Judgments:
    """Return the judgments of a stored evaluation set."""
    from assay.workflows.dataset_versions import open_tables  # loads the store

    label, tables = open_tables(source, store)
    judgments = tables.get("judgments")
    if not isinstance(judgments, Judgments):
        raise InputError(
            f"{label} has no judgments, only {', '.join(tables)}: import it with --judgments FILE, or export "
            "it and give its qrels"
        )
    return judgments


def join_judgments(sources: Sequence[str], tables: Sequence[Judgments]) -> Judgments:
    """Return the judgments of several sources; a judge who judged a pair in two of them is an error."""
    if len(tables) == 1:
        return tables[0]
    frame = pl.concat([table.frame.with_columns(_place=pl.lit(place)) for place, table in enumerate(tables)])
    repeated = frame.filter(pl.struct(KEY).is_duplicated()).sort(KEY)
    if len(repeated):
        first, second = (sources[repeated["_place"][row]] for row in (0, 1))
        query, doc, judge = repeated.select(KEY).row(0)
        raise InputError(
            f"judge {judge!r} judged document {doc!r} of query {query!r} in {first} and in {second}: "
            "give one of the two, or name the judges of files with one judge (NAME=FILE)"
        )
    return Judgments(frame.drop("_place"))


def parse_columns(options: Sequence[str]) -> dict[str, str]:
    """Return the column of each name.

    >>> parse_columns(["grade=new_relevance"])
    {'grade': 'new_relevance'}
    """
    columns = {}
    for text in options:
        name, equals, column = text.removeprefix("judgments:").partition("=")
        if name not in COLUMNS or not equals or not column:
            hint = did_you_mean(name, COLUMNS)
            raise InputError(
                f"--columns expects NAME=COLUMN with a name of {', '.join(COLUMNS)}, found {text!r}"
                + (f"; {hint}" if hint else "")
            )
        columns[name] = column
    return columns


def parse_labels(options: Sequence[str]) -> dict[str, float]:
    """Return the grade of each text.

    >>> parse_labels(["highly relevant=2"])
    {'highly relevant': 2.0}
    """
    labels = {}
    for text in options:
        label, equals, grade = text.rpartition("=")
        try:
            labels[label] = float(grade)
        except ValueError:
            equals = ""
        if not equals or not label:
            raise InputError(f"--label expects TEXT=GRADE such as relevant=1, found {text!r}")
    return labels
