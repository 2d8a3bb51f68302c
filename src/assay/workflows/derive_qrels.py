"""Derive qrels from the judgments of several judges: what `assay judge qrels` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assay.core.errors import InputError
from assay.core.judgments import Judgments
from assay.core.tables import Qrels
from assay.datasets import write
from assay.datasets.output_files import open_for_writing, refuse_inputs_as_outputs
from assay.judging.aggregation import Aggregation, Rule, aggregate
from assay.workflows.dataset_sample import write_recipe
from assay.workflows.judgment_inputs import open_judgments

PAIR_FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")


@dataclass(frozen=True, kw_only=True)
class DeriveQrelsRequest:
    """The judgments, the rule that makes one grade of them, and the files to write."""

    judgments: Sequence[str]  # paths, JUDGE=PATH, project:NAME or dataset:NAME
    rule: Rule
    output: str | None = None  # the qrels
    pairs: str | None = None  # each pair with its grade, confidence and posterior probabilities
    recipe: str | None = None  # default: beside the qrels
    columns: Sequence[str] = ()
    labels: Sequence[str] = ()
    file_format: str | None = None
    store: str | None = None

    def __post_init__(self) -> None:
        if self.pairs is not None and not self.pairs.lower().endswith(PAIR_FORMATS):
            raise InputError(
                f"--pairs expects a file name with {', '.join(PAIR_FORMATS)}, found {self.pairs}"
            )
        paths = [os.path.abspath(path) for path in (self.output, self.pairs, self.recipe) if path]
        if len(set(paths)) != len(paths):
            raise InputError("-o, --pairs and --recipe must be different files")

    @property
    def recipe_path(self) -> str | None:
        """Where the recipe is written: beside the qrels if no file is named."""
        if self.recipe is not None or self.output is None:
            return self.recipe
        return f"{os.path.splitext(self.output)[0]}.recipe.json"


@dataclass(frozen=True)
class DerivedQrels:
    """The grades that a rule made, and the files that were written."""

    aggregation: Aggregation
    sources: Sequence[str]
    recipe: dict[str, Any]
    files: dict[str, str]  # by what they hold: qrels, pairs, recipe

    def to_dict(self) -> dict[str, Any]:
        """Return the grades as plain data, as `assay judge qrels --format json` prints them."""
        return {**self.aggregation.to_dict(), "sources": list(self.sources), "files": self.files}


def derive_qrels(request: DeriveQrelsRequest) -> DerivedQrels:
    """Make one grade for each pair by a rule, and write the qrels, the pairs and the recipe."""
    refuse_inputs_as_outputs((request.output, request.pairs, request.recipe_path), request.judgments)
    judgments = open_judgments(
        request.judgments, request.columns, request.store, request.labels, request.file_format
    )
    aggregation = aggregate(judgments, request.rule)
    qrels = aggregation.qrels()
    recipe = describe_labels(aggregation, judgments, qrels, request.judgments)
    files = {
        name: path
        for name, path in (
            ("qrels", request.output),
            ("pairs", request.pairs),
            ("recipe", request.recipe_path),
        )
        if path is not None
    }
    if request.output is not None:
        write(qrels, request.output)
    if request.pairs is not None:
        _write_pairs(aggregation, request.pairs)
    if request.recipe_path is not None:
        write_recipe(recipe, request.recipe_path)
    return DerivedQrels(aggregation, request.judgments, recipe, files)


def describe_labels(
    aggregation: Aggregation, judgments: Judgments, qrels: Qrels, sources: Sequence[str]
) -> dict[str, Any]:
    """Return how the qrels were made, as `assay dataset import --recipe` reads it."""
    return {
        "labels": {
            **aggregation.rule.to_dict(),
            "sources": [os.path.basename(source) for source in sources],
            "judges": judgments.judges,
            "counts": aggregation.counts,
            "digests": {"judgments": judgments.digest, "qrels": qrels.digest},
        }
    }


def _write_pairs(aggregation: Aggregation, path: str) -> None:
    """Write the pairs; the probability of each grade is a column `p_GRADE` if the rule has them."""
    frame = aggregation.pairs
    model = aggregation.model
    if model is not None and aggregation.rule.name == "dawid-skene":
        scale = aggregation.judges[0].scale
        columns = {f"p_{grade:g}": model.posterior[:, code] for code, grade in enumerate(scale)}
        frame = frame.with_columns(pl.Series(name, values).fill_nan(None) for name, values in columns.items())
    with open_for_writing(Path(path)) as file:
        name = path.lower()
        if name.endswith(".parquet"):
            frame.write_parquet(file)
        elif name.endswith(".jsonl"):
            frame.write_ndjson(file)
        else:
            frame.write_csv(file, separator="\t" if name.endswith(".tsv") else ",")
