"""What a mirror costs the primary's clients: `assay shadow mirror` beside nginx's `mirror`, in the same run.

    python benchmarks/shadow.py

Needs nginx and wrk; without them scripts/apt.sh installs Debian's, as root. Everything listens on loopback.
In each turn both mirrors are loaded without a candidate and with candidates that are healthy, hang, crash,
flood and lie; a ratio is one of the same turn. Then every answer of a number of requests is compared byte by
byte, large bodies are counted, and a soak with a candidate that hangs shows the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
CLIENTS = 8
BODY = '{"q":"$arg_q","hits":{"hits":[{"_id":"a"},{"_id":"b"},{"_id":"c"}]}}'
LARGE = 3_000_000  # bytes
CANDIDATES = ("none", "healthy", "hangs", "crashes", "floods", "lies")
_SECONDS = re.compile(r"([\d.]+)(us|ms|s)")
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}

NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; default_type application/json; keepalive_requests 1000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; root {folder};
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  client_max_body_size 10m;
  upstream primary {{ server 127.0.0.1:{primary}; keepalive 64; }}
  server {{ listen 127.0.0.1:{primary}; location / {{ return 200 '{body}'; }} location /large {{ }} }}
  server {{ listen 127.0.0.1:{healthy}; location / {{ return 200 '{body}'; }} }}
  {mirrors}
}}
"""
MIRROR = """
  server {{ listen 127.0.0.1:{port};
    proxy_http_version 1.1; proxy_set_header Connection "";
    location / {{ {mirror} proxy_pass http://primary; }}
    location = /mirror {{ internal; proxy_pass http://127.0.0.1:{candidate}$request_uri; }}
  }}
"""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def serve_fault(name: str) -> None:
    """Serve a candidate with this fault, at a low priority: in production it is on another machine."""
    os.nice(19)
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_treat, args=(FAULTS[name], connection), daemon=True).start()


