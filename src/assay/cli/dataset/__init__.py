"""assay dataset: evaluation sets, vectors and neighbours; each module has some of the subcommands."""

from __future__ import annotations

import argparse

from assay.cli.dataset import checks, generate, samples, vectors, versions
from assay.cli.parsers import join_subcommands, run_subcommand

_FOOTER = """\
The extension names the format: .fbin .f16bin .u8bin .i8bin .fvecs .bvecs .npy .parquet .hdf5 and idx
(MNIST); for neighbours also .ivecs .ibin and big-ann's .bin. FILE.hdf5:NAME is a dataset of an HDF5 file and
FILE.parquet:NAME a column of a Parquet file. `assay dataset COMMAND --help` shows the options of each.

exit codes: 0 done; 1 check --strict found an error; 2 wrong use or bad input, or vectors that cannot be
searched (check); 3 nothing to choose from with this data (sample, pool, split)
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    return join_subcommands(
        "dataset",
        "Build, check and keep evaluation sets; export, generate, show and check vectors and neighbours.",
        [versions, samples, generate, checks, vectors],
        _FOOTER,
    )


command = run_subcommand
