"""One timing in a process of its own.

`python tools.py TOOL WAY QRELS RUN VALUES` scores the run in one of three ways (files, dicts,
preloaded), writes the values of each query to VALUES and prints what it took as JSON.
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
AGAIN = 4  # how often a preloaded run is scored once more in the same process

Nested = dict[str, dict[str, Any]]
Table = dict[str, list[float]]


class Tool(Protocol):
    """A tool is given what it likes best, then asked for the values of each query and their means."""

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        """Two files, ready to be scored once."""
        ...

    def hold(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        """Two dictionaries, ready to be scored."""
        ...

    def load(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        """Two files in memory, ready to be scored again and again."""
        ...

    def score(self, qrels: Any, run: Any) -> Any:
        """The values of each query, and their means."""
        ...

    def table(self, scored: Any) -> Table:
        """The values of each query in the order of MEASURES; not timed."""
        ...


class Assay:
    """This product, as a script would use it."""

    def __init__(self) -> None:
        import assay

        self.table_of, self.open_run = assay.read, assay.open_run
        self.evaluate = assay.evaluate

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.table_of(qrels, "qrels"), self.open_run(run)

    def hold(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return qrels, run

    def load(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.table_of(qrels, "qrels"), self.table_of(run, "run")

    def score(self, qrels: Any, run: Any) -> Any:
        scores = self.evaluate(qrels, run, MEASURES).scores
        return scores, [scores[name].mean() for name in MEASURES]

    def table(self, scored: Any) -> Table:
        columns = [scored[0][name].tolist() for name in MEASURES]
        return {query: list(row) for query, *row in zip(scored[0].query_ids, *columns, strict=True)}


class PytrecEval:
    """pytrec_eval-terrier; RR@10 is its RR, cut afterwards."""

    names = ("ndcg_cut_10", "recall_100", "recall_1000", "recip_rank", "map", "P_10")

    def __init__(self) -> None:
        import pytrec_eval

        self.module = pytrec_eval

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.hold(*dictionaries(qrels, run))

    load = read

    def hold(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.RelevanceEvaluator(qrels, set(self.names)), run

    def score(self, qrels: Any, run: Any) -> Any:
        found = qrels.evaluate(run)
        return found, [sum(values[name] for values in found.values()) / len(found) for name in self.names]

    def table(self, scored: Any) -> Table:
        rows = {query: [found[name] for name in self.names] for query, found in scored[0].items()}
        return {query: [*row[:3], row[3] * (row[3] > 0.0999), *row[4:]] for query, row in rows.items()}


class Ranx:
    """ranx, with its functions compiled before the clock starts."""

    names = ("ndcg@10", "recall@100", "recall@1000", "mrr@10", "map", "precision@10")

    def __init__(self) -> None:
        import ranx

        self.module = ranx

    def warm(self, qrels: Path, run: Path) -> None:
        """Compile for the types of these files, on their beginning, both from files and from dictionaries."""
        with tempfile.TemporaryDirectory() as folder:
            few = Path(folder, "few.qrels"), Path(folder, "few.run")
            with opened(run) as lines:
                ranked = list(islice(lines, 20_000))
            queries = {line.split()[0] for line in ranked}
            with opened(qrels) as lines:
                few[0].write_text("".join(line for line in lines if line.split()[0] in queries))
            few[1].write_text("".join(ranked))
            self.score(*self.read(*few))
            self.score(*self.hold(*dictionaries(*few)))

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        kind = {"kind": "trec"}
        return self.module.Qrels.from_file(str(qrels), **kind), self.module.Run.from_file(str(run), **kind)

    load = read

    def hold(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.Qrels(qrels), self.module.Run(run)

    def score(self, qrels: Any, run: Any) -> Any:
        self.module.evaluate(qrels, run, list(self.names))
        return run.scores

    def table(self, scored: Any) -> Table:
        columns = [scored[name] for name in self.names]
        return {query: [column[query] for column in columns] for query in columns[0]}


class IrMeasures:
    """ir_measures, with the providers it chooses."""

    def __init__(self) -> None:
        import ir_measures

        self.module: Any = ir_measures
        self.measures = [ir_measures.parse_measure(name) for name in MEASURES]

    def read(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        judged = self.module.read_trec_qrels(str(qrels))
        return self.module.evaluator(self.measures, judged), self.module.read_trec_run(str(run))

    def hold(self, qrels: Nested, run: Nested) -> tuple[Any, Any]:
        return self.module.evaluator(self.measures, qrels), run

    def load(self, qrels: Path, run: Path) -> tuple[Any, Any]:
        return self.hold(*dictionaries(qrels, run))

    def score(self, qrels: Any, run: Any) -> Any:
        return qrels.calc(run)

    def table(self, scored: Any) -> Table:
        made: Table = {}
        for metric in scored.per_query:
            row = made.setdefault(metric.query_id, [0.0] * len(MEASURES))
            row[self.measures.index(metric.measure)] = metric.value
        return made


TOOLS: dict[str, type[Tool]] = {
    "assay": Assay,
    "pytrec_eval": PytrecEval,
    "ranx": Ranx,
    "ir_measures": IrMeasures,
}


def opened(path: Path) -> IO[str]:
    return cast(IO[str], gzip.open(path, "rt")) if path.suffix == ".gz" else open(path)


def dictionaries(qrels: Path, run: Path) -> tuple[Nested, Nested]:
    """Both files as nested dictionaries, by the parsers of pytrec_eval."""
    from pytrec_eval import parse_qrel, parse_run

    with opened(qrels) as judged, opened(run) as ranked:
        return dict(parse_qrel(judged)), dict(parse_run(ranked))


def peak() -> float:
    """The most memory this process held, in MB (ru_maxrss would count the parent's as well)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return next(int(line.split()[1]) for line in open(status) if line.startswith("VmHWM")) * 1024 / 1e6


def clocked(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the work gives, its seconds and its seconds of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, time.perf_counter() - wall, time.process_time() - cpu


def timed(tool: Tool, way: str, qrels: Path, run: Path) -> list[tuple[Any, float, float]]:
    """What the tool found each time it looked, with the seconds it took."""
    if way == "files":
        return [clocked(lambda: tool.score(*tool.read(qrels, run)))]
    if way == "dicts":
        nested = dictionaries(qrels, run)
        return [clocked(lambda: tool.score(*tool.hold(*nested)))]
    loaded = tool.load(qrels, run)
    return [clocked(lambda: tool.score(*loaded)) for _ in range(1 + AGAIN)]


def main(name: str, way: str, qrels: Path, run: Path, values: Path) -> None:
    tool = TOOLS[name]()
    if isinstance(tool, Ranx):
        tool.warm(qrels, run)
    (scored, first, cpu), *again = timed(tool, way, qrels, run)
    found = {"first": first, "again": [more[1] for more in again], "cpu": cpu, "peak": peak()}
    import numpy as np

    np.save(values, np.array([row for _, row in sorted(tool.table(scored).items())]))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(Path, sys.argv[3:6]))
