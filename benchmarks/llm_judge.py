"""Have the larger language model of this machine judge pairs of the help centre, and report its worth.

The pairs are those of queries drawn by a seed, all of their labelled documents, cut to the first 300.
Printed are agreement with the labels of people, bias, the order of systems, speed, and the mean grade
with the intervals of `assay judge estimate`, for which 100 of the human labels are used. The work can be
interrupted: replies are kept in the folder and the same command continues.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.core.tables import Qrels, Queries
from assay.datasets import helpcentre, write
from assay.search.in_memory import BM25Searcher, LSASearcher

ASSAY = str(Path(sys.executable).with_name("assay"))
MODEL = "qwen2.5-coder-1.5b"
SEED = 4  # its queries share none with those of the 40 pairs on which the prompt was chosen
HUMAN_SAMPLE = 100


def write_tables(folder: Path, count: int) -> None:
    """Write the pool, the queries, the documents, the labels of people and the runs."""
    queries, qrels, documents = helpcentre()
    ids = random.Random(SEED).sample(queries.ids, len(queries))
    grades = qrels.to_dict()
    pairs = [(q, d, int(g)) for q in ids for d, g in grades.get(q, {}).items()][:count]
    chosen = list(dict.fromkeys(query for query, _, _ in pairs))
    part = {name: queries.column(name, chosen) for name in queries.columns}
    write(Queries(part), folder / "queries.jsonl")
    write(documents, folder / "documents.jsonl")
    write(to_qrels(pairs), folder / "human.qrels")
    drawn = random.Random(SEED).sample(pairs, min(HUMAN_SAMPLE, len(pairs)))
    write(to_qrels(drawn), folder / "sample.qrels")
    searchers = [BM25Searcher(documents, "bm25"), BM25Searcher(documents, "bm25-short", k1=0.2, b=0.0)]
    searchers += [LSASearcher(documents, f"lsa-{d}", dimensions=d) for d in (2, 8, 30, 150)]  # type: ignore[misc]
    for searcher in searchers:
        write(searcher.search(Queries(part), 100), folder / f"{searcher.name}.run")


def to_qrels(pairs: list[tuple[str, str, int]]) -> Qrels:
    table: dict[str, dict[str, int]] = {}
    for query, document, grade in pairs:
        table.setdefault(query, {})[document] = grade
    return Qrels(table)


@contextmanager
def served(model: str, threads: int) -> Iterator[str]:
    """Fetch and serve a model; yield its address."""
    subprocess.run([ASSAY, "models", "fetch", model], check=True, stdout=subprocess.DEVNULL)
    command = [ASSAY, "models", "serve", model, "--port", "0", "--threads", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def judge(url: str, model: str, folder: Path) -> None:
    runs = [option for path in sorted(folder.glob("*.run")) for option in ("--run", path.name)]
    tables = ["--pairs", "human.qrels", "--queries", "queries.jsonl", "--documents", "documents.jsonl"]
    options = ["--endpoint", url, "--model", model, "--workers", "1", "--timeout", "600", "--retries", "2"]
    options += ["--max-tokens", "16", "--max-characters", "600", "-o", "labels.jsonl"]
    options += ["--qrels", "human.qrels", "--by", "category", "-m", "nDCG@10", "--top", "3"]
    options += ["--require", "kappa=0.4"]
    done = subprocess.run([ASSAY, "judge", "llm", *tables, *options, *runs], cwd=folder)
    assert done.returncode in (0, 1), done.returncode


def estimate(folder: Path) -> None:
    """Print the mean grade by all human labels, and by the sample combined with the labels of the model."""
    command = [ASSAY, "judge", "estimate", "labels.jsonl", "--human", "sample.qrels", "-m", "grade"]
    subprocess.run([*command, "-m", "relevant(rel=1)"], cwd=folder, check=True)
    grades = [float(line.split()[3]) for line in (folder / "human.qrels").read_text().splitlines()]
    relevant = sum(grade >= 1 for grade in grades) / len(grades)
    mean = sum(grades) / len(grades)
    print(f"all {len(grades)} human labels: mean grade {mean:.4f}, relevant {relevant:.4f}")


def report_speed(folder: Path) -> None:
    """Print the seconds and the tokens of the recorded replies, over all sessions."""
    (journal,) = (folder / "llm-replies").glob("*.jsonl")
    rows = [json.loads(line) for line in journal.read_text().splitlines()]
    replies = [row for row in rows if "reply" in row]
    seconds = sum(row["seconds"] for row in replies)
    prompt = sum(row["reply"]["prompt_tokens"] for row in replies)
    completion = sum(row["reply"]["completion_tokens"] for row in replies)
    print(
        f"{len(replies)} replies in {seconds:,.0f} s: {seconds / len(replies):.2f} s a pair, "
        f"{prompt / len(replies):.0f} tokens of prompt and {completion / len(replies):.1f} of reply a pair"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, default=Path("llm-judge-study"))
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_tables(arguments.folder, arguments.pairs)
    begin = time.monotonic()
    with served(arguments.model, arguments.threads) as url:
        judge(url, arguments.model, arguments.folder)
    print(f"this session took {time.monotonic() - begin:,.0f} s")
    report_speed(arguments.folder)
    estimate(arguments.folder)


if __name__ == "__main__":
    main()
