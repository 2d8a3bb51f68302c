"""Meanings and ranges of parameters that several engines have, each under the name of the engine."""

from __future__ import annotations

from typing import Annotated

from assay.core.parameters import Meaning

LinkCount = Annotated[int, Meaning("links of a node in the graph; more find more and take more memory", 2)]
BuildCandidates = Annotated[
    int, Meaning("candidates for the links of a new node; more build a better graph more slowly", 1)
]
SearchCandidates = Annotated[
    int, Meaning("candidates that a search keeps; more find more and take longer", 1)
]
Lists = Annotated[int, Meaning("lists into which the vectors are divided", 1)]
Probes = Annotated[int, Meaning("lists that a search compares; more find more and take longer", 1)]
TrainingPoints = Annotated[int, Meaning("vectors to train with, at least as many as lists", 1)]
QuantizedParts = Annotated[
    int | None,
    Meaning("parts of a vector that are quantized, a divisor of d", 1, unset="d / 2, or d if it is odd"),
]
RefineFactor = Annotated[
    float, Meaning("candidates per neighbour that are compared again with the original vectors", 1)
]
Seed = Annotated[int, Meaning("seed of the random numbers")]
