"""Notes for standard error: what a reader of a result must know and does not see in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core.tables import Qrels
from assay.evaluation import Evaluation
from assay.evaluation.failures import Failures
from assay.views.evaluation import describe_counts
from assay.views.failures import undetectable_causes
from assay.views.text import shorten


def evaluation_notes(evaluations: Sequence[Evaluation], qrels: Qrels, with_counts: bool = False) -> list[str]:
    """Return a warning if no returned document was judged, and before it the counts, if wanted."""
    notes = [describe_counts(e.name, e.counts) for e in evaluations] if with_counts else []
    ids = ", ".join(qrels.doc_ids.strings[:3])
    notes += warning_notes(evaluations)
    notes += [note for evaluation in evaluations[:1] for note in _weight_notes(evaluation)]
    return notes + [
        f"warning: no document that {e.name} returned was ever judged; the qrels have ids such as {ids}: "
        "check that both use the same document ids"
        for e in evaluations
        if not e.counts.judged_returned
    ]


def _weight_notes(evaluation: Evaluation) -> list[str]:
    """Return what the means are of, if queries or judgments were drawn at random."""
    notes = []
    if evaluation.weights is not None and evaluation.weights.sample is not None:
        sample, population = evaluation.weights.sample, evaluation.weights.population
        noun = "issued queries" if population == "traffic" else "different queries"
        notes.append(
            f"note: means are of all {noun}, by inclusion_probability: {len(sample.weights):,} queries stand "
            f"for {sample.weights.sum():,.0f}, worth {sample.effective_n:,.0f} of equal weight"
        )
    if evaluation.pairs is not None:
        weights = evaluation.pairs.weights
        notes.append(
            f"note: measures are estimated from a random sample of the pool: {len(weights):,} judged pairs "
            f"stand for {weights.sum():,.0f}"
        )
    return notes


def warning_notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the warnings of all evaluations, each once with the runs that it is about."""
    warnings = dict.fromkeys(warning for e in evaluations for warning in e.warnings)
    return [
        f"warning: {', '.join(e.name for e in evaluations if warning in e.warnings)}: {warning}"
        for warning in warnings
    ]


def worst_query_notes(evaluations: Sequence[Evaluation], texts: Mapping[str, str], n: int) -> list[str]:
    """Return a line with the worst queries of each evaluation."""
    if not n:
        return []
    lines = ((e, _describe_worst(e, texts, n)) for e in evaluations)
    return [f"worst by {e.measures[0]} in {e.name}: {line}" for e, line in lines if line]


def _describe_worst(evaluation: Evaluation, texts: Mapping[str, str], n: int) -> str:
    worst = evaluation.worst(n=len(evaluation.scores.query_ids))
    tied = [query for query, value in worst if value == worst[0][1]]
    if len(tied) > n:
        examples = "; ".join(_describe_query(query, texts) for query in tied[:n])
        return f"{len(tied)} queries at {worst[0][1]:.4f}, such as {examples}"
    return "; ".join(f"{_describe_query(query, texts)} {value:.4f}" for query, value in worst[:n])


def _describe_query(query: str, texts: Mapping[str, str]) -> str:
    """Return the id of a query with the beginning of its text."""
    text = shorten(texts.get(query, ""))
    return f"{query} “{text}”" if text else query


def failure_notes(failures: Failures, style: str, n: int) -> list[str]:
    """Return what could not be detected and how to see the other failing queries, as a format needs it."""
    notes = warning_notes([failures.evaluation])
    if not failures.counts.judged_returned:
        notes.append(
            f"warning: no document that {failures.name} returned was ever judged: "
            "check that qrels and run use the same ids"
        )
    if style in ("json", "md", "html", "latex") or not failures.failing:
        return notes
    notes += [f"not checked: {line}" for line in undetectable_causes(failures)]
    if style == "table" and len(failures.failing) > n:
        notes.append("every failing query: --format csv")
    return notes


def unscored_notes(problems: Sequence[str], missing_baseline: str | None) -> list[str]:
    """Return why systems have no scores, and why nothing is compared."""
    notes = [f"{problem}: it has no scores" for problem in problems]
    if missing_baseline is not None:
        notes.append(f"nothing is compared: {missing_baseline} is the baseline")
    return notes


def interrupted_run_note(folder: Path, is_restart: bool) -> str:
    """Return how an interrupted run can be resumed."""
    command = f"finished queries are kept in {folder}: the same command"
    if is_restart:
        return f"{command} without --again resumes the run, except for systems that were not started"
    return f"{command} resumes the run"


def fusion_notes(
    queries: int,
    documents: int,
    incomplete: int,
    output: str | None,
    warnings: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the size of a fused run, what its queries lack, and the doubts about the runs by name."""
    size = f"{queries:,} queries, {documents:,} documents"
    notes = [f"{output}: {size}" if output else size]
    if incomplete:
        notes.append(f"{incomplete:,} queries are not in all runs: they are fused from those that have them")
    return notes + [f"warning: {name}: {text}" for name, texts in warnings.items() for text in texts]


def found_notes(
    tables: Mapping[str, str | None], runs: Sequence[str], endpoints: Sequence[str], problems: Sequence[str]
) -> list[str]:
    """Return what was found in a folder and in the environment, and which files could not be read."""
    notes = [f"found {noun}: {path}" for noun, path in tables.items() if path]
    notes += [f"found a run: {path}" for path in runs]
    notes += [f"not used: {problem}" for problem in problems]
    return notes + [f"found an endpoint in the environment: {name}" for name in endpoints]


def next_step_notes(path: Path, can_run: bool, can_gate: bool, needs_search: bool) -> list[str]:
    """Return the commands to run after an assay.toml was written, or what to add to it first."""
    option = "" if path.parent == Path() else f" --project {path}"
    notes = ["next:"]
    if needs_search:
        notes.append(f"  name documents, or your search as [systems.mine], in it, then: assay run{option}")
    elif can_run:
        notes.append(f"  assay run{option}")
    else:
        notes.append(f"  name queries (and documents, or a search of yours) in it, then: assay run{option}")
    if can_gate:
        notes.append(f"  assay gate{option}")
    return notes
