"""A benchmark as one report: what was measured, what the mean recall hides, and how to get the same again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain

from assay.indexes.study.findings import Findings
from assay.indexes.study.observed import Study
from assay.indexes.trials import Trial
from assay.views.drawn import Part, drawn_page
from assay.views.fitting import wrapped
from assay.views.sections import Section, render
from assay.views.study import sections
from assay.views.trials import ordered_trials, trial_sections

FORMATS = ("table", "json", "md", "html")
TITLE = "What the mean recall hides"
_AGAIN = "what is in the folder already is not measured again: name another (-o) to measure everything anew"


def bench_report(
    study: Study, found: Findings, commands: Sequence[str], style: str, recall: float = 0.9
) -> str:
    """A report in one of the formats; the commands are those that make it again."""
    if style == "json":
        plain = {"about": dict(study.about), **found.to_dict(), "reproduce": list(commands)}
        return json.dumps(plain, ensure_ascii=False, indent=1)
    again = Section(
        "How to get the same again",
        [_AGAIN] * bool(study.about),
        ["command"],
        [[command] for command in commands],
    )
    trials = trial_sections(ordered_trials([one.trial for one in study.observed]), narrow=style == "table")
    told = [*sections(found, style), *trials]
    if style == "table":
        return render(TITLE, [wrapped(_measured(study)), *told, again], style)
    if style == "md":
        return render(TITLE, [_measured(study), *told, again], style)
    from assay.views.bench_parts import Told, figure_parts  # it draws, and the other formats do not

    parts = [
        Part(_measured(study)),
        *figure_parts(Told(study, found, recall)),
        *map(Part, told),
        Part(Section(again.title, again.notes), code="\n".join(commands)),
    ]
    return drawn_page(TITLE, [part for part in parts if part.section.notes or part.section.rows or part.code])


def _measured(study: Study) -> Section:
    """The data and the machine, as far as they are known."""
    trials = [one.trial for one in study.observed]
    told = [["trials", f"{len(trials):,} of {study.source}, mode {trials[0].mode}"], ["K", str(study.k)]]
    told += _data(study) + [["machine", machine] for machine in _machines(trials)]
    told.append(["versions", ", ".join(dict.fromkeys(f"{t.engine} {t.version}".strip() for t in trials))])
    return Section("What was measured", [], ["", ""], told)


def _data(study: Study) -> list[list[str]]:
    if not study.about:
        return []
    data, sources, options = (study.about[name] for name in ("data", "sources", "options"))
    return [
        ["base", f"{data['n']:,} × {data['d']} {data['dtype']}, {data['metric']}: {sources['base']}"],
        ["queries", f"{data['queries']:,}: {sources['queries'] or sources['base']}"],
        ["truth", sources["truth"] or "made here"],
        ["passes", f"{options['repetitions']}, each after a warm-up of {_warmup(options['warmup'])}"],
    ]


def _warmup(n: int | None) -> str:
    return "every query, a fifth of a second to a second long" if n is None else f"{n:,} searches"


def _machines(trials: Sequence[Trial]) -> list[str]:
    """Each machine that times were taken on."""
    told = (", ".join(f"{name} {value}" for name, value in trial.machine.items()) for trial in trials)
    return list(filter(None, dict.fromkeys(chain(told))))
