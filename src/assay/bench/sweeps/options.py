"""The settings of a sweep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SweepOptions:
    """The settings of a sweep."""

    repetitions: int = 3
    warmup: int | None = None  # searches before a pass; None: one per query, for 0.2 s to 1 s
    memory: int | None = None  # maximum bytes of one engine process
    total_memory: int | None = None  # maximum bytes of all loaded indexes; None: half of the free memory
    timeout: float = 3600.0  # maximum seconds of a build or a pass
    seed: int = 0
    policy: str = "ties"
    retry: bool = False  # run failed trials again
    keep_indexes: bool = False  # keep the indexes after their trials are done
    first_repetition: int = 0  # number of the first repetition; a higher number adds to existing repetitions
    detect_brute_force: bool = True  # detect engines that answer by brute force

    @property
    def repetition_numbers(self) -> range:
        """The numbers of the repetitions to run."""
        return range(self.first_repetition, self.first_repetition + self.repetitions)