@contextmanager
def faulty(name: str) -> Iterator[int]:
    """Run a candidate with this fault, and return its port."""
    command = [sys.executable, __file__, "--serve", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _treat(behave: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with connection, suppress(OSError):
        while connection.recv(1 << 16):
            behave(connection)


def hang(connection: socket.socket) -> None:
    """Never answer."""
    threading.Event().wait()


def crash(connection: socket.socket) -> None:
    """End the connection at once."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise OSError


def flood(connection: socket.socket) -> None:
    """Answer without end."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n")


def lie(connection: socket.socket) -> None:
    """Answer with more bytes than announced, and no JSON."""
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n" + b"<html>" * 1000)


FAULTS = {"hangs": hang, "crashes": crash, "floods": flood, "lies": lie}


@contextmanager
def process(*command: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Run a server until the end of the block."""
    with subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE, text=True) as server:
        try:
            yield server
        finally:
            server.send_signal(signal.SIGINT if "shadow" in command else signal.SIGTERM)
            server.communicate()


def wait_for(port: int) -> None:
    """Wait until a server accepts connections."""
    for _ in range(2000):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.01)
    raise RuntimeError(f"nothing listens on port {port}")


@contextmanager
def assay_mirror(primary: int, candidate: int, log: Path, sample: float) -> Iterator[tuple[int, int]]:
    """Serve the mirror of Assay; its port and its process."""
    command: list[str | Path] = [
        Path(sys.executable).with_name("assay"),
        "shadow",
        "mirror",
        "--listen",
        "127.0.0.1:0",
    ]
    command += ["--primary", f"http://127.0.0.1:{primary}", "--candidate", f"http://127.0.0.1:{candidate}"]
    options: list[str | Path] = [
        "--log",
        log,
        "--sample",
        str(sample),
        "--timeout",
        "1",
        "--search-path",
        "/search",
    ]
    with process(*command, *options) as server:
        assert server.stderr
        port = int(server.stderr.readline().split()[0].rpartition(":")[2])
        wait_for(port)
        yield port, server.pid


def load(port: int, seconds: int, script: Path | None = None) -> tuple[float, float, int]:
    """Return requests per second, p99 in milliseconds and failed requests of a load by wrk."""
    command = ["wrk", "--latency", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "30s"]
    command += ["-s", str(script)] if script else []
    out = subprocess.run(
        [*command, f"http://127.0.0.1:{port}/search?q=vpn"], capture_output=True, text=True
    ).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", out)
    tail = re.search(r"99%\s+(\S+)", out)
    number = _SECONDS.match(tail[1]) if tail else None
    assert rate, out
    failed = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", out)))
    failed += sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", out)))
    return float(rate[1]), float(number[1]) * _UNITS[number[2]] if number else float("nan"), failed


def check_answers(port: int, count: int) -> int:
    """Return how many of so many different requests were answered otherwise than the primary answers."""

    def ask(first: int) -> int:
        wrong = 0
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for number in range(first, count, CLIENTS):
            connection.request("GET", f"/search?q=query-{number}")
            response = connection.getresponse()
            expected = BODY.replace("$arg_q", f"query-{number}").encode()
            wrong += (response.status, response.read()) != (200, expected)
        connection.close()
        return wrong

    with ThreadPoolExecutor(CLIENTS) as pool:
        return sum(pool.map(ask, range(CLIENTS)))


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    texts = [Path(f"/proc/{number}/status").read_text() for number in (pid, *children)]
    return sum(int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) for text in texts) / 1000


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process alone."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Bench:
    """Both mirrors with every candidate, in one folder."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.primary, self.healthy = folder, free_port(), free_port()
        self.candidates = {"none": self.healthy, "healthy": self.healthy}
        self.candidates |= {name: stack.enter_context(faulty(name)) for name in FAULTS}
        self.nginx = {name: free_port() for name in CANDIDATES}
        servers = [
            MIRROR.format(
                port=port,
                candidate=self.candidates[name],
                mirror="" if name == "none" else "mirror /mirror;",
            )
            for name, port in self.nginx.items()
        ]
        (folder / "large").write_bytes(b"x" * LARGE)
        folder.chmod(0o755)
        text = NGINX.format(
            folder=folder, primary=self.primary, healthy=self.healthy, body=BODY, mirrors="".join(servers)
        )
        (folder / "nginx.conf").write_text(text)
        stack.enter_context(process("nginx", "-c", folder / "nginx.conf"))
        wait_for(self.primary)
        self.assay = {
            name: stack.enter_context(
                assay_mirror(
                    self.primary, self.candidates[name], folder / f"{name}.jsonl", float(name != "none")
                )
            )
            for name in CANDIDATES
        }

    def ports(self, name: str) -> dict[str, int]:
        """Return the ports of both mirrors with a candidate."""
        return {"assay": self.assay[name][0], "nginx": self.nginx[name]}


Row = tuple[float, float, int, float]  # rate, p99, failed requests, processor time of one in µs
Figures = dict[tuple[str, str], list[Row]]


def run_turns(bench: Bench, turns: int, seconds: int) -> Figures:
    """Return the figures of both mirrors with each candidate, turn by turn."""
    figures: Figures = {}
    for turn in range(turns):
        for name in CANDIDATES if turn % 2 else CANDIDATES[::-1]:
            for system, port in bench.ports(name).items():
                before = cpu_seconds(bench.assay[name][1])
                rate, tail, failed = load(port, seconds)
                spent = cpu_seconds(bench.assay[name][1]) - before
                row = (rate, tail, failed, 1e6 * spent / (rate * seconds))
                figures.setdefault((system, name), []).append(row)
    return figures


def print_figures(figures: Figures) -> None:
    """Print medians, and the ratios to the same mirror without a candidate in the same turn."""
    for (system, name), rows in figures.items():
        own = figures[system, "none"]
        parts = [
            f"{np.median([row[0] for row in rows]):8,.1f} req/s, {ratio(rows, own, 0)} of none",
            f"p99 {np.median([row[1] for row in rows]):6.1f} ms, {ratio(rows, own, 1)}",
        ]
        if system == "assay":
            parts.append(f"processor {np.median([row[3] for row in rows]):4.0f} µs, {ratio(rows, own, 3)}")
        print(f"{system} {name:8} {'; '.join(parts)}; {sum(row[2] for row in rows)} failed")


def ratio(rows: list[Row], own: list[Row], column: int) -> str:
    """Return the median ratio of a figure in the same turn, and its extremes."""
    ratios = np.array([row[column] for row in rows]) / np.array([row[column] for row in own])
    return f"{np.median(ratios):.3f} ({ratios.min():.3f} to {ratios.max():.3f})"


def print_checks(bench: Bench, count: int) -> None:
    """Print how many answers were altered or lost, and what the mirror counted of large bodies."""
    for name in CANDIDATES:
        wrong = check_answers(bench.assay[name][0], count)
        print(f"candidate {name:8} {count:,} answers through the mirror compared, {wrong} altered or lost")
    log = bench.folder / "large.jsonl"
    with assay_mirror(bench.primary, bench.healthy, log, 1.0) as (port, _):
        for _ in range(20):
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/large")
            assert len(connection.getresponse().read()) == LARGE
            connection.request("POST", "/search", b"x" * LARGE)
            assert connection.getresponse().read()
            connection.close()
    counts = json.loads(log.read_text().splitlines()[-1])["event_attributes"]["counts"]
    print(f"20 large answers and 20 large requests of {LARGE:,} bytes: {counts['left_out']}")


def print_soak(bench: Bench, seconds: int) -> None:
    """Print the memory while requests with a body arrive and the candidate hangs."""
    script = bench.folder / "post.lua"
    script.write_text('wrk.method = "POST"\nwrk.body = string.rep("x", 100000)\n')
    port, pid = bench.assay["hangs"]
    samples: list[float] = []
    thread = threading.Thread(target=load, args=(port, seconds, script))
    thread.start()
    while thread.is_alive():
        samples.append(memory_mb(pid))
        time.sleep(0.25)
    thread.join()
    half = len(samples) // 2
    print(
        f"soak of {seconds:g} s, bodies of 100,000 bytes, candidate hangs: resident memory of both processes "
        f"{samples[0]:.0f} MB at the start, at most {max(samples[:half]):.0f} MB in the first half and "
        f"{max(samples[half:]):.0f} MB in the second"
    )


def main() -> None:
    """Run both mirrors and print the figures."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=7)
    options.add_argument("--seconds", type=int, default=1)
    options.add_argument("--answers", type=int, default=4000)
    options.add_argument("--soak", type=int, default=20)
    options.add_argument("--serve", choices=FAULTS, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.serve:
        serve_fault(arguments.serve)
    for package in ("nginx", "wrk"):
        if not shutil.which(package):
            subprocess.run([ROOT / "scripts" / "apt.sh", package], check=True)
    os.environ.pop("ASSAY_STORE", None)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), stack)
        print_figures(run_turns(bench, arguments.turns, arguments.seconds))
        print_checks(bench, arguments.answers)
        print_soak(bench, arguments.soak)


if __name__ == "__main__":
    main()
