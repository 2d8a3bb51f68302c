"""Failing queries by cause and slice as a report, and as JSON and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.evaluation.failure_cases import FailureScope
from assay.evaluation.failures import FailingSlice, Failure, Failures, UndetectableCause
from assay.stats import Estimate
from assay.views import text
from assay.views.causes import CAUSE_TEXTS, describe_evidence, describe_fix
from assay.views.numbers import NO_VALUE, format_exact, format_interval, format_percent, format_value
from assay.views.recall_levels import describe_standing, standing_dict
from assay.views.sections import Section, input_section, render_sections

DEFAULT_QUERIES_SHOWN = 5


def render_failures(
    failures: Failures,
    style: str,
    show: int = DEFAULT_QUERIES_SHOWN,
    digests: Mapping[str, str] | None = None,
) -> str:
    """Failures in one of the formats; JSON and CSV contain every failing query, the others the worst."""
    if style == "csv":
        return text.render_csv(*_csv(failures))
    lines = [] if style == "table" else undetectable_causes(failures)
    worst = [_query_section(failure, failures.scope) for failure in failures.failing[:show]]
    parts = [_score(failures), _causes(failures), _slices(failures), _heading(failures, show), *worst]
    inputs = [input_section(digests or {})] * (style == "html")
    return render_sections("Failures", [*parts, Section("not checked", lines), *inputs], style)


def undetectable_causes(failures: Failures) -> list[str]:
    """The causes that could not be checked, and the input that each one needs."""
    return [f"{u.causes}: give {_describe_input(u, failures.scope)}" for u in failures.undetectable]


_INPUTS = {
    "document texts": "the documents' texts: --documents",
    "documents": "the documents: --documents",
    "query texts": "the queries' texts: --queries",
    "exact search": "the run of exact search: --exact",
    "deeper run": "a run that is deeper than {k}",
    "depth": "--depth above {k}",
    "judgments": "judgments of most returned documents, including irrelevant ones",
}


def _describe_input(undetectable: UndetectableCause, scope: FailureScope) -> str:
    """What to give so that causes can be checked."""
    return _INPUTS[undetectable.missing_input].format(k=scope.k)


def _score(failures: Failures) -> Section:
    """The score with the level to aim for, and how many queries fail."""
    e, standing = failures.estimate, failures.standing
    lines = [f"{failures.name}: {failures.measure} {_estimate(e)}, n {e.n:,}"]
    lines += [f"level to aim for: {describe_standing(standing)}"] if standing else []
    side = "above" if failures.measure.lower_is_better else "below"
    count = f"{len(failures.failing):,} of {failures.n:,} queries"
    lines.append(
        f"{side} {failures.below:g}: {count}, {format_percent(failures.share)}"
        if failures.failing
        else _no_failure_note(failures)
    )
    lines += [f"undefined for {failures.undefined_queries:,} queries, which are left out"] * bool(
        failures.undefined_queries
    )
    if failures.failing and failures.scope.depth > failures.scope.k:
        best = f"with the first {failures.scope.depth} results of each query in the best order"
        lines.append(f"{best}: {failures.measure} {_estimate(failures.reranked_estimate)}")
    return Section("", lines)


def _no_failure_note(failures: Failures) -> str:
    side = "above" if failures.measure.lower_is_better else "below"
    return f"no query is {side} {failures.below:g}: none of {failures.n:,} fails"


def _estimate(e: Estimate) -> str:
    return f"{format_value(e.value)} ({format_interval(e)})"


def _causes(failures: Failures) -> Section:
    rows = []
    for key, queries in failures.by_cause.items():
        share = f"{len(queries) / len(failures.failing):.2f}"
        rows.append([key, str(len(queries)), share, describe_fix(key, failures.scope)])
    return Section("likely causes", (), ["cause", "queries", "share", "what it points to"], rows)


def _slices(failures: Failures) -> Section:
    level = f"{100 * failures.share.level:g} % interval"
    head = ["slice", "n", "failing", "share", level, "likely causes"]
    rows = [_slice_row(part) for part in failures.by_slice]
    spans = [(s.share.low, s.share.value, s.share.high) for s in failures.by_slice]
    return Section("by slice", (), head, rows, spans)


def _slice_row(part: FailingSlice) -> list[str]:
    causes = [f"{count} {cause}" for cause, count in part.causes.items()]
    cells = [f"{part.column}: {part.value}", str(part.n), str(part.failing), format_value(part.share.value)]
    return [
        *cells,
        format_interval(part.share),
        ", ".join(causes[:2]) + ", …" * (len(causes) > 2) or NO_VALUE,
    ]


def _heading(failures: Failures, show: int) -> Section:
    """A line that introduces the sections of single queries."""
    count = min(show, len(failures.failing))
    line = f"the worst {count} of {len(failures.failing):,}, each with its likely cause first"
    return Section("", [line] * bool(count))


def _query_section(failure: Failure, scope: FailureScope) -> Section:
    """A failing query with its evidence."""
    lines = [f"{evidence.cause}: {describe_evidence(evidence, scope)}" for evidence in failure.evidence]
    title = f"{failure.query_id} {format_value(failure.value)}"
    query_text = text.shorten(" ".join((failure.text or "").split()), 90)
    return Section(f"{title} “{query_text}”" if query_text else title, lines)


def _csv(failures: Failures) -> tuple[list[str], list[list[str]]]:
    """One row for each piece of evidence of each failing query."""
    columns = list(dict.fromkeys(s.column for s in failures.by_slice))
    head = ["query_id", "value", "text", *columns, "place", "cause", "explained", "missing"]
    rows = [
        [f.query_id, format_exact(f.value), f.text or "", *(f.slices[column] for column in columns), *cells]
        for f in failures.failing
        for cells in _cells(f, failures.scope)
    ]
    return [*head, "documents", "evidence"], rows


def _cells(failure: Failure, scope: FailureScope) -> list[list[str]]:
    missing = str(len(failure.missing))
    return [
        [
            str(place),
            e.cause,
            str(e.explained_documents),
            missing,
            " ".join(e.documents),
            describe_evidence(e, scope),
        ]
        for place, e in enumerate(failure.evidence, 1)
    ]


def failures_dict(failures: Failures) -> dict[str, Any]:
    """Return failures as plain data, with the keys that `assay failures --format json` prints."""
    standing = failures.standing
    return {
        "name": failures.name,
        "measure": str(failures.measure),
        "below": failures.below,
        "lower_is_better": failures.measure.lower_is_better,
        "depth": failures.scope.depth,
        "n": failures.n,
        "undefined": failures.undefined_queries,
        "estimate": failures.estimate.to_dict(),
        "standing": standing and standing_dict(standing),
        "reranked": failures.reranked_estimate.to_dict(),
        "failing": len(failures.failing),
        "share": failures.share.to_dict(),
        "causes": [_cause_dict(failures, cause) for cause in failures.by_cause],
        "slices": [s._asdict() | {"share": s.share.to_dict()} for s in failures.by_slice],
        "queries": [_failure_dict(failure, failures.scope) for failure in failures.failing],
        "unknown": [
            {"what": u.causes, "give": _describe_input(u, failures.scope)} for u in failures.undetectable
        ],
        "level": failures.evaluation.level,
        "seed": failures.evaluation.seed,
    }


def _cause_dict(failures: Failures, key: str) -> dict[str, Any]:
    failing = failures.by_cause[key]
    return {
        "cause": key,
        "queries": len(failing),
        "share": len(failing) / len(failures.failing),
        "means": CAUSE_TEXTS[key].means,
        "fix": describe_fix(key, failures.scope),
        "query_ids": [failure.query_id for failure in failing],
    }


def _failure_dict(failure: Failure, scope: FailureScope) -> dict[str, Any]:
    evidence = [
        {
            "cause": e.cause,
            "text": describe_evidence(e, scope),
            "documents": list(e.documents),
            "explained": e.explained_documents,
        }
        for e in failure.evidence
    ]
    return failure._asdict() | {"evidence": evidence, "cause": failure.cause}
