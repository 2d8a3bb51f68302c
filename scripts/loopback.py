"""Run a server that listens on every address in a network of its own, which only our loopback leads into.

    python scripts/loopback.py 19530 -- COMMAND …

It prints the port of 127.0.0.1 that leads to the server's port.
"""

import asyncio
import fcntl
import os
import socket
import struct
import subprocess
import sys

SET_FLAGS, UP = 0x8914, 0x1 | 0x40  # SIOCSIFFLAGS; IFF_UP, IFF_RUNNING
APART = ("unshare", "--net")


def main(port: str, *command: str) -> None:
    """Listen outside, then go on inside: a socket stays in the network it was made in."""
    door = socket.create_server(("127.0.0.1", 0), backlog=64)
    os.set_inheritable(door.fileno(), True)
    print(door.getsockname()[1], flush=True)
    lead = next((lead for lead in (APART, (*APART, "--map-root-user")) if _works(lead)), None)
    if lead is None:
        sys.exit(
            "this system does not allow a network of one's own (unshare --net): the server is not started"
        )
    os.execvp(lead[0], [*lead, sys.executable, __file__, "inside", str(door.fileno()), port, *command])


def _works(lead: tuple[str, ...]) -> bool:
    return subprocess.run([*lead, "true"], capture_output=True, check=False).returncode == 0


def inside(fd: str, port: str, *command: str) -> None:
    """Start the server and lead every connection to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh14x", b"lo", UP))
    asyncio.run(_serve(socket.socket(fileno=int(fd)), int(port), command))


async def _serve(door: socket.socket, port: int, command: tuple[str, ...]) -> None:
    server = await asyncio.create_subprocess_exec(*command)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_lead(reader, back), _lead(there, writer))

    async with await asyncio.start_server(meet, sock=door):
        sys.exit(await server.wait())


async def _lead(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 18):
            sink.write(data)
            await sink.drain()
    except OSError:
        pass
    finally:
        sink.close()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--"]
    inside(*words[1:]) if words[0] == "inside" else main(*words)
