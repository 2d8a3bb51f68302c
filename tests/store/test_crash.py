"""Whatever happens in the middle of a save, nothing that was acknowledged is lost."""

import random
import shutil
import socket
import sqlite3
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from sqlalchemy import func, select

from assay.core.errors import StoreError
from assay.store.schema import attributes, links, metrics, records, tags
from assay.store.store import Store
from tests.stores import experiment, scores, start

NOW = timedelta(0)
KILLS = 200
Server: TypeAlias = "subprocess.Popen[str]"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A process that starts others and kills them."""
    pipe = subprocess.PIPE
    with subprocess.Popen(start("serve"), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process


def killed(server: Server, place: Path, delay: float, when: str) -> list[str]:
    """What a process acknowledged until it was killed."""
    assert server.stdin
    assert server.stdout
    server.stdin.write(f"{place} {delay} {when}\n")
    server.stdin.flush()
    return [line.strip() for line in iter(server.stdout.readline, "killed\n")]


def saved(place: Path) -> list[str]:
    """What a process saved that was not killed."""
    with Store(place) as store:
        return [store.put(experiment(), scores(number)).id for number in range(10)]


def check(folder: Path, acknowledged: set[str]) -> int:
    """All is there that was acknowledged, and all that is there can be read; how much it is."""
    with closing(sqlite3.connect(folder / "assay.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    with Store(folder) as store:
        found = store.list()
        assert acknowledged <= {e.id for e in found}
        wanted = experiment()
        for made in found:
            assert replace(made, id="", digests=wanted.digests) == wanted
            assert store.scores(made) is not None
    return len(found)


def test_a_save_that_is_killed_at_any_moment_loses_nothing(server: Server, tmp_path: Path) -> None:
    acknowledged, rng, longest = set(saved(tmp_path)), random.Random(4), 0.08
    for number in range(KILLS):
        acknowledged |= set(killed(server, tmp_path, rng.uniform(0, longest), "saving"))
        longest *= 1.1 if len(acknowledged) < 1.3 * number else 0.95  # for several saves, on any machine
        longest = max(longest, 0.08)
    assert len(acknowledged) > KILLS
    found = check(tmp_path, acknowledged)
    assert found <= len(acknowledged) + KILLS  # the last of each may be kept and not yet told
    with Store(tmp_path) as store:
        assert len(store.unused_tables(NOW)) <= KILLS
        store.clean(NOW)
        assert store.unused_tables(NOW) == []
    assert not list((tmp_path / "tables").rglob("*.part"))
    assert check(tmp_path, acknowledged) == found


def test_a_new_store_that_is_killed_while_it_is_made_is_made_by_the_next(
    server: Server, tmp_path: Path
) -> None:
    rng = random.Random(5)
    for number in range(40):
        folder = tmp_path / str(number)
        acknowledged = set(killed(server, folder, rng.uniform(0, 0.3), "opening"))
        Store(folder).database.close()
        check(folder, acknowledged)


def filled(folder: Path, ballast: int) -> tuple[set[str], str]:
    """Save until the disk is full: what was acknowledged, and what was said then."""
    acknowledged = set[str]()
    with Store(folder) as store:
        (folder / "ballast").write_bytes(bytes(ballast))
        for number in range(10_000):
            try:
                made = store.put(experiment(), scores(number))
            except StoreError as error:
                return acknowledged, str(error)
            acknowledged.add(made.id)
    raise AssertionError("the disk was never full")


@pytest.mark.parametrize("ballast", [0, 500_000, 1_000_001, 1_500_000])
def test_a_full_disk_is_told_and_the_store_stays_whole(small_disk: Path, ballast: int) -> None:
    acknowledged, problem = filled(small_disk, ballast)
    assert "full" in problem or "No space left on device" in problem
    assert "\n" not in problem
    (small_disk / "ballast").unlink()
    assert check(small_disk, acknowledged) == len(acknowledged)
    with Store(small_disk) as store:
        assert len(store.unused_tables(NOW)) <= 1


def test_a_table_that_does_not_fit_leaves_nothing(small_disk: Path) -> None:
    with Store(small_disk) as store:
        kept = store.put(experiment("kept"), scores(1))
        (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        with pytest.raises(StoreError, match=r"nothing was saved: .* cannot be written .*No space left"):
            store.put(experiment(), scores(2))
        assert not list(small_disk.rglob("*.part"))
        assert store.scores(kept) is not None


class Wire:
    """A connection to PostgreSQL that is cut after so many bytes."""

    def __init__(self, host: str, port: int) -> None:
        self.server = (host, port)
        self.left: float = float("inf")
        self.carried = 0
        self._lock = threading.Lock()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = self._door.getsockname()[1]
        self._threads = [threading.Thread(target=self._open)]
        self._threads[0].start()

    def _open(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._door.accept()
                there = socket.create_connection(self.server)
                for a, b in ((here, there), (there, here)):
                    self._threads.append(threading.Thread(target=self._carry, args=(a, b)))
                    self._threads[-1].start()

    def _carry(self, a: socket.socket, b: socket.socket) -> None:
        with suppress(OSError):
            while data := a.recv(4096):
                with self._lock:
                    part = data[: int(min(self.left, len(data)))]
                    self.left -= len(part)
                    self.carried += len(part)
                b.sendall(part)
                if len(part) < len(data) or self.left == 0:
                    break
        for end in (a, b):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        a.close()

    def close(self) -> None:
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def wire(postgres: str) -> Iterator[Wire]:
    host, _, port = postgres.partition("@")[2].partition("/")[0].partition(":")
    with closing(Wire(host, int(port))) as made:
        yield made


def rows_of(store: Store, name: str) -> list[int]:
    """How much of an experiment there is in each table."""
    with store.database.read_transaction() as connection:
        counts = [
            select(func.count()).where(table.c.record == name) for table in (metrics, attributes, tags, links)
        ]
        counts.append(select(func.count()).where(records.c.id == name))
        return [connection.execute(count).scalar_one() for count in counts]


def test_a_cut_to_postgresql_leaves_the_whole_experiment_or_nothing(
    postgres: str, wire: Wire, tmp_path: Path
) -> None:
    name = postgres.rpartition("/")[2]
    through = f"postgresql://assay@127.0.0.1:{wire.port}/{name}?tables={tmp_path}&sslmode=disable"
    with Store(f"{postgres}?tables={tmp_path}") as direct:
        whole = rows_of(direct, direct.put(experiment(), scores()).id)
        length = _length(through, wire)
        outcomes = set()
        for number, cut in enumerate([*range(0, length, 40), *range(length - 100, length + 1, 3)]):
            told = _cut(through, wire, cut, f"cut-{number}")
            kept = rows_of(direct, f"cut-{number}")
            assert kept in (whole, [0] * len(whole)), cut
            assert kept == whole or "cannot be used: " in told, cut
            assert "\n" not in told
            outcomes.add((kept == whole, bool(told)))
        assert {(False, True), (True, False)} <= outcomes
        assert all(direct.scores(e) is not None for e in direct.list())
        assert direct.list("name = 'hnsw'")[0].metrics == experiment().metrics


def _length(through: str, wire: Wire) -> int:
    """How many bytes a save takes."""
    with Store(through) as store:
        before = wire.carried
        store.put(experiment(), scores())
        return wire.carried - before


def _cut(through: str, wire: Wire, after: int, name: str) -> str:
    """Save over a connection that is cut: what was said, nothing where it was saved."""
    wire.left = float("inf")
    with Store(through) as store:
        wire.left = after or 0.5
        try:
            store.put(experiment(id=name), scores())
        except StoreError as error:
            return str(error)
    return ""
