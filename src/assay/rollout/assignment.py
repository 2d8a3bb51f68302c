"""Which arm of an experiment a unit, such as a user, sees: the same at every call, without a lookup.

The module needs nothing but the standard library, so that it can run where requests are served. The CRC-32
of a unit's id and a key of 64 bits, which comes from the salt, are added, and the sum is mixed: the positions
of a unit in two experiments are independent. `assignment_arrays.assign_many` does the same for many ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

STEP = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB
_LAST = (1 << 64) - 1
_HALF = 1 << 32

ASSIGNED = "assigned"
OVERRIDDEN = "overridden"
OUTSIDE = "outside the coverage"
HELD_OUT = "held out"
ELSEWHERE = "in another experiment of its group"
ALL = "all units"
REASONS = (ASSIGNED, OVERRIDDEN, OUTSIDE, HELD_OUT, ELSEWHERE, ALL)


class Assignment(NamedTuple):
    """The arm of a unit, and why it has it."""

    arm: str  # what the unit is shown
    reason: str

    @property
    def is_counted(self) -> bool:
        """Whether the unit belongs to the experiment: only then its exposure is logged and analysed."""
        return self.reason == ASSIGNED


class Slot(NamedTuple):
    """A part of the units: those of one experiment of a group whose experiments exclude each other."""

    name: str  # of the group; the same for all of its experiments
    start: float
    end: float

    @property
    def bounds(self) -> tuple[int, int]:
        """The positions at which it begins and ends."""
        return _threshold(self.start), _threshold(self.end)


@dataclass(frozen=True)
class TrafficSplit:
    """How units are divided: a share of them, the coverage, is split equally between the arms.

    >>> split = TrafficSplit("new-ranker", coverage=0.1)
    >>> split.assign("user-25")
    Assignment(arm='control', reason='assigned')
    """

    name: str
    coverage: float = 1.0
    arms: tuple[str, ...] = ("control", "treatment")  # the first is what units outside of it are shown
    salt: str = ""  # empty: the name
    holdout: float = (
        0.0  # the share of units that no experiment with the same holdout_salt shows anything new
    )
    holdout_salt: str = "holdout"
    slot: Slot | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)  # arms of units such as testers, never counted
    everyone: str = ""  # the arm of all units but the holdout, after a release or a rollback
    _key: int = field(init=False, repr=False, compare=False)
    _holdout_key: int = field(init=False, repr=False, compare=False)
    _slot_key: int = field(init=False, repr=False, compare=False)
    _covered: int = field(init=False, repr=False, compare=False)
    _held_out: int = field(init=False, repr=False, compare=False)
    _is_plain: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._check()
        fields = {
            "_key": salt_key(self.salt or self.name),
            "_holdout_key": salt_key(self.holdout_salt),
            "_slot_key": salt_key(f"group {self.slot.name}") if self.slot else 0,
            "_covered": _threshold(self.coverage),
            "_held_out": _threshold(self.holdout),
            "_is_plain": not (self.overrides or self.holdout or self.slot or self.everyone),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _check(self) -> None:
        shares = {"coverage": self.coverage, "holdout": self.holdout}
        if self.slot:
            shares |= {"the start of the slot": self.slot.start, "the end of the slot": self.slot.end}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name}: expected a share from 0 to 1, found {share!r}")
        if len(self.arms) < 2 or len(set(self.arms)) < len(self.arms):
            raise ValueError(f"arms: expected two or more different names, found {list(self.arms)}")
        for arm in [*self.overrides.values(), *([self.everyone] if self.everyone else [])]:
            if arm not in self.arms:
                raise ValueError(f"expected one of the arms {', '.join(self.arms)}, found {arm!r}")

    def assign(self, unit_id: str) -> Assignment:
        """Return the arm of a unit."""
        number = crc32(unit_id.encode()) * STEP
        if not self._is_plain and (special := self._assign_special(unit_id, number)) is not None:
            return special
        x = number + self._key & _LAST
        x = (x ^ (x >> 30)) * MIX_1 & _LAST
        x = (x ^ (x >> 27)) * MIX_2 & _LAST
        x ^= x >> 31
        if x >> 32 >= self._covered:
            return Assignment(self.arms[0], OUTSIDE)
        return Assignment(self.arms[(x & 0xFFFFFFFF) * len(self.arms) >> 32], ASSIGNED)

    def _assign_special(self, unit_id: str, number: int) -> Assignment | None:
        """Return the arm of a unit that is not assigned by the split."""
        if self.everyone == self.arms[0]:  # a rollback holds for testers too
            return Assignment(self.everyone, ALL)
        if unit_id in self.overrides:
            return Assignment(self.overrides[unit_id], OVERRIDDEN)
        if position(number, self._holdout_key) < self._held_out:
            return Assignment(self.arms[0], HELD_OUT)
        if self.everyone:
            return Assignment(self.everyone, ALL)
        if self.slot:
            start, end = self.slot.bounds
            if not start <= position(number, self._slot_key) < end:
                return Assignment(self.arms[0], ELSEWHERE)
        return None


def salt_key(salt: str) -> int:
    """Return the key of a salt, 64 bits."""
    return int.from_bytes(blake2b(salt.encode(), digest_size=8).digest(), "little")


def position(number: int, key: int) -> int:
    """Return the position of a unit among 2**32."""
    x = number + key & _LAST
    x = (x ^ (x >> 30)) * MIX_1 & _LAST
    x = (x ^ (x >> 27)) * MIX_2 & _LAST
    return (x ^ (x >> 31)) >> 32


def _threshold(share: float) -> int:
    return round(share * _HALF)
