"""Runs in the candidate's sandbox: offers the service at a port of its loopback, and starts the candidate there.

The candidate may end it or go round it, to its own loss: the service counts, and knows nobody but who asks.
"""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time

PORT = 7007
SOCKET = "/link/socket"
PATIENCE_S = 5.0


def main() -> None:
    alive = service(time.monotonic() + PATIENCE_S)
    server = socket.create_server(("127.0.0.1", PORT))
    threading.Thread(target=relay, args=(server,), daemon=True).start()
    code = subprocess.run(
        ["python3", "-I", "-S", "solution.py"], stdin=subprocess.DEVNULL
    ).returncode
    alive.close()
    os._exit(code if code >= 0 else 128 - code)


def service(until: float) -> socket.socket:
    """A connection to the service, once it is there."""
    while True:
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect(SOCKET)
            return one
        except OSError:
            one.close()
            if time.monotonic() > until:
                raise
            time.sleep(0.005)  # nothing tells when a socket is made in another sandbox


def relay(server: socket.socket) -> None:
    while True:
        outer, _ = server.accept()
        try:
            inner = service(time.monotonic())
            for pair in ((outer, inner), (inner, outer)):
                threading.Thread(target=pumped, args=pair, daemon=True).start()
        except (OSError, RuntimeError):  # the service has closed, or no process is left
            outer.close()


def pumped(source: socket.socket, target: socket.socket) -> None:
    """All of source to target, and then its end."""
    try:
        while data := source.recv(4096):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


if __name__ == "__main__":
    main()
