"""What can be measured, one measure in full, and what to choose, in every format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from assay.measures import ALIASES
from assay.measures.choosing import Judged, Recommendation
from assay.measures.measure import REQUIRED, Definition
from assay.measures.purposes import PURPOSES, advice, is_own, trec_eval_names
from assay.measures.uses import USES, Match, cutoff_in
from assay.views import text
from assay.views.sections import Section, render

CUTOFFS = {
    "none": "no",
    "optional": "`@k`, may be left out",
    "required": "`@k`",
    "recall": "`@level`, a recall from 0 to 1",
}
SUMS = {
    "mean": "mean, BCa bootstrap",
    "share": "share of queries, Wilson",
    "geometric": "geometric mean, BCa bootstrap",
    "quantile": "order statistic, binomial",
}
_WIDEST = 70  # of what a measure of the user's own says of itself


class Chosen(NamedTuple):
    """What was described and recommended."""

    description: str
    matches: Sequence[Match]
    recommendations: Sequence[Recommendation]
    k: int | None = None
    judged: Judged | None = None
    qrels: str = "QRELS"

    @property
    def command(self) -> str:
        """How to compute what is recommended."""
        measures = "".join(f" -m {quote(r.measure)}" for r in self.recommendations)
        return f"assay eval {quote(self.qrels)} RUN{measures}"


def listing(definitions: Sequence[Definition], style: str) -> str:
    """All measures, grouped by what they are for."""
    if style in ("json", "csv"):
        return _data(definitions, style)
    parts = [_group(purpose, definitions) for purpose in PURPOSES]
    own = [[d.name, text.shorten(advice(d).what, _WIDEST), *_scale(d)] for d in definitions if is_own(d)]
    parts.append(Section("your own", (), _HEAD, own))
    return render("Measures", parts, style)


def in_full(definitions: Sequence[Definition], style: str) -> str:
    """Measures with all that is known of them."""
    if style in ("json", "csv"):
        return _data(definitions, style)
    return render("Measures", [Section(d.name, _described(d)) for d in definitions], style)


def chosen(made: Chosen, style: str) -> str:
    """What to measure and why, with a command to run."""
    if style == "json":
        return json.dumps(_chosen_dict(made), indent=1, ensure_ascii=False)
    if style == "csv":
        rows = [[r.measure, r.term, r.purpose, r.why, "; ".join(r.because)] for r in made.recommendations]
        return text.csv(["measure", "term", "purpose", "why", "because"], rows)
    parts = [Section("", _recognised(made) + _judged(made.judged)), _known(made)]
    parts.append(Section("what to measure", [_recommended(r, made) for r in made.recommendations]))
    parts.append(Section("", (), ["how"], [[made.command]]))
    return render("What to measure", parts, style)


_HEAD = ("measure", "what it is", "values", "better")


def _group(purpose: str, definitions: Sequence[Definition]) -> Section:
    rows = []
    for d in definitions:
        known = advice(d)
        if purpose in known.typical:
            rows.append([known.typical[purpose], known.what, *_scale(d)])
    return Section(purpose, [PURPOSES[purpose]], _HEAD, rows)


def _scale(d: Definition) -> tuple[str, str]:
    """The values of a measure, and which are better."""
    return advice(d).values, _better(d)


def _better(d: Definition) -> str:
    if "of" in d.defaults and not is_own(d):
        return "its measure's"
    return "lower" if d.lower_is_better else "higher"


def _described(d: Definition) -> list[str]:
    """All that is known of a measure, line by line."""
    known = advice(d)
    lines = {
        "definition": " ".join(d.text.split()),
        "for": ", ".join(known.purposes) or "your own",
        "when to use it": known.use,
        "when not": known.avoid,
        "written": ", ".join(_examples(d)),
        "parameters": ", ".join(_parameters(d).values()) or "none",
        "cutoff": CUTOFFS[d.cutoff].replace("`", ""),
        "over queries": SUMS[d.kind],
        "values": f"{known.values}; better: {_better(d)}",
        "also read as": ", ".join([*_aliases(d), *trec_eval_names(d.name)]),
    }
    return [f"{name}: {said}" for name, said in lines.items() if said]


def _examples(d: Definition) -> list[str]:
    known = advice(d)
    return list(dict.fromkeys([*known.typical.values(), *known.examples]))


def _parameters(d: Definition) -> dict[str, str]:
    """The parameters with their defaults, as they are shown."""
    return {
        name: f"{name} (must be given)" if value is REQUIRED else f"{name} = {value!r}"
        for name, value in d.defaults.items()
    }


def _aliases(d: Definition) -> list[str]:
    return [alias for alias, name in ALIASES.items() if name == d.name and alias != name.lower()]


def to_dict(d: Definition) -> dict[str, object]:
    """A measure as plain data."""
    known = advice(d)
    defaults = {name: None if value is REQUIRED else value for name, value in d.defaults.items()}
    return {
        "name": d.name,
        "own": is_own(d),
        "purposes": list(known.purposes),
        "typical": dict(known.typical),
        "what": known.what,
        "definition": " ".join(d.text.split()),
        "use": known.use or None,
        "avoid": known.avoid or None,
        "examples": _examples(d),
        "parameters": defaults,
        "required": [name for name, value in d.defaults.items() if value is REQUIRED],
        "cutoff": d.cutoff,
        "over_queries": SUMS[d.kind],
        "values": known.values,
        "better": _better(d),
        "aliases": _aliases(d),
        "trec_eval": trec_eval_names(d.name),
    }


def _data(definitions: Sequence[Definition], style: str) -> str:
    made = [to_dict(d) for d in definitions]
    if style == "json":
        return json.dumps({"measures": made}, indent=1, ensure_ascii=False, default=repr)
    head = [
        "name",
        "purposes",
        "what",
        "use",
        "avoid",
        "examples",
        "cutoff",
        "over_queries",
        "values",
        "better",
    ]
    return text.csv(head, [[_cell(row[name]) for name in head] for row in made])


def _cell(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _recognised(made: Chosen) -> list[str]:
    """What the description was taken for."""
    found = None if made.k else cutoff_in(made.description)
    cutoff = [] if found is None else [f"a cutoff of {found.k}, because of: {found.words}"]
    if made.matches:
        return [f"{m.use.name}, because of: {', '.join(m.words)}" for m in made.matches] + cutoff
    if not made.description.strip():
        return ["nothing was described (--for): this is what is safe for any search"]
    return [f"nothing was recognised in “{made.description}”: this is what is safe for any search", *cutoff]


def _known(made: Chosen) -> Section:
    """The words that would have been recognised."""
    missed = made.description.strip() and not made.matches
    rows = [f"{use.name}: {', '.join(map(_word, use.words))}" for use in USES] if missed else []
    return Section("words that are known", rows)


def _word(word: str) -> str:
    return word.replace("*", "…")


def _judged(judged: Judged | None) -> list[str]:
    if judged is None:
        return []
    grades = "graded" if judged.graded else "binary"
    each = f"{judged.judged_per_query:.1f} judged and {judged.relevant_per_query:.1f} relevant documents each"
    one = "" if judged.single is None else f"; {100 * judged.single:.0f} % of those with any have one"
    return [f"{grades} judgments of {judged.queries:,} queries, {each}{one}"]


def _recommended(r: Recommendation, made: Chosen) -> str:
    """A measure with its reason, and what led to it where not everything was led to by the same."""
    alike = len({other.because for other in made.recommendations}) == 1
    cause = "" if alike or not r.because else f" (because of: {', '.join(r.because)})"
    term = "" if r.term == r.measure else f" ({r.term})"
    return f"{r.measure}{term}, {r.purpose}: {r.why}{cause}"


def _recommended_dict(r: Recommendation) -> dict[str, object]:
    return {
        "measure": r.measure,
        "term": r.term,
        "purpose": r.purpose,
        "why": r.why,
        "because": list(r.because),
    }


def _chosen_dict(made: Chosen) -> dict[str, object]:
    return {
        "description": made.description,
        "recognised": [{"use": m.use.name, "because": list(m.words)} for m in made.matches],
        "known_words": {use.name: [_word(word) for word in use.words] for use in USES},
        "judgments": None if made.judged is None else made.judged._asdict(),
        "recommendations": [_recommended_dict(r) for r in made.recommendations],
        "command": made.command,
    }
