"""The findings of a study beyond the mean recall, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from assay.bench.studies.findings import PERCENTILES, StudyFindings, TrialFindings
from assay.bench.studies.matched_pairs import MatchedPair
from assay.bench.studies.recall_correlation import DELTAS
from assay.stats.intervals import Estimate
from assay.views.bench_summary import advice_sections
from assay.views.numbers import NO_VALUE, format_estimate, format_p, format_ratio
from assay.views.sections import Section
from assay.views.study_comparisons import (
    data_set_sections,
    frontier_section,
    parameter_sections,
    pooled_section,
    reranking_section,
)
from assay.views.terminal_tables import drop_empty_columns, fit_to_terminal

_QUERIES_SHOWN = 10  # query numbers in a row


def finding_sections(findings: StudyFindings, style: str = "table") -> list[Section]:
    """The findings, one table for each question that has an answer; in a terminal with short names."""
    tables = [drop_empty_columns(*table) for table in _tables(findings)]
    if style == "table":
        tables = list(map(fit_to_terminal, tables))
    tables = [table for table in tables if table.rows]
    return [*tables, Section("Notes", findings.notes)]


def _tables(findings: StudyFindings) -> list[tuple[Section, int]]:
    """All tables, each with its number of label columns."""
    return [
        (_spread(findings), 2),
        (_curves(findings), 1),
        (_matched_pairs(findings), 2),
        (pooled_section(findings), 4),
        (_severity(findings), 1),
        (reranking_section(findings), 1),
        (_correlations(findings), 1),
        (_quarters(findings), 2),
        (_failing(findings), 1),
        (_information(findings), 1),
        *((section, 1) for section in data_set_sections(findings)),
        *((section, 2) for section in parameter_sections(findings)),
        (frontier_section(findings), 2),
        *((section, 2) for section in advice_sections(findings)),
    ]


def _spread(findings: StudyFindings) -> Section:
    columns: dict[str, Callable[[TrialFindings], str]] = {
        "index": lambda finding: finding.label,
        "family": lambda finding: finding.family,
        f"R@{findings.k}": lambda finding: format_estimate(finding.recall),
        **{f"p{p}": partial(_format_percentile, name=f"p{p}") for p in PERCENTILES},
        f"below {findings.delta:g}": lambda finding: format_estimate(finding.failure, interval_digits=4),
    }
    if findings.delta * findings.k > 1:  # otherwise they are the same queries
        columns["no hit"] = lambda finding: format_estimate(finding.zero_hit, interval_digits=4)
    rows = [[column(finding) for column in columns.values()] for finding in findings.trials]
    return Section("Behind the mean", _spread_notes(findings), list(columns), rows)


def _format_percentile(finding: TrialFindings, name: str) -> str:
    return format_estimate(finding.percentiles[name], 2, 2)


def _spread_notes(findings: StudyFindings) -> list[str]:
    failing = f"below {findings.delta:g} is the share of queries with a lower recall"
    notes = [failing] if any(finding.failure.value is not None for finding in findings.trials) else []
    if any(finding.percentiles["p5"].n for finding in findings.trials):
        notes.insert(0, "p5 is the recall below which at most 5 % of queries fall")
    query_counts = sorted({finding.failure.n for finding in findings.trials if finding.failure.n})
    queries = (
        f"{query_counts[0]:,}" + (f" to {query_counts[-1]:,}" if len(query_counts) > 1 else "")
        if query_counts
        else ""
    )
    return [
        *notes,
        *[f"intervals are of {100 * findings.level:g} %, over {queries} queries"] * bool(queries),
    ]


def _curves(findings: StudyFindings) -> Section:
    deltas = sorted({step for finding in findings.trials for step, _ in finding.curve})
    steps = deltas if len(deltas) <= len(DELTAS) else list(DELTAS)
    rows = [
        [finding.label, *(_robustness_at(finding, step) for step in steps)]
        for finding in findings.trials
        if finding.curve
    ]
    notes = ["the share of queries with a recall of at least δ"]
    return Section(f"Robustness-δ@{findings.k}", notes, ["δ", *(f"{step:.3g}" for step in steps)], rows)


def _robustness_at(finding: TrialFindings, delta: float) -> str:
    """Robustness at δ, which equals that at the next possible recall; a curve of single points has none."""
    for step, share in finding.curve:
        if abs(step - delta) < 1e-9 or (step > delta and finding.histogram is not None):
            return format_estimate(share)
    return NO_VALUE


def _matched_pairs(findings: StudyFindings) -> Section:
    """Matched pairs, each on two lines with its ratio on the first."""
    head = ["index", "family", f"R@{findings.k}", f"below {findings.delta:g}", "times as often", "p"]
    labels = {finding.key: finding.label for finding in findings.trials}
    rows = []
    for pair in findings.matched:
        first, second = map(format_estimate, pair.recalls)
        first_rate, second_rate = (
            format_estimate(rate, interval_digits=4) for rate in (pair.ratio.first, pair.ratio.second)
        )
        rows.append(
            [
                labels[pair.first],
                pair.families[0],
                first,
                first_rate,
                _format_pair_ratio(pair),
                format_p(pair.ratio.p),
            ]
        )
        rows.append([f"against {labels[pair.second]}", pair.families[1], second, second_rate, "", ""])
    notes = [
        "how many times as often the first fails as the one it is compared with; below 1, less often",
        "p by McNemar: whether they fail equally often",
    ]
    return Section("At the same mean recall", notes, head, rows)


def _format_pair_ratio(pair: MatchedPair) -> str:
    ratio = pair.ratio.ratio
    if ratio.value is None:
        return NO_VALUE if ratio.low is None else f"at least {format_ratio(ratio.low)}"
    if ratio.low is None and ratio.high is None:
        return format_ratio(ratio.value)
    bounds = (NO_VALUE if end is None else format_ratio(end) for end in (ratio.low, ratio.high))
    return f"{format_ratio(ratio.value)} ({' … '.join(bounds)})"


def _severity(findings: StudyFindings) -> Section:
    severities = [
        (finding.label, finding.severity) for finding in findings.trials if finding.severity is not None
    ]
    if not severities:
        return Section("")
    edges = severities[0][1].edges
    bands = [f"{low + 1}–{high}" for low, high in pairwise(edges)]
    head = ["index", "queries", *bands, f"outside {edges[-1]}", "missing"]
    rows = [
        [
            label,
            f"{severity.failed:,}",
            *(f"{count:,}" for count in severity.bands),
            format_estimate(severity.outside),
            f"{severity.missing:,}",
        ]
        for label, severity in severities
    ]
    note = f"true ranks of the answers to queries with a recall of at most {findings.at_most:g}"
    return Section("How bad failures are", [note], head, rows)


def _correlations(findings: StudyFindings) -> Section:
    findings_with_relations = [finding for finding in findings.trials if finding.relations]
    head = [
        "index",
        *(relation.feature for finding in findings_with_relations[:1] for relation in finding.relations),
    ]
    rows = [
        [finding.label, *(_format_correlation(r.correlation) for r in finding.relations)]
        for finding in findings_with_relations
    ]
    return Section("What makes queries hard: rank correlation with recall", [], head, rows)


def _format_correlation(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return NO_VALUE
    return f"{estimate.value:+.2f} ({estimate.low:.2f} … {estimate.high:.2f})"


def _quarters(findings: StudyFindings) -> Section:
    """The failure rate at both ends of each feature, for configurations with failing queries."""
    rows = [
        [
            finding.label,
            relation.feature,
            *(format_estimate(relation.quartiles[end], interval_digits=4) for end in (0, -1)),
        ]
        for finding in findings.trials
        if finding.failure.value
        for relation in finding.relations
    ]
    share = f"The share below {findings.delta:g} in the quarters with the lowest and the highest values"
    return Section(share, [], ["index", "feature", "lowest quarter", "highest quarter"], rows)


def _failing(findings: StudyFindings) -> Section:
    if findings.failing is None:
        return Section("")
    labels = {finding.key: finding.label for finding in findings.trials}
    groups = {"on every index": findings.failing.everywhere}
    groups |= {
        f"on each {name} index, and no other": queries for name, queries in findings.failing.families.items()
    }
    groups |= {
        f"on some {name} indexes, and no other": queries for name, queries in findings.failing.some.items()
    }
    groups |= {f"only on {labels[key]}": queries for key, queries in findings.failing.alone.items()}
    groups["on some of several families"] = findings.failing.mixed
    rows = [
        [name, f"{len(queries):,}", _format_query_numbers(queries)]
        for name, queries in groups.items()
        if queries
    ]
    head = ["where", "queries", "their numbers"]
    return Section(f"Which queries have recall below {findings.delta:g}", [], head, rows)


def _format_query_numbers(queries: Sequence[int]) -> str:
    return " ".join(map(str, queries[:_QUERIES_SHOWN])) + " …" * (len(queries) > _QUERIES_SHOWN)


def _information(findings: StudyFindings) -> Section:
    rows = [
        [information.measure, f"{information.r2:.3f}", str(information.n)]
        for information in findings.information
        if information.r2 is not None
    ]
    note = f"r² with R@{findings.k} across configurations: a measure near 1 adds little to the mean"
    return Section("Which measures say more than the mean", [note], ["measure", "r²", "configurations"], rows)
