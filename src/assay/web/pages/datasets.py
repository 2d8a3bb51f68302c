"""Evaluation sets: versions, what differs between them, who used them, their faults and their pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.records import DatasetVersion
from assay.judging.checks import ERROR, WARNING
from assay.judging.dataset_diff import Change
from assay.views.dataset_check import describe_check_counts
from assay.views.stored_labels import describe_changes, describe_coverage
from assay.web.page import Action, Context, Page, Parameters, View
from assay.workflows.dataset_history import (
    TABS,
    DatasetHistory,
    DatasetHistoryRequest,
    VersionDifference,
    show_dataset,
)
from assay.workflows.dataset_versions import (
    DatasetList,
    ListDatasetsRequest,
    list_datasets,
)
from assay.workflows.system_numbers import number_systems

_NOUNS = {"queries": "queries", "qrels": "labels", "documents": "documents", "judgments": "judgments"}
_ROWS = 50  # of each kind of a difference
_COMMANDS = {
    "diff": "assay dataset diff dataset:{against} dataset:{label}",
    "coverage": "assay dataset versions {name}",
    "checks": "assay dataset check dataset:{label}",
    "pools": "assay judge projects",
}


class DatasetsParameters(Parameters):
    """All evaluation sets are shown."""


class DatasetParameters(Parameters):
    """The evaluation set, its version, and what to show of it."""

    name: str = ""  # part of the path
    version: str = ""
    against: str = ""
    tab: str = "diff"


def read_datasets(context: Context, parameters: DatasetsParameters) -> DatasetList:
    """Return the versions of all evaluation sets."""
    return list_datasets(ListDatasetsRequest(store=context.store))


def present_datasets(context: Context, value: DatasetList, parameters: DatasetsParameters) -> View:
    """Return each evaluation set with its newest version and the number of versions."""
    newest: dict[str, DatasetVersion] = {}
    counts: dict[str, int] = {}
    for version in value.versions:
        newest.setdefault(version.name, version)
        counts[version.name] = counts.get(version.name, 0) + 1
    return View("Datasets", "assay dataset versions", {"newest": list(newest.values()), "counts": counts})


def read_dataset(context: Context, parameters: DatasetParameters) -> DatasetHistory:
    """Return the versions of an evaluation set and one view of one of them."""
    return show_dataset(
        DatasetHistoryRequest(
            name=parameters.name,
            version=parameters.version,
            against=parameters.against,
            tab=parameters.tab,
            store=context.store,
        )
    )


def present_dataset(context: Context, value: DatasetHistory, parameters: DatasetParameters) -> View:
    """Return the versions at left and the chosen tab."""
    version = value.version
    against = parameters.against or (version.parent or "")[:8]
    parts: dict[str, Any] = {
        "history": value,
        "version": version,
        "short": version.digest[:8],
        "tabs": TABS,
        "against": against,
        "others": [v for v in value.versions if v.digest != version.digest],
        "recipe": group_recipe(version.recipe),
        "summary": _summarize(value),
        "tables": [] if value.diff is None else _diff_tables(value.diff),
        "texts": {} if value.diff is None else value.diff.texts,
        "numbers": number_systems([row.experiment.name for row in value.coverage], context.store),
    }
    command = _COMMANDS[value.tab].format(
        name=version.name, label=version.label, against=f"{version.name}@{against}" if against else "OTHER"
    )
    return View(version.name, command, parts)


def group_recipe(recipe: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a recipe: the settings of each, and what lies deeper.

    >>> group_recipe({"sample": {"n": 100, "by": [], "counts": {"rows": 280}}})
    [{'name': 'sample', 'main': [('n', '100')], 'more': [('counts rows', '280')]}]
    """
    parts = []
    for name, part in recipe.items():
        rows = _flatten(part if isinstance(part, Mapping) else {name: part})
        main = [(path[0].replace("_", " "), value) for path, value in rows if len(path) == 1]
        more = [(" ".join(path).replace("_", " "), value) for path, value in rows if len(path) > 1]
        parts.append({"name": name.replace("_", " "), "main": main, "more": more})
    return parts


def _flatten(settings: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """Return the settings that are not empty, each with its path."""
    rows: list[tuple[tuple[str, ...], str]] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            rows += _flatten(value, (*path, key))
        elif value not in (None, "", []):
            rows += (
                _flatten_list((*path, key), value)
                if isinstance(value, list)
                else [((*path, key), _plain(value))]
            )
    return rows


def _flatten_list(path: tuple[str, ...], values: list[Any]) -> list[tuple[tuple[str, ...], str]]:
    if not any(isinstance(value, Mapping) for value in values):
        return [(path, ", ".join(map(_plain, values)))]
    parts = [value if isinstance(value, Mapping) else {"value": value} for value in values]
    return [row for place, part in enumerate(parts, 1) for row in _flatten(part, (*path, str(place)))]


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _summarize(value: DatasetHistory) -> dict[str, str]:
    """Return what the tab shows in one sentence, with a state."""
    if value.diff is not None:
        difference = value.diff.difference
        is_same = not any(difference.diff.values())
        return {
            "state": "same" if is_same else "open",
            "title": describe_changes(difference.diff),
            "evidence": f"{difference.first} → {difference.second}",
        }
    if value.check is not None:
        check = value.check
        state = "failed" if check.severities[ERROR] else "open" if check.severities[WARNING] else "passed"
        return {
            "state": state,
            "title": describe_check_counts(value.version.label, check.counts, check.severities),
            "evidence": "",
        }
    if value.tab == "coverage" and value.coverage:
        versions = [row.version for row in value.coverage]
        return {"state": "open", "title": describe_coverage(value.version.label, versions), "evidence": ""}
    return {}


def _diff_tables(value: VersionDifference) -> list[dict[str, Any]]:
    """Return the counts and the first rows of each table."""
    return [
        {
            "role": role,
            "noun": _NOUNS[role],
            "counts": table.to_dict(0)["counts"],
            "rows": [
                *map(_changed_row, table.changed[:_ROWS]),
                *(_row("added", key, value.grades) for key in table.added[:_ROWS]),
                *(_row("dropped", key, value.grades) for key in table.dropped[:_ROWS]),
            ],
        }
        for role, table in value.difference.diff.items()
    ]


def _changed_row(change: Change) -> dict[str, Any]:
    values = {"field": change.field, "before": change.before, "after": change.after}
    return {"kind": "changed", "key": change.key, "is_grade": change.field == "grade", **values}


def _row(kind: str, key: tuple[str, ...], grades: Mapping[tuple[str, ...], float | None]) -> dict[str, Any]:
    has_grade = key in grades
    values = {"field": "grade" if has_grade else "", "before": grades.get(key), "after": grades.get(key)}
    return {"kind": kind, "key": key, "is_grade": has_grade, **values}


PAGES = (
    Page(
        "/datasets",
        "Datasets",
        "datasets.html",
        read_datasets,
        present_datasets,
        DatasetsParameters,
        key="D",
    ),
    Page(
        "/datasets/{name:path}",
        "",
        "dataset.html",
        read_dataset,
        present_dataset,
        DatasetParameters,
        is_long=True,
    ),
)
ACTIONS: tuple[Action, ...] = ()
