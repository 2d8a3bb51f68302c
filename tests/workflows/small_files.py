"""Small judgments, runs and queries in files, for tests of workflows."""

from pathlib import Path

from assay.core.groups import RunBlocks
from assay.workflows.inputs import TableFiles

QRELS = "q1 0 a 2\nq1 0 b 1\nq2 0 c 1\nq3 0 d 1\nq4 0 e 1\n"
BM25 = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in [("q1", "b", 0.9), ("q1", "a", 0.8), ("q2", "x", 0.7)])
DENSE = "".join(f"q{i} Q0 {d} 1 0.9 t\n" for i, d in enumerate("acde", 1))
QUERIES = "query_id\ttext\tcategory\nq1\treset\thow\nq2\tinvoice\twhat\nq3\tlamp\thow\nq4\tpaid\twhat\n"


def write_files(folder: Path) -> TableFiles:
    """Write qrels, two runs and queries into a folder; return them, with the first run only."""
    texts = {"qrels.txt": QRELS, "bm25.run": BM25, "dense.run": DENSE, "queries.tsv": QUERIES}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return TableFiles(
        qrels=str(folder / "qrels.txt"),
        runs=[str(folder / "bm25.run")],
        queries=str(folder / "queries.tsv"),
    )


class NameList:
    """A callback for runs that collects their names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, run: RunBlocks) -> RunBlocks:
        self.names.append(run.name)
        return run
