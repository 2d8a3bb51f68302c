"""Run a server that listens on every address in its own network namespace, reachable over loopback only.

    python scripts/loopback.py 19530 -- COMMAND …

It prints the port of 127.0.0.1 that is forwarded to the port of the server.
"""

import asyncio
import fcntl
import os
import socket
import struct
import subprocess
import sys

SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x1 | 0x40  # IFF_UP, IFF_RUNNING
UNSHARE = ("unshare", "--net")


def main(port: str, *command: str) -> None:
    """Listen on loopback, then continue in the namespace: a socket stays in the one that created it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    os.set_inheritable(listener.fileno(), True)
    print(listener.getsockname()[1], flush=True)
    prefix = next((prefix for prefix in (UNSHARE, (*UNSHARE, "--map-root-user")) if _works(prefix)), None)
    if prefix is None:
        sys.exit("cannot start the server: this system does not allow network namespaces (unshare --net)")
    os.execvp(
        prefix[0], [*prefix, sys.executable, __file__, "inside", str(listener.fileno()), port, *command]
    )


def _works(prefix: tuple[str, ...]) -> bool:
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


def run_inside(fd: str, port: str, *command: str) -> None:
    """Start the server and forward every connection to it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", UP_AND_RUNNING))
    asyncio.run(_serve(socket.socket(fileno=int(fd)), int(port), command))


async def _serve(listener: socket.socket, port: int, command: tuple[str, ...]) -> None:
    server = await asyncio.create_subprocess_exec(*command)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))

    async with await asyncio.start_server(forward, sock=listener):
        sys.exit(await server.wait())


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(1 << 18):
            target.write(data)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--"]
    run_inside(*arguments[1:]) if arguments[0] == "inside" else main(*arguments)
