"""Publish which users see what: the signed document that services obey."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError
from assay.rollout.assignment import TrafficSplit
from assay.rollout.machine import Rollout
from assay.rollout.policy import RolloutPolicy
from assay.rollout.served_splits import ServedSplits
from assay.store.database import Database
from assay.store.rollouts import Rollouts
from assay.workflows.stores import open_existing_store

FILE_VARIABLE, KEY_VARIABLE = "ASSAY_SPLITS_FILE", "ASSAY_SPLITS_KEY"


@dataclass(frozen=True, kw_only=True)
class SplitsRequest:
    """The file for the services."""

    path: str | None = None  # None: that of ASSAY_SPLITS_FILE
    store: str | None = None


@dataclass(frozen=True)
class PublishedSplits:
    """The splits in force, and where they were written."""

    served: ServedSplits
    document: str  # signed
    path: str = ""

    def to_dict(self) -> Any:
        """Return the signed document, which `SplitClient` reads."""
        return {
            "sequence": self.served.sequence,
            "splits": {
                name: {"coverage": split.coverage, "everyone": split.everyone or None, "arms": [*split.arms]}
                for name, split in self.served.splits.items()
            },
            "path": self.path or None,
        }


def rollout_split(rollout: Rollout) -> TrafficSplit:
    """Return how users are divided now: nobody before the A/B test, everybody the same at the end."""
    policy = RolloutPolicy.from_dict(rollout.policy)
    state = rollout.position.state
    everyone = {"released": policy.arms[1], "reverted": policy.arms[0], "abandoned": policy.arms[0]}
    return policy.split(rollout.name, rollout.coverage, everyone.get(state, ""))


def read_splits(database: Database) -> ServedSplits:
    """Return the splits of all rollouts of a store."""
    kept = Rollouts(database)
    sequence = kept.sequence()  # before the rollouts: a move in between is published again
    return ServedSplits.of(sequence, [rollout_split(rollout) for rollout in kept.all()])


def publish_splits(request: SplitsRequest) -> PublishedSplits:
    """Write the signed splits of a store to a file, whole."""
    with open_existing_store(request.store) as store:
        return publish(store.database, request.path or os.environ.get(FILE_VARIABLE, ""))


def read_document(store: str | None) -> str:
    """Return the signed splits of a store, as a server gives them to services."""
    with open_existing_store(store) as opened:
        return publish(opened.database, "").document


def publish(database: Database, path: str) -> PublishedSplits:
    """Write the signed splits to a file, if one is named, unless it has newer ones."""
    key = splits_key()
    if not path:
        served = read_splits(database)
        return PublishedSplits(served, served.sign(key))
    try:
        with _one_writer(path):
            served = read_splits(database)
            if not _has_newer(path, key, served.sequence):
                served.write(path, key)
    except OSError as error:
        raise InputError(f"{path}: the splits cannot be written ({error.strerror})") from None
    return PublishedSplits(served, served.sign(key), path)


@contextmanager
def _one_writer(path: str) -> Iterator[None]:
    """Wait until no other process writes a file: who reads the store last must write last."""
    target = Path(path)
    with target.with_name(f".{target.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed or the process ends
        yield


def _has_newer(path: str, key: str, sequence: int) -> bool:
    """Whether a file has splits that were published after these."""
    try:
        ServedSplits.verify(Path(path).read_bytes(), key, sequence + 1)
    except (OSError, ValueError):
        return False
    return True


def publish_if_configured(database: Database) -> str:
    """Write the splits if ASSAY_SPLITS_FILE names a file; return what went wrong, or nothing."""
    path = os.environ.get(FILE_VARIABLE, "")
    if not path:
        return ""
    try:
        publish(database, path)
    except (InputError, ValueError) as error:
        return f"the move is recorded, but services do not know it yet: {error}"
    return ""


def splits_key() -> str:
    """Return the key that signs; it is only read from the environment."""
    key = os.environ.get(KEY_VARIABLE, "")
    if len(key) < 16:
        raise InputError(
            f"{KEY_VARIABLE} must have the key that services know, of at least 16 characters; "
            f"found {len(key)} characters"
        )
    return key
