"""Offline against online, as tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.online.prediction import BestMeasure, DifferencePair, MeasurePrediction, Prediction
from assay.online.prediction_report import PredictionReport, SkippedTest, Suspect
from assay.stats.intervals import Estimate
from assay.views import text
from assay.views.numbers import (
    NO_VALUE,
    format_bounds,
    format_exact,
    format_p_sentence,
    format_signed,
)
from assay.views.sections import Section, render_sections

FORMATS = ("table", "csv", "md", "html", "latex")
_TITLE = "Offline against online"
_LIKELY_BEST = 0.9  # share of resamples in which a measure that is really the best is chosen
_SKIPS = {
    "no_offline": "it has no offline experiments: save it with --save NAME --offline BASELINE CANDIDATE",
    "no_metric": "it has no relative difference of this metric, or several candidates",
}
SUSPECT_NAMES = {
    "stale_labels": "stale labels",
    "position_bias": "position bias in the labels",
    "traffic_mismatch": "queries unlike the traffic",
    "changed_corpus": "changed corpus",
}
_UNKNOWN = {
    "stale_labels": "the store has no times of judgments: import the dataset with --judgments",
    "position_bias": "the store has no judgments by judge: import the dataset with --judgments",
    "traffic_mismatch": "the store has no searches of a log: assay online metrics EVENTS --save NAME",
    "changed_corpus": "the experiments were saved without their documents",
}


def render_prediction(report: PredictionReport, style: str) -> str:
    """Return the report in one of the styles."""
    if style == "csv":
        return text.render_csv(*csv_rows(report.prediction))
    return render_sections(_TITLE, report_sections(report), style)


def report_sections(report: PredictionReport) -> list[Section]:
    """Return the measures, what they mean, the tests, and what contradicts."""
    prediction = report.prediction
    head = ["measure", "n", "Spearman ρ", "interval", "Kendall τ", "interval", "same sign", "interval"]
    rows = [_measure_row(m) for m in prediction.measures]
    slopes = ["measure", "slope", "interval", "intercept", "interval", "reliability", "scatter"]
    lines = [_line_row(m) for m in prediction.measures if m.line.slope.value is not None]
    return [
        Section("", (), head, rows),
        Section("online difference per offline difference", (), slopes, lines),
        Section("what it means", describe_prediction(prediction)),
        Section("offline won, online lost", describe_reversals(report)),
        _pair_section(prediction),
        Section("how far to trust it", describe_method(prediction) + describe_skips(report)),
    ]


def _measure_row(m: MeasurePrediction) -> list[str]:
    cells = [m.measure, f"{m.n}"]
    for e in (m.spearman, m.kendall):
        cells += [_signed(e.value, 2), format_interval_signed(e, 2)]
    return [*cells, _share(m.sign_agreement), _share_interval(m.sign_agreement)]


def _line_row(m: MeasurePrediction) -> list[str]:
    line = m.line
    parts = [_signed(line.slope.value, 2), format_interval_signed(line.slope, 2)]
    parts += [_signed(line.intercept.value, 4), format_interval_signed(line.intercept, 4)]
    return [m.measure, *parts, _plain(line.reliability, 2), _plain(line.scatter, 4)]


def _pair_section(prediction: Prediction) -> Section:
    rows = [
        [
            pair.test,
            pair.measure,
            _signed(pair.offline.value, 4),
            format_interval_signed(pair.offline, 4),
            _signed(pair.online.value, 4),
            format_interval_signed(pair.online, 4),
        ]
        for pair in prediction.pairs
    ]
    return Section("tests", (), ["test", "measure", "offline", "interval", "online", "interval"], rows)


def _signed(value: float | None, digits: int) -> str:
    return NO_VALUE if value is None else format_signed(value, digits)


def _plain(value: float | None, digits: int) -> str:
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def format_interval_signed(e: Estimate, digits: int) -> str:
    """Return the interval of a difference with signs, or a dash."""
    return NO_VALUE if e.has_no_interval else format_bounds(e.low, e.high, lambda x: format_signed(x, digits))


def _share(e: Estimate) -> str:
    return NO_VALUE if e.value is None else f"{round(e.value * e.n)} of {e.n}"


def _share_interval(e: Estimate) -> str:
    return NO_VALUE if e.has_no_interval else format_bounds(e.low, e.high, lambda x: f"{x:.2f}")


def describe_prediction(prediction: Prediction) -> list[str]:
    """Return what the correlations mean, in sentences: the best measure first."""
    if not prediction.is_decidable:
        return [describe_shortage(prediction)]
    sentences = [describe_best(prediction.best)] if prediction.best else []
    return [*sentences, *(describe_measure(m) for m in prediction.measures)]


def describe_shortage(prediction: Prediction) -> str:
    """Return that there are too few tests, and how many are needed."""
    n = max((m.n for m in prediction.measures), default=0)
    noun = "test has" if n == 1 else "tests have"
    return (
        f"cannot be decided: {n} {noun} both differences, and {prediction.least_tests} are the least for a "
        "rank correlation that can differ from none; keep A/B tests with their experiments "
        "(assay online ab … --save NAME --offline BASELINE CANDIDATE)"
    )


def describe_measure(m: MeasurePrediction) -> str:
    """Return whether one measure predicts the online difference."""
    rho = m.spearman
    if rho.value is None:
        return (
            f"{m.measure}: {m.n} tests are too few" if m.n else f"{m.measure}: no test has both differences"
        )
    found = f"Spearman's ρ {format_signed(rho.value, 2)} ({format_interval_signed(rho, 2)}), n {m.n}"
    agreement = f"the sign agrees in {_share(m.sign_agreement)} tests"
    if rho.low is not None and rho.low > 0:
        return f"{m.measure} predicts the online difference: {found}; {agreement}{_describe_line(m)}"
    if rho.high is not None and rho.high < 0:
        return f"{m.measure} points the wrong way: {found}; {agreement}"
    return f"{m.measure} is not shown to predict the online difference: {found}; {agreement}"


def _describe_line(m: MeasurePrediction) -> str:
    slope = m.line.slope
    if slope.value is None:
        return "; no slope: the offline differences hardly exceed their own error"
    # 0.01 offline times the slope, in per cent of the control, is the slope itself.
    interval = format_interval_signed(slope, 2)
    return f"; 0.01 more offline means {format_signed(slope.value, 2)} % online ({interval})"


def describe_best(best: BestMeasure) -> str:
    """Return how far the choice of the best measure can be trusted."""
    chosen = (
        f"{best.measure} has the highest correlation of {best.measures} measures over {best.n} tests; "
        f"{format_p_sentence(best.p)} corrected for the choice"
    )
    left_out = (
        f"chosen on the other tests, the sign agrees in {_share(best.left_out_agreement)} left-out tests"
        f"{_describe_r2(best)}"
    )
    share = f"{round(100 * best.chosen_share)} % of resamples choose it"
    is_clear = best.chosen_share >= _LIKELY_BEST
    ending = share if is_clear else f"only {share}, so no measure is shown to predict better than the others"
    return f"{chosen}; {left_out}; {ending}"


def _describe_r2(best: BestMeasure) -> str:
    r2 = best.left_out_r2
    if r2 is None:
        return ""
    if r2 <= 0:
        return " (its size is predicted no better than by the mean of the other tests)"
    return f" ({round(100 * r2)} % of the variance of its size is predicted)"


def describe_reversals(report: PredictionReport) -> list[str]:
    """Return a warning for each test whose candidate won offline and lost online, with the suspects."""
    notes = []
    for test, pairs in report.prediction.reversals.items():
        notes.append(describe_reversal(test, pairs))
        notes += [describe_suspect(s) for s in report.suspects.get(test, ())]
    if notes and not report.has_store:
        notes.append("a table says nothing of labels, traffic and corpus: keep the tests in the store")
    return notes


def describe_reversal(test: str, pairs: list[DifferencePair]) -> str:
    """Return that a candidate won offline and lost online, with its numbers."""
    won = ", ".join(f"{p.measure} {format_signed(p.offline.value or 0.0)}" for p in pairs)
    online = pairs[0].online
    lost = f"{format_signed(100 * (online.value or 0.0), 2)} %"
    bounds = format_bounds(online.low, online.high, lambda x: f"{format_signed(100 * x, 2)} %")
    return f"warning: {test} won offline ({won}) and lost online ({lost}, {bounds})"


def describe_suspect(s: Suspect) -> str:
    """Return whether the data support one possible reason."""
    marks = {"yes": "likely", "no": "not supported", "unknown": "cannot be checked"}
    found = _UNKNOWN[s.name] if s.status == "unknown" else _EVIDENCE[s.name](s.evidence)
    return f"{SUSPECT_NAMES[s.name]}: {marks[s.status]}: {found}"


def _describe_age(evidence: Mapping[str, Any]) -> str:
    age, limit = evidence["median_age_days"], evidence["limit_days"]
    return f"half of the {evidence['judgments']:,} judgments were older than {age:,.0f} days (limit {limit})"


def _describe_clicks(evidence: Mapping[str, Any]) -> str:
    count, total = evidence["from_clicks"], evidence["judgments"]
    if not count:
        return f"none of the {total:,} judgments comes from clicks"
    if not evidence["uncorrected"]:
        return f"{count:,} of {total:,} judgments come from clicks, by models that allow for the position"
    return (
        f"{evidence['uncorrected']:,} of {total:,} judgments come from clicks without a correction for the "
        "position, which favour what the old ranking showed first: correct them (assay judge clicks --model "
        "pbm) or judge the changed documents"
    )


def _describe_traffic(evidence: Mapping[str, Any]) -> str:
    coverage = evidence["coverage"]
    share = "" if coverage is None else f"; {100 * coverage:.0f} % of the searches are judged queries"
    largest = max(
        evidence["slices"].items(), key=lambda item: abs(item[1]["evaluation"] - item[1]["log"]), default=None
    )
    apart = ""
    if largest is not None:
        label, shares = largest
        apart = (
            f": {label} are {100 * shares['evaluation']:.0f} % of the judged queries and "
            f"{100 * shares['log']:.0f} % of the searches"
        )
    shift, column, log = 100 * evidence["shift"], evidence["column"], evidence["log"]
    return (
        f"{shift:.0f} % of the judged queries would have to be of another {column} to have the shares of "
        f"the searches of {log}{apart}{share}"
    )


def _describe_corpus(evidence: Mapping[str, Any]) -> str:
    groups: dict[str, list[str]] = {}
    for name, digest in evidence["documents"].items():
        groups.setdefault(digest, []).append(name)
    if len(groups) == 1:
        return f"{' and '.join(next(iter(groups.values())))} have the same documents"
    parts = (f"{' and '.join(names)} {digest[:8]}" for digest, names in groups.items())
    return f"the documents differ: {'; '.join(parts)}"


_EVIDENCE: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "stale_labels": _describe_age,
    "position_bias": _describe_clicks,
    "traffic_mismatch": _describe_traffic,
    "changed_corpus": _describe_corpus,
}


def describe_method(prediction: Prediction) -> list[str]:
    """Return how the numbers are computed."""
    if not prediction.is_decidable:
        return []
    level = f"{100 * prediction.level:g} %"
    return [
        f"{level} intervals; the unit is the test; correlations are of measured differences, whose errors "
        "pull them towards 0",
        "slopes allow for the errors of both differences (Fuller's moments); reliability is the share of the "
        "variance of the offline differences that is not error; scatter is what errors do not explain online",
    ]


def describe_skips(report: PredictionReport) -> list[str]:
    """Return which A/B tests are left out, and why."""
    return [describe_skip(entry) for entry in report.skipped]


def describe_skip(entry: SkippedTest) -> str:
    """Return why one A/B test is left out."""
    return f"{entry.test} is left out: {_SKIPS.get(entry.reason, entry.reason)}"


def csv_rows(prediction: Prediction) -> tuple[list[str], list[list[str]]]:
    """Return the differences of all tests, in the columns that `assay online predict` reads."""
    head = ["test", "measure"]
    head += [f"{side}{end}" for side in ("offline", "online") for end in ("", "_low", "_high")]
    rows = [
        [pair.test, pair.measure, *(format_exact(x) for e in (pair.offline, pair.online) for x in e[:3])]
        for pair in prediction.pairs
    ]
    return head, rows
