"""A benchmark as one report: the data, the findings behind the mean recall, and how to reproduce them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from assay.bench.studies.study import Study
from assay.bench.trials import Trial
from assay.views.bench_charts import ReportData, chart_parts
from assay.views.bench_summary import summary_section
from assay.views.chart_page import PagePart, render_chart_page
from assay.views.sections import Section, render_sections
from assay.views.study import finding_sections
from assay.views.terminal_tables import wrap_second_column
from assay.views.trials import sort_trials, trial_sections

FORMATS = ("table", "md", "html", "latex")
TITLE = "What the mean recall hides"
_REUSE_NOTE = (
    "trials already in the folder are not measured again; use another folder (-o) to measure everything again"
)


def render_bench_report(data: ReportData, commands: Sequence[str], style: str) -> str:
    """A report in one of the formats, the main finding first; `commands` reproduce it."""
    study = data.study
    reproduction = Section(
        "How to reproduce this",
        [_REUSE_NOTE] * bool(study.metadata),
        ["command"],
        [[command] for command in commands],
    )
    ordered = sort_trials([result.trial for result in study.scored_trials])
    trials = trial_sections(
        ordered, narrow=style == "table", metadata=study.metadata, delta=data.findings.delta
    )
    tables = [*finding_sections(data.findings, style), *trials]
    summary = summary_section(data.findings)
    if style != "html":
        facts = _data_section(study)
        facts = wrap_second_column(facts) if style == "table" else facts
        return render_sections(TITLE, [summary, facts, *tables, reproduction], style)
    parts = [
        PagePart(summary),
        PagePart(_data_section(study)),
        *chart_parts(data),
        *(PagePart(table, folded=True) for table in tables),
        PagePart(Section(reproduction.title, reproduction.notes), code="\n".join(commands)),
    ]
    return render_chart_page(
        TITLE, [part for part in parts if part.section.notes or part.section.rows or part.code]
    )


def _data_section(study: Study) -> Section:
    """The data and the machine, as far as known."""
    trials = [result.trial for result in study.scored_trials]
    rows = [["trials", f"{len(trials):,} of {study.source}, mode {trials[0].mode}"], ["K", str(study.k)]]
    rows += _data_rows(study) + [["machine", machine] for machine in _machines(trials)]
    rows.append(["versions", ", ".join(dict.fromkeys(f"{t.engine} {t.version}".strip() for t in trials))])
    return Section("What was measured", [], ["", ""], rows)


def _data_rows(study: Study) -> list[list[str]]:
    if not study.metadata:
        return []
    data, sources, options = (study.metadata[name] for name in ("data", "sources", "options"))
    return [
        ["base", f"{data['n']:,} × {data['d']} {data['dtype']}, {data['metric']}: {sources['base']}"],
        ["queries", f"{data['queries']:,}: {sources['queries'] or sources['base']}"],
        *([f"digest of the {name}", digest] for name, digest in data["digests"].items() if digest),
        ["truth", sources["truth"] or "computed here"],
        [
            "passes",
            f"{options['repetitions']}, each after a warm-up of {_describe_warmup(options['warmup'])}",
        ],
    ]


def _describe_warmup(n: int | None) -> str:
    return "every query, for 0.2 to 1 second" if n is None else f"{n:,} searches"


def _machines(trials: Sequence[Trial]) -> list[str]:
    """The machines on which times were measured."""
    texts = (", ".join(f"{name} {value}" for name, value in trial.machine.items()) for trial in trials)
    return list(filter(None, dict.fromkeys(chain(texts))))
