"""A project with a slow search system that pages may start, and one that they may not."""

from pathlib import Path

from assay.store.store import Store

QUERIES = 40
_SYSTEM = """
import time
from pathlib import Path

def search(text, k):
    if not Path(__file__).with_name("fast").exists():
        time.sleep({seconds})
    print("asked", text)
    return ["b", "a"]
"""
_PROJECT = """
[data]
qrels = "qrels.txt"
queries = "queries.jsonl"

[store]
url = "store"

[systems.slow]
kind = "callable"
function = "slow:search"

[systems.other]
kind = "callable"
function = "slow:search"

[serve]
may_start = ["slow"]
bench = ["sweep.toml"]
"""


def write_slow_project(folder: Path, seconds: float = 0.0) -> Path:
    """Write the project, whose system is slow for each query until `speed_up`; return its store."""
    (folder / "qrels.txt").write_text("".join(f"q{n} 0 a 2\nq{n} 0 b 0\n" for n in range(QUERIES)))
    texts = (f'{{"_id": "q{n}", "text": "reset {n}"}}\n' for n in range(QUERIES))
    (folder / "queries.jsonl").write_text("".join(texts))
    (folder / "slow.py").write_text(_SYSTEM.format(seconds=seconds))
    (folder / "assay.toml").write_text(_PROJECT)
    store = folder / "store"
    Store(store).database.close()
    return store


def speed_up(folder: Path) -> None:
    """Let the system of the project answer at once."""
    (folder / "fast").touch()
