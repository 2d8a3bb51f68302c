"""The measures, their definitions, and recommendations, in every format."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from assay.measures import ALIASES
from assay.measures.measure import REQUIRED, Definition
from assay.measures.purposes import PURPOSES, is_user_defined, measure_advice, trec_eval_names
from assay.measures.recommendations import JudgmentSummary, Recommendation
from assay.measures.uses import USES, UseMatch, find_cutoff
from assay.views import text
from assay.views.sections import Section, render_sections

CUTOFFS = {
    "none": "no",
    "optional": "`@k`, may be left out",
    "required": "`@k`",
    "recall": "`@level`, a recall from 0 to 1",
}
AGGREGATIONS = {
    "mean": "mean, Gaffke",
    "share": "share of queries, Clopper-Pearson",
    "geometric": "geometric mean, Student's t",
    "quantile": "order statistic, binomial",
}
_MAX_DESCRIPTION = 70  # characters of the description of a user's own measure


class MeasureChoice(NamedTuple):
    """A description of a search, and the measures recommended for it."""

    description: str
    matches: Sequence[UseMatch]
    recommendations: Sequence[Recommendation]
    k: int | None = None
    judged: JudgmentSummary | None = None
    qrels: str = "QRELS"

    @property
    def command(self) -> str:
        """The command that computes the recommended measures."""
        measures = "".join(f" -m {quote(r.measure)}" for r in self.recommendations)
        return f"assay eval {quote(self.qrels)} RUN{measures}"

    def to_dict(self) -> dict[str, object]:
        """The JSON of the choice, as printed by `assay measures --for … --format json`."""
        return {
            "description": self.description,
            "recognised": [{"use": m.use.name, "because": list(m.words)} for m in self.matches],
            "known_words": {use.name: [_word(word) for word in use.words] for use in USES},
            "judgments": None if self.judged is None else self.judged._asdict(),
            "recommendations": [_recommendation_dict(r) for r in self.recommendations],
            "command": self.command,
        }


def render_measures(definitions: Sequence[Definition], style: str) -> str:
    """All measures, grouped by purpose."""
    if style == "csv":
        return _render_csv(definitions)
    parts = [_purpose_section(purpose, definitions) for purpose in PURPOSES]
    own = [
        [d.name, text.shorten(measure_advice(d).what, _MAX_DESCRIPTION), *_scale_cells(d)]
        for d in definitions
        if is_user_defined(d)
    ]
    parts.append(Section("your own", (), _HEAD, own))
    return render_sections("Measures", parts, style)


def render_definitions(definitions: Sequence[Definition], style: str) -> str:
    """The full definitions of measures."""
    if style == "csv":
        return _render_csv(definitions)
    return render_sections("Measures", [Section(d.name, _describe(d)) for d in definitions], style)


def render_choice(choice: MeasureChoice, style: str) -> str:
    """The recommended measures with reasons and a command to run."""
    if style == "csv":
        rows = [[r.measure, r.term, r.purpose, r.why, "; ".join(r.because)] for r in choice.recommendations]
        return text.render_csv(["measure", "term", "purpose", "why", "because"], rows)
    parts = [
        Section("", _describe_matches(choice) + _describe_judgments(choice.judged)),
        _known_words(choice),
    ]
    parts.append(
        Section("what to measure", [_describe_recommendation(r, choice) for r in choice.recommendations])
    )
    parts.append(Section("", (), ["how"], [[choice.command]]))
    return render_sections("What to measure", parts, style)


_HEAD = ("measure", "what it is", "values", "better")


def _purpose_section(purpose: str, definitions: Sequence[Definition]) -> Section:
    rows = []
    for d in definitions:
        advice_of_measure = measure_advice(d)
        if purpose in advice_of_measure.typical:
            rows.append([advice_of_measure.typical[purpose], advice_of_measure.what, *_scale_cells(d)])
    return Section(purpose, [PURPOSES[purpose]], _HEAD, rows)


def _scale_cells(d: Definition) -> tuple[str, str]:
    """The range of a measure, and which direction is better."""
    return measure_advice(d).values, _better_direction(d)


def _better_direction(d: Definition) -> str:
    if "of" in d.defaults and not is_user_defined(d):
        return "its measure's"
    return "lower" if d.lower_is_better else "higher"


def _describe(d: Definition) -> list[str]:
    """The definition of a measure, line by line."""
    advice_of_measure = measure_advice(d)
    lines = {
        "definition": " ".join(d.text.split()),
        "for": ", ".join(advice_of_measure.purposes) or "your own",
        "when to use it": advice_of_measure.use,
        "when not to use it": advice_of_measure.avoid,
        "written": ", ".join(_examples(d)),
        "parameters": ", ".join(_parameters(d).values()) or "none",
        "cutoff": CUTOFFS[d.cutoff].replace("`", ""),
        "over queries": AGGREGATIONS[d.kind],
        "values": f"{advice_of_measure.values}; better: {_better_direction(d)}",
        "also read as": ", ".join([*_aliases(d), *trec_eval_names(d.name)]),
    }
    return [f"{name}: {value}" for name, value in lines.items() if value]


def _examples(d: Definition) -> list[str]:
    advice_of_measure = measure_advice(d)
    return list(dict.fromkeys([*advice_of_measure.typical.values(), *advice_of_measure.examples]))


def _parameters(d: Definition) -> dict[str, str]:
    """The parameters with their defaults, as printed."""
    return {
        name: f"{name} (required)" if value is REQUIRED else f"{name} = {value!r}"
        for name, value in d.defaults.items()
    }


def _aliases(d: Definition) -> list[str]:
    return [alias for alias, name in ALIASES.items() if name == d.name and alias != name.lower()]


def definition_dict(d: Definition) -> dict[str, object]:
    """The JSON of a measure."""
    advice_of_measure = measure_advice(d)
    defaults = {name: _plain_default(value) for name, value in d.defaults.items()}
    return {
        "name": d.name,
        "own": is_user_defined(d),
        "purposes": list(advice_of_measure.purposes),
        "typical": dict(advice_of_measure.typical),
        "what": advice_of_measure.what,
        "definition": " ".join(d.text.split()),
        "use": advice_of_measure.use or None,
        "avoid": advice_of_measure.avoid or None,
        "examples": _examples(d),
        "parameters": defaults,
        "required": [name for name, value in d.defaults.items() if value is REQUIRED],
        "cutoff": d.cutoff,
        "over_queries": AGGREGATIONS[d.kind],
        "values": advice_of_measure.values,
        "better": _better_direction(d),
        "aliases": _aliases(d),
        "trec_eval": trec_eval_names(d.name),
    }


def _plain_default(value: object) -> object:
    """The default of a parameter as JSON can hold it; a measure of the user may have any object."""
    if value is REQUIRED:
        return None
    return value if isinstance(value, bool | int | float | str | None) else repr(value)


def definitions_dict(definitions: Sequence[Definition]) -> dict[str, list[dict[str, object]]]:
    """Return definitions as plain data, with the keys that `assay measures --format json` prints."""
    return {"measures": [definition_dict(d) for d in definitions]}


def _render_csv(definitions: Sequence[Definition]) -> str:
    plain = definitions_dict(definitions)
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
    return text.render_csv(head, [[_cell(row[name]) for name in head] for row in plain["measures"]])


def _cell(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _describe_matches(choice: MeasureChoice) -> list[str]:
    """What was recognised in the description."""
    cutoff_match = None if choice.k else find_cutoff(choice.description)
    cutoff = (
        [] if cutoff_match is None else [f"a cutoff of {cutoff_match.k}, because of: {cutoff_match.words}"]
    )
    if choice.matches:
        return [f"{m.use.name}, because of: {', '.join(m.words)}" for m in choice.matches] + cutoff
    if not choice.description.strip():
        return ["no use was described (--for): these measures suit any search"]
    return [f"nothing was recognised in “{choice.description}”: these measures suit any search", *cutoff]


def _known_words(choice: MeasureChoice) -> Section:
    """The words that can be recognised, if none were."""
    is_unmatched = choice.description.strip() and not choice.matches
    rows = [f"{use.name}: {', '.join(map(_word, use.words))}" for use in USES] if is_unmatched else []
    return Section("known words", rows)


def _word(word: str) -> str:
    return word.replace("*", "…")


def _describe_judgments(judgments: JudgmentSummary | None) -> list[str]:
    if judgments is None:
        return []
    grades = "graded" if judgments.graded else "binary"
    documents = f"{judgments.judged_per_query:.1f} judged and {judgments.relevant_per_query:.1f} relevant"
    share = judgments.single
    single = "" if share is None else f"; {100 * share:.0f} % of those with any have one"
    return [f"{grades} judgments of {judgments.queries:,} queries, {documents} documents each{single}"]


def _describe_recommendation(r: Recommendation, choice: MeasureChoice) -> str:
    """A measure with its reason, and the words that led to it unless they are the same for all."""
    same_reason = len({recommendation.because for recommendation in choice.recommendations}) == 1
    cause = "" if same_reason or not r.because else f" (because of: {', '.join(r.because)})"
    term = "" if r.term == r.measure else f" ({r.term})"
    return f"{r.measure}{term}, {r.purpose}: {r.why}{cause}"


def _recommendation_dict(r: Recommendation) -> dict[str, object]:
    return {
        "measure": r.measure,
        "term": r.term,
        "purpose": r.purpose,
        "why": r.why,
        "because": list(r.because),
    }
