"""The process of a job: it belongs to no server, so that it goes on when the server stops."""

from __future__ import annotations

import os
import subprocess
import sys

from assay.workflows.store_location import store_url

_workers: list[subprocess.Popen[bytes]] = []  # of this server; kept so that the ended ones are collected


def start_worker(job_id: str, store: str | None) -> None:
    """Start the worker of a job; the store is told by the environment, where nobody else can read it."""
    _workers[:] = [worker for worker in _workers if worker.poll() is None]
    worker = subprocess.Popen(
        [sys.executable, "-m", "assay.workflows.job_worker", job_id],
        env={**os.environ, "ASSAY_STORE": store_url(store)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _workers.append(worker)
