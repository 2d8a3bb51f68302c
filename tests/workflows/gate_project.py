"""A project with a baseline and a candidate run, for tests of gates and of their settings."""

from pathlib import Path

N = 40
FLOOR = '[[gate.rules]]\nmeasure = "RR@10"\nat_least = 0.6\n'
MARGIN = '[[gate.rules]]\nmeasure = "RR@10"\nnot_worse_than = 0.02\n'
BUDGETS = """
[[gate.rules]]
latency = "p95"
at_most = 200
[[gate.rules]]
figure = "cost"
at_most = 1
"""


def write_runs(folder: Path) -> Path:
    """Write judgments and two runs: the candidate ranks first what the baseline ranks second."""
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(N)))
    (folder / "new.run").write_text("".join(f"q{i} Q0 a 1 1.0 t\n" for i in range(N)))
    old = "".join(f"q{i} Q0 x 1 1.0 t\nq{i} Q0 a 2 0.5 t\n" for i in range(N))
    (folder / "old.run").write_text(old)
    return folder


def write_project(
    folder: Path, rules: str = FLOOR, data: str = "", candidate: str = "", baseline: str = ""
) -> Path:
    """Write an assay.toml with these rules and further settings."""
    path = folder / "assay.toml"
    path.write_text(
        f'[data]\nqrels = "qrels.txt"\n{data}\n[baseline]\n{baseline}\n'
        f'[candidate]\nrun = "new.run"\n{candidate}\n{rules}'
    )
    return path
