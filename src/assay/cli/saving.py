"""The options that record a result as an experiment."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.cli.parsers import add_store
from assay.core.digests import Digested
from assay.core.errors import InputError
from assay.core.groups import Blocks
from assay.project.inputs import Inputs

if TYPE_CHECKING:
    from assay.core.records import Experiment
    from assay.core.tables import Scores
    from assay.evaluation import Evaluation


def add_saving(parser: argparse.ArgumentParser, beside: bool = True) -> None:
    """What to record, and where; and what was measured beside the scores."""
    group = parser.add_argument_group("remembering it")
    group.add_argument("--save", metavar="NAME", help="record the result as an experiment of this name")
    add_store(group)
    group.add_argument("--tag", action="append", default=[], metavar="TAG", help="a tag; may be repeated")
    group.add_argument("--note", default="", metavar="TEXT", help="a note")
    if not beside:
        return
    group.add_argument(
        "--figures", metavar="FILE", help="costs and other numbers beside the scores, by name: TOML or JSON"
    )
    group.add_argument("--latencies", metavar="FILE", help="how long requests took: a column latency_ms")


def digested(arguments: argparse.Namespace, runs: Sequence[Blocks]) -> list[Blocks]:
    """The runs, named by their content on the way where they are to be recorded."""
    if arguments.save is not None and not arguments.save.strip():
        raise InputError("--save expects a name, found none")
    return [Digested(run) for run in runs] if arguments.save else list(runs)


def save(
    arguments: argparse.Namespace,
    inputs: Inputs,
    evaluations: Sequence[Evaluation],
    runs: Sequence[Blocks],
    kind: str,
    configurations: Mapping[str, Mapping[str, Any]],
    result: Mapping[str, Any] | None = None,
) -> None:
    """Record the evaluations, where that was asked for, and say where they are."""
    if not arguments.save:
        return
    from assay.store.saving import experiment_of

    names = [arguments.save] if len(evaluations) == 1 else [f"{arguments.save}/{e.name}" for e in evaluations]
    beside = _beside(arguments, len(evaluations))
    made = [
        experiment_of(
            evaluation,
            name,
            kind=kind,
            qrels=inputs.qrels,
            queries=inputs.queries,
            run=run.digest if isinstance(run, Digested) else None,
            only_common=getattr(arguments, "only_common", False),
            configuration=configurations.get(evaluation.name, {}),
            tags=arguments.tag,
            note=arguments.note,
            result=result,
            **beside,
        )
        for evaluation, name, run in zip(evaluations, names, runs, strict=True)
    ]
    keep(arguments.store, [(one, e.scores) for one, e in zip(made, evaluations, strict=True)])


def keep(store: str | None, made: Sequence[tuple[Experiment, Scores]]) -> None:
    """Put experiments into the store with their scores."""
    from assay.project.places import store_url
    from assay.store.store import Store

    with Store(store_url(store)) as opened:
        for experiment, scores in made:
            kept = opened.put(experiment, scores)
            print(f"saved {kept.name} as {kept.id} in {opened.url}", file=sys.stderr)


def _beside(arguments: argparse.Namespace, runs: int) -> dict[str, Any]:
    """Latency percentiles and figures, which are of one run."""
    if (arguments.figures or arguments.latencies) and runs > 1:
        raise InputError("--figures and --latencies are of one run: save each run by itself")
    made: dict[str, Any] = {}
    if arguments.figures:
        from assay.project.settings import read_settings

        made["figures"] = read_settings(arguments.figures)
    if arguments.latencies:
        from assay.project.latencies import percentiles, read_latencies

        made["latency"] = percentiles(read_latencies(arguments.latencies))
    return made
