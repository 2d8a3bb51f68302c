"""A search service that answers one request at a time: SERVICE ms each, STALL ms for every EVERY-th.

Where EVERY is 0, every request is served by itself. A real server process over a socket. The moments at which
it is free add up without the delays of sleeping, so that the queue before it is that of the textbook.
"""

import json
import socketserver
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

HITS = [{"id": f"doc-{i}", "score": round(20 - i * 0.173, 4)} for i in range(100)]
BODY = json.dumps({"hits": HITS}).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)


class Server(socketserver.ThreadingTCPServer):
    """One queue for all connections."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, service: float, stall: float, every: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.service, self.stall, self.every = service / 1000, stall / 1000, every
        self.number, self.free, self.lock = 0, 0.0, threading.Lock()

    def wait(self) -> None:
        """Wait for earlier requests, and until this one is served."""
        if not self.every:
            return time.sleep(self.service)
        with self.lock:
            self.number += 1
            taken = self.service if self.number % self.every else self.stall
            self.free = max(self.free, time.perf_counter()) + taken
            end = self.free
        return time.sleep(max(0.0, end - time.perf_counter()))


class Handler(socketserver.StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        try:
            while self.rfile.readline():
                while self.rfile.readline().strip():
                    pass
                self.server.wait()
                self.wfile.write(HEAD + BODY)
        except ConnectionError:  # the client has disconnected
            pass


@contextmanager
def serving(service: float = 1, stall: float = 200, every: int = 500) -> Iterator[str]:
    """Run a server in its own process; yield its URL."""
    command = [sys.executable, str(Path(__file__)), str(service), str(stall), str(every)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    """Serve until the input ends."""
    server = Server(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
