"""Servers of the tests' own: a script starts one, prints where it is, and stops it when its input ends."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(*command: str) -> Iterator[tuple[str, str]]:
    """Where the server is, or nothing, and why it is not."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        place = server.stdout.readline().strip()
        reason = "" if place else server.stderr.read().strip()
        try:
            yield place, reason
        finally:
            server.stdin.close()
