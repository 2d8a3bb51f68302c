"""Time one tool in its own process.

`python tools.py TOOL MODE QRELS RUN VALUES` scores the run in one of three modes (files, dicts, preloaded),
writes the values of each query to VALUES and prints the times and the peak memory as JSON.
"""

import gzip
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol, cast

MEASURES = ("nDCG@10", "R@100", "R@1000", "RR@10", "AP", "P@10")
REPEATS = 4  # further scorings of a preloaded run in the same process

Nested = dict[str, dict[str, Any]]
Table = dict[str, list[float]]


class Tool(Protocol):
    """A tool takes its input in its preferred form, and computes the values of each query and their means."""

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        """Read two files, to be scored once."""
        ...

    def wrap(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        """Convert two dictionaries to what the tool scores."""
        ...

    def preload(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        """Read two files into memory, to be scored repeatedly."""
        ...

    def score(self, qrels: Any, run: Any) -> Any:
        """Compute the values of each query and their means."""
        ...

    def table(self, result: Any) -> Table:
        """Return the values of each query in the order of MEASURES; this is not timed."""
        ...


class Assay:
    """Assay, as a script would use it."""

    def __init__(self) -> None:
        import assay

        self.read_table, self.open_run = assay.read, assay.open_run
        self.evaluate = assay.evaluate

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.read_table(qrels, "qrels"), self.open_run(run)

    def wrap(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return qrels, run

    def preload(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.read_table(qrels, "qrels"), self.read_table(run, "run")

    def score(self, qrels: Any, run: Any) -> Any:
        scores = self.evaluate(qrels, run, MEASURES).scores
        return scores, [scores[name].mean() for name in MEASURES]

    def table(self, result: Any) -> Table:
        columns = [result[0][name].tolist() for name in MEASURES]
        return {query: list(row) for query, *row in zip(result[0].query_ids, *columns, strict=True)}


class PytrecEval:
    """pytrec_eval-terrier; RR@10 is its RR, set to 0 if the rank is greater than 10."""

    names = ("ndcg_cut_10", "recall_100", "recall_1000", "recip_rank", "map", "P_10")

    def __init__(self) -> None:
        import pytrec_eval

        self.module = pytrec_eval

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.wrap(*read_dictionaries(qrels, run))

    preload = read

    def wrap(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.RelevanceEvaluator(qrels, set(self.names)), run

    def score(self, qrels: Any, run: Any) -> Any:
        values_by_query = qrels.evaluate(run)
        return values_by_query, [
            sum(values[name] for values in values_by_query.values()) / len(values_by_query)
            for name in self.names
        ]

    def table(self, result: Any) -> Table:
        rows = {query: [values[name] for name in self.names] for query, values in result[0].items()}
        return {query: [*row[:3], row[3] * (row[3] > 0.0999), *row[4:]] for query, row in rows.items()}


class Ranx:
    """ranx, with its functions compiled before the timing."""

    names = ("ndcg@10", "recall@100", "recall@1000", "mrr@10", "map", "precision@10")

    def __init__(self) -> None:
        import ranx

        self.module = ranx

    def compile_functions(self, qrels: Path, run: Path) -> None:
        """Compile for the types of these files, by scoring their first lines from files and dictionaries."""
        with tempfile.TemporaryDirectory() as folder:
            samples = Path(folder, "samples.qrels"), Path(folder, "samples.run")
            with open_text(run) as lines:
                run_lines = list(islice(lines, 20_000))
            queries = {line.split()[0] for line in run_lines}
            with open_text(qrels) as lines:
                samples[0].write_text("".join(line for line in lines if line.split()[0] in queries))
            samples[1].write_text("".join(run_lines))
            self.score(*self.read(*samples))
            self.score(*self.wrap(*read_dictionaries(*samples)))

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        kind = {"kind": "trec"}
        return self.module.Qrels.from_file(str(qrels), **kind), self.module.Run.from_file(str(run), **kind)

    preload = read

    def wrap(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.Qrels(qrels), self.module.Run(run)

    def score(self, qrels: Any, run: Any) -> Any:
        self.module.evaluate(qrels, run, list(self.names))
        return run.scores

    def table(self, result: Any) -> Table:
        columns = [result[name] for name in self.names]
        return {query: [column[query] for column in columns] for query in columns[0]}


class IrMeasures:
    """ir_measures, with its default providers."""

    def __init__(self) -> None:
        import ir_measures

        self.module: Any = ir_measures
        self.measures = [ir_measures.parse_measure(name) for name in MEASURES]

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        judgments = self.module.read_trec_qrels(str(qrels))
        return self.module.evaluator(self.measures, judgments), self.module.read_trec_run(str(run))

    def wrap(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.evaluator(self.measures, qrels), run

    def preload(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.wrap(*read_dictionaries(qrels, run))

    def score(self, qrels: Any, run: Any) -> Any:
        return qrels.calc(run)

    def table(self, result: Any) -> Table:
        rows: Table = {}
        for metric in result.per_query:
            row = rows.setdefault(metric.query_id, [0.0] * len(MEASURES))
            row[self.measures.index(metric.measure)] = metric.value
        return rows


TOOLS: dict[str, type[Tool]] = {
    "assay": Assay,
    "pytrec_eval": PytrecEval,
    "ranx": Ranx,
    "ir_measures": IrMeasures,
}


def open_text(path: Path) -> IO[str]:
    return cast(IO[str], gzip.open(path, "rt")) if path.suffix == ".gz" else open(path)


def read_dictionaries(qrels: Path, run: Path) -> tuple[Nested, Nested]:
    """Return both files as nested dictionaries, read by the parsers of pytrec_eval."""
    from pytrec_eval import parse_qrel, parse_run

    with open_text(qrels) as qrels_file, open_text(run) as run_file:
        return dict(parse_qrel(qrels_file)), dict(parse_run(run_file))


def peak_megabytes() -> float:
    """Return the peak memory of this process in MB (ru_maxrss would include that of the parent)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return next(int(line.split()[1]) for line in open(status) if line.startswith("VmHWM")) * 1024 / 1e6


def time_call(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of a call, its wall-clock seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def time_tool(tool: Tool, mode: str, qrels: Path, run: Path) -> list[tuple[Any, float, float]]:
    """Return the result of each scoring, with its wall-clock seconds and its CPU seconds."""
    if mode == "files":
        return [time_call(lambda: tool.score(*tool.read(qrels, run)))]
    if mode == "dicts":
        nested = read_dictionaries(qrels, run)
        return [time_call(lambda: tool.score(*tool.wrap(*nested)))]
    tables = tool.preload(qrels, run)
    return [time_call(lambda: tool.score(*tables)) for _ in range(1 + REPEATS)]


def main(name: str, mode: str, qrels: Path, run: Path, values: Path) -> None:
    tool = TOOLS[name]()
    if isinstance(tool, Ranx):
        tool.compile_functions(qrels, run)
    (result, first, cpu), *repeats = time_tool(tool, mode, qrels, run)
    timing = {
        "first": first,
        "again": [seconds for _, seconds, _ in repeats],
        "cpu": cpu,
        "peak": peak_megabytes(),
    }
    import numpy as np

    np.save(values, np.array([row for _, row in sorted(tool.table(result).items())]))
    print(json.dumps(timing))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(Path, sys.argv[3:6]))
