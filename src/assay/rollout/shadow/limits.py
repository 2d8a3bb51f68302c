"""How much the shadow of a service may do: its samples, its time and its memory."""

from __future__ import annotations

from dataclasses import dataclass

from assay.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class ShadowLimits:
    """The samples and the limits of the calls that no user waits for."""

    sample: float = 1.0  # share of the requests that the candidate receives, too
    repeat: float = 0.1  # share of these that the primary receives a second time: the noise floor
    timeout: float = 2.0  # seconds for each of these calls
    concurrency: int = 4  # calls at once
    queue: int = 100  # requests that wait; what comes later is dropped and counted
    seed: int | None = None  # of the samples; None: another one for every process

    def __post_init__(self) -> None:
        for name, share in (("sample", self.sample), ("repeat", self.repeat)):
            if not 0 <= share <= 1:
                raise InputError(f"{name}: expected a share from 0 to 1, found {share:g}")
        if not self.timeout > 0:
            raise InputError(f"timeout: expected seconds above 0, found {self.timeout:g}")
        for name, count in (("concurrency", self.concurrency), ("queue", self.queue)):
            if count < 1:
                raise InputError(f"{name}: expected 1 or more, found {count}")


DEFAULT_LIMITS = ShadowLimits()
