"""The text of a first assay.toml for the contents of a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from assay.workflows.folder_contents import TABLE_KINDS, FolderContents
from assay.workflows.settings import PROJECT_FILE


def write_settings(contents: FolderContents) -> str:
    """Return the text of the assay.toml."""
    systems = _runnable_systems(contents)
    parts = [_HEAD, _data_table(contents), *systems.values(), *_incomplete_systems(contents), _RUN]
    return "\n".join([*parts, _gate_tables(contents), _comment_out(_ROLLOUT)])


def can_run(contents: FolderContents) -> bool:
    """Whether `assay run` has a system to run."""
    return bool(_runnable_systems(contents))


def can_gate(contents: FolderContents) -> bool:
    """Whether `assay gate` has a run to decide on, now or after `assay run`."""
    return bool(_runs_to_gate(contents)) and not (needs_search(contents) and not contents.runs)


def needs_search(contents: FolderContents) -> bool:
    """Whether there are queries, but neither documents nor an endpoint to search."""
    return list(_runnable_systems(contents)) == ["mine"]


def _data_table(contents: FolderContents) -> str:
    paths = {kind: getattr(contents, kind) for kind in TABLE_KINDS}
    lines = ["[data]", *(f"{kind} = {json.dumps(path)}" for kind, path in paths.items() if path)]
    lines += [f"# also found: {name}" for name in contents.others]
    return "\n".join(lines) + "\n"


def _runnable_systems(contents: FolderContents) -> dict[str, str]:
    """Return the tables of the systems that run without a change, by name."""
    systems = dict(_IN_MEMORY_SYSTEMS) if contents.has_queries and contents.has_documents else {}
    if contents.has_queries and not contents.is_built_in:
        endpoints = [name for name in contents.endpoints if _ENDPOINT_SYSTEMS[name][1]]
        systems |= {name.lower(): _endpoint_system(name) for name in endpoints}
    return systems or ({"mine": _OWN_SYSTEM} if contents.has_queries else {})


def _endpoint_system(name: str) -> str:
    """Return the table of an endpoint; parameters are appended if its URL has a query already."""
    text = _ENDPOINT_SYSTEMS[name][0]
    return text.replace("}?", "}&") if "?" in os.environ.get(name, "") else text


def _incomplete_systems(contents: FolderContents) -> list[str]:
    """Return the tables of the systems that must be completed first, as comments."""
    runnable = _runnable_systems(contents)
    texts = [_endpoint_system(name) for name in contents.endpoints if name.lower() not in runnable]
    texts += [text for name, text in _IN_MEMORY_SYSTEMS.items() if name not in runnable]
    return [_comment_out(text) for text in texts]


def _comment_out(text: str) -> str:
    lines = (line if line.startswith("#") else f"# {line}".rstrip() for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines)


def _runs_to_gate(contents: FolderContents) -> list[str]:
    """Return the runs of the baseline and the candidate, or of the candidate alone, or none.

    They are those of the folder, or those that `assay run` writes.
    """
    if not contents.qrels:
        return []
    runs = contents.runs or [f"runs/{name}.run" for name in _runnable_systems(contents)]
    return [runs[0], runs[-1]] if len(runs) > 1 else runs


def _gate_tables(contents: FolderContents) -> str:
    runs = _runs_to_gate(contents)
    baseline, candidate = [*_NO_RUNS[: 2 - len(runs)], *runs]
    before = f"[baseline]\nrun = {json.dumps(baseline)}\n"
    after = f"[candidate]\nrun = {json.dumps(candidate)}\n"
    if len(runs) == 1:
        parts = [_comment_out(before), after, _FLOOR, _comment_out(_MARGIN)]
    else:
        parts = [before, after, _MARGIN, _IMPROVEMENT]
    text = _GATE + "\n".join(parts)
    return text if runs else _comment_out(text)


_HEAD = f"""# {PROJECT_FILE}, written by `assay init`. Paths are relative to this file.
# docs/systems.md has every setting.
"""
_RUN = """# How queries are sent; these are the defaults.
[run]
k = 100                       # documents for each query
concurrency = 8               # queries at a time
timeout = 30                  # seconds for one attempt
retries = 2                   # retries of transient failures
"""
_NO_RUNS = ("runs/old.run", "runs/new.run")
_GATE = "# What `assay gate` decides: may the candidate replace the baseline?\n"
_MARGIN = """[[gate.rules]]
measure = "nDCG@10"
not_worse_than = 0.02
"""
_IMPROVEMENT = """# [[gate.rules]]  # the purpose of a change; a change without effect does not pass it
# measure = "nDCG@10"
# better_by = 0.01
"""
_FLOOR = """[[gate.rules]]                # at most half of the queries find nothing
measure = "ZeroHit@10"
at_most = 0.5
"""
_ROLLOUT = """# How `assay rollout` releases a change, step by step; docs/rollouts.md has every setting.
[rollout]
events = "events.jsonl"       # what users did, as your service logs it

[[rollout.goals]]
metric = "ctr"

[[rollout.guardrails]]        # rolls back if it is shown to be worse by more
metric = "zero_result"
not_worse_than = 0.02
"""
_OWN_SYSTEM = """# Your search: a command that prints the id of a document on each line, the best first.
# This one prints none: replace it. docs/systems.md has the other kinds: HTTP, Python, databases.
[systems.mine]
kind = "command"
command = ["true", "{query}"]
"""
_IN_MEMORY_SYSTEMS = {
    "bm25": """# Keyword search, in memory.
[systems.bm25]
kind = "bm25"
""",
    "vectors": """# Vector search: any encoder of [models.NAME], any engine of `assay bench`.
[systems.vectors]
kind = "index"
encoder = "lsa"
""",
    "hybrid": """# Both, fused by rank.
[systems.hybrid]
retrieve = ["bm25", "vectors"]
depth = 100
""",
}
_DSL = """# Keyword search over all fields.
[systems.{0}]
kind = "{1}"
url = "${{{2}}}"
index = "_all"                # better: the name of your index
"""
_ENDPOINT_SYSTEMS: Mapping[str, tuple[str, bool]] = {  # the table, and whether it runs without a change
    "ASSAY_ENDPOINT": (
        """# Sent by GET; expected: {"hits": [{"id": …, "score": …}, …]}, best first.
[systems.assay_endpoint]
kind = "http"
url = "${ASSAY_ENDPOINT}?q={query}&k={k}"
ids = "$.hits[*].id"
scores = "$.hits[*].score"
""",
        True,
    ),
    "OPENSEARCH_URL": (_DSL.format("opensearch_url", "opensearch", "OPENSEARCH_URL"), True),
    "ELASTICSEARCH_URL": (_DSL.format("elasticsearch_url", "elasticsearch", "ELASTICSEARCH_URL"), True),
    "QDRANT_URL": (
        """# Name the collection, and the encoder that made its vectors.
[systems.qdrant]
kind = "qdrant"
url = "${QDRANT_URL}"
collection = "…"
encoder = "…"
""",
        False,
    ),
    "DATABASE_URL": (
        """# The statement that searches your database: rows of an id and a score, best first.
[systems.database]
kind = "sql"
url = "${DATABASE_URL}"
statement = "SELECT id, … FROM … ORDER BY 2 DESC LIMIT :k"
""",
        False,
    ),
}
