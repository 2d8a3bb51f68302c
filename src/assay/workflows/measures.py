"""List measures and recommend which to use: what `assay measures` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.measures.measure import Definition
from assay.measures.purposes import all_definitions, find_definition
from assay.measures.recommendations import recommend, summarize_judgments
from assay.measures.uses import recognise_uses
from assay.views.measures import MeasureChoice, definitions_dict
from assay.workflows.inputs import TableFiles


@dataclass(frozen=True, kw_only=True)
class ListMeasuresRequest:
    """The measures to show in full; none lists all of them."""

    names: Sequence[str] = ()


@dataclass(frozen=True)
class MeasuresResult:
    """Definitions of measures."""

    definitions: Sequence[Definition]

    def to_dict(self) -> dict[str, Any]:
        """Return the definitions as plain data, as `assay measures --format json` prints them."""
        return definitions_dict(self.definitions)


@dataclass(frozen=True, kw_only=True)
class RecommendMeasuresRequest:
    """What a search is for, in plain words, and judgments to fit the recommendation to."""

    use: str = ""
    k: int | None = None  # how many results are seen
    files: TableFiles = field(default_factory=TableFiles)  # the judgments, if there are any


def list_measures(request: ListMeasuresRequest) -> MeasuresResult:
    """Return the definitions of the measures named, each once, or of all measures."""
    if not request.names:
        return MeasuresResult(all_definitions())
    definitions = [find_definition(name) for name in request.names]
    return MeasuresResult(list({definition.name: definition for definition in definitions}.values()))


def recommend_measures(request: RecommendMeasuresRequest) -> MeasureChoice:
    """Recommend measures for a use, with the reasons."""
    uses = recognise_uses(request.use)
    if request.files.qrels is None:
        return MeasureChoice(request.use, uses, recommend(request.use, k=request.k), request.k)
    judgments = summarize_judgments(request.files.open().qrels)
    recommendations = recommend(
        request.use,
        graded=judgments.graded,
        judged_per_query=judgments.judged_per_query,
        relevant_per_query=judgments.relevant_per_query,
        single=judgments.single,
        k=request.k,
    )
    return MeasureChoice(request.use, uses, recommendations, request.k, judgments, request.files.qrels)
