"""Comparisons as a table with its meaning in words, and as JSON, CSV, Markdown and HTML."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.evaluation.compare import Comparisons, Mover
from assay.evaluation.overlap import Overlap
from assay.evaluation.readings import Reading, signed
from assay.stats import Estimate
from assay.stats.comparison import Comparison
from assay.views import text
from assay.views.estimates import p_value
from assay.views.evaluation import counts, exact, interval, number
from assay.views.sections import Section, render

Texts = Mapping[str, str]
_STATES = {"up": "▲ better", "down": "▼ worse", "same": "= same", "open": "? open"}


def comparison(made: Comparisons, style: str, texts: Texts | None = None, movers: int = 3) -> str:
    """All that was compared, in one of the formats."""
    if style == "json":
        return json.dumps(to_dict(made, movers), indent=1, ensure_ascii=False)
    if style == "csv":
        return text.csv(*_csv(made))
    return render("Comparison", sections(made, texts or {}, movers), style)


def sections(made: Comparisons, texts: Texts, movers: int) -> list[Section]:
    """The parts of the report."""
    many = len(made.candidates) > 1
    parts = [Section("", [counts(name, c) for name, c in made.counts.items()] + _left_out(made))]
    parts.append(_differences(made, many))
    for name in made.candidates:
        about = f" of {name}" if many else ""
        said = [r.text for r in made.readings if r.candidate == name]
        parts.append(Section(f"what it means{about}", said or ["nothing is shown either way"]))
        parts += _movers(made, name, about, texts, movers)
    parts.append(_configuration(made))
    parts.append(_all_pairs(made))
    parts.append(Section("how far to trust it", _trust(made)))
    return parts


def comparison_sections(made: Comparisons) -> list[Section]:
    """What a comparison means, for a report that is about something else."""
    said = [r.text for r in made.readings]
    return [Section("what the change means", said), _configuration(made)]


def _left_out(made: Comparisons) -> list[str]:
    return [f"{made.left_out:,} queries left out: they are not in all runs"] * bool(made.left_out)


def _differences(made: Comparisons, many: bool) -> Section:
    sliced = any(row.column for row in made.rows)
    level = f"{100 * made.options.level:g} % interval"
    head = ["measure", *["slice"] * sliced, *["candidate"] * many, "before", "after", "difference", level]
    head += ["p", "corrected", "+/=/−", "n", f"±{made.options.margin:g}"]
    rows, last = [], ("", "")
    for row in made.rows:
        labels = [row.measure, *[row.slice] * sliced, *[row.candidate_name] * many]
        if (row.measure, row.candidate_name) == last:
            labels[0] = ""
        last = (row.measure, row.candidate_name)
        rows.append([*labels, *_cells(row, made.options.margin)])
    spans = [(row.difference.low, row.difference.value, row.difference.high) for row in made.rows]
    return Section("", (), head, rows, spans, _scale(spans))


def _cells(row: Comparison, margin: float) -> list[str]:
    e = row.difference
    moves = "–" if row.wins is None else f"{row.wins}/{row.ties}/{row.losses}"
    return [
        number(row.baseline),
        number(row.candidate),
        "–" if e.value is None else signed(e.value),
        interval(e, signed),
        p_value(row.p),
        p_value(row.corrected),
        moves,
        str(e.n),
        _STATES[row.state(margin)],
    ]


def _scale(spans: Sequence[tuple[float | None, ...]]) -> tuple[float, float]:
    """An axis with 0 in its middle that holds every interval."""
    ends = [abs(end) for span in spans for end in span if end is not None]
    reach = math.ceil(max([0.01, *ends]) * 100) / 100
    return -reach, reach


def _movers(made: Comparisons, name: str, about: str, texts: Texts, n: int) -> list[Section]:
    """The queries that moved most."""
    parts = []
    for title, movers in zip(("winners", "losers"), made.movers(name, n=n), strict=True):
        head = ["query", *["text"] * bool(texts), "before", "after", "difference"]
        rows = [_mover(mover, texts) for mover in movers]
        parts.append(Section(f"biggest {title}{about} by {made.measures[0]}", (), head, rows))
    return parts


def _mover(mover: Mover, texts: Texts) -> list[str]:
    named = [text.shorten(texts.get(mover.query_id, ""))] if texts else []
    values = (number(mover.baseline), number(mover.candidate), signed(mover.difference))
    return [mover.query_id, *named, *values]


def _configuration(made: Comparisons) -> Section:
    names = list(dict.fromkeys(name for row in made.configuration.values() for name in row))
    rows = [[key, *(_plain(row.get(name)) for name in names)] for key, row in made.configuration.items()]
    return Section("what differs in configuration", (), ["setting", *names], rows)


def _plain(value: Any) -> str:
    return "–" if value is None else str(value)


def _all_pairs(made: Comparisons) -> Section:
    head = ["measure", "first", "second", "difference", f"{100 * made.options.level:g} % interval", "p"]
    rows = [
        [
            p.measure,
            p.first,
            p.second,
            signed(p.difference),
            f"{signed(p.low)} … {signed(p.high)}",
            p_value(p.p),
        ]
        for p in made.all_pairs
    ]
    return Section("all pairs (Tukey's HSD)", (), head, rows)


def _trust(made: Comparisons) -> list[str]:
    """What the queries can tell, how alike the runs are, and how it was tested."""
    said = []
    for name in made.candidates:
        sizes = made.sizes.get(name, {})
        first = sizes.get(str(made.measures[0]))
        said += [f"{name} by {made.measures[0]}: {first.words}"] if first else []
    said += [f"{name} against {made.baseline}: {_alike(o)}" for name, o in made.overlaps.items()]
    return [*said, _tested(made)]


def _alike(o: Overlap) -> str:
    return (
        f"Jaccard@{o.k} {_short(o.jaccard)}, RBO {_short(o.rbo)}, the same first document in "
        f"{_short(o.same_first)} of the queries, n {o.jaccard.n:,}"
    )


def _short(e: Estimate) -> str:
    value, low, high = ("–" if end is None else f"{end:.3f}" for end in e[:3])
    return f"{value} ({low} … {high})"


_CORRECTED = {
    "holm": "Holm's correction over the table (half of the error for all queries, half for their slices)",
    "bh": "Benjamini and Hochberg's correction over the table",
    "none": "no correction",
}


def _tested(made: Comparisons) -> str:
    tests = list(dict.fromkeys(row.test for row in made.rows))
    return f"p by {', '.join(tests)}; {_CORRECTED[made.options.correction]}; intervals are not corrected"


def _csv(made: Comparisons) -> tuple[list[str], list[list[str]]]:
    head = [
        "baseline",
        "candidate",
        "column",
        "slice",
        "measure",
        "before",
        "after",
        "difference",
        "low",
        "high",
    ]
    head += ["level", "n", "test", "p", "corrected_p", "wins", "ties", "losses", "effect", "state"]
    rows = []
    for row in made.rows:
        e = row.difference
        values = [*map(exact, (row.baseline, row.candidate, *e[:4])), str(e.n), row.test]
        moves = ["" if count is None else str(count) for count in (row.wins, row.ties, row.losses)]
        names = [row.baseline_name, row.candidate_name, row.column, row.value, row.measure]
        ends = [exact(row.effect), row.state(made.options.margin)]
        rows.append([*names, *values, exact(row.p), exact(row.corrected), *moves, *ends])
    return head, rows


def to_dict(made: Comparisons, movers: int = 3) -> dict[str, Any]:
    """Comparisons as plain data, with the keys that `assay compare --format json` prints."""
    o = made.options
    return {
        "baseline": made.baseline,
        "candidates": [_candidate(made, name, movers) for name in made.candidates],
        "all_pairs": [pair._asdict() for pair in made.all_pairs],
        "configuration": made.configuration,
        "left_out": made.left_out,
        "counts": {name: c._asdict() for name, c in made.counts.items()},
        "test": o.test,
        "correction": o.correction,
        "margin": o.margin,
        "level": o.level,
        "seed": o.seed,
    }


def _candidate(made: Comparisons, name: str, movers: int) -> dict[str, Any]:
    winners, losers = made.movers(name, n=movers)
    sizes = made.sizes.get(name, {}).items()
    return {
        "name": name,
        "comparisons": [row_dict(row, made.options.margin) for row in made.of(name)],
        "readings": [_reading(r, made.options.margin) for r in made.readings if r.candidate == name],
        "winners": [m._asdict() | {"difference": m.difference} for m in winners],
        "losers": [m._asdict() | {"difference": m.difference} for m in losers],
        "overlap": _overlap(made.overlaps.get(name)),
        "size": {measure: s._asdict() | {"verdict": s.verdict} for measure, s in sizes},
    }


def row_dict(row: Comparison, margin: float) -> dict[str, Any]:
    """One comparison as plain data."""
    return {
        "measure": row.measure,
        "column": row.column or None,
        "slice": row.value or None,
        "baseline": row.baseline,
        "candidate": row.candidate,
        "difference": row.difference.to_dict(),
        "test": row.test,
        "p": row.p,
        "corrected_p": row.corrected,
        "wins": row.wins,
        "ties": row.ties,
        "losses": row.losses,
        "effect": row.effect,
        "state": row.state(margin),
    }


def _reading(reading: Reading, margin: float) -> dict[str, Any]:
    return {
        "key": reading.key,
        "text": reading.text,
        "evidence": [row_dict(row, margin) for row in reading.evidence],
    }


def _overlap(o: Overlap | None) -> dict[str, Any] | None:
    if o is None:
        return None
    return {"k": o.k} | {name: e.to_dict() for name, e in o._asdict().items() if name != "k"}
