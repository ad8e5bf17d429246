"""The port to serve on: whether it is free, and holding it until the workers listen."""

from __future__ import annotations

import socket
import sys

# What a server on every address is reached by from its own machine.
LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104


def cannot_listen(host: str, port: int) -> OSError | None:
    """Why nobody can listen there, or None."""
    try:
        _listening(host, port).close()
    except OSError as problem:
        return problem
    return None


def hold(host: str, port: int) -> socket.socket:
    """Take the port for this process and what it becomes by ``exec``; raises ``OSError`` where it is taken.

    The workers open their sockets with SO_REUSEPORT, so another server of the same user could listen beside them:
    until the first one listens, for nobody sees it, and then both would be served. The socket given back never
    listens. It lets the workers in, and keeps out whoever asks for the port alone, as this function does.
    Elsewhere than on Linux the server itself listens, alone, as soon as it starts.
    """
    # Of two that bind and listen at once, one fails: nothing comes between looking and taking.
    first = _listening(host, port)
    if sys.platform != "linux":
        return first
    with first:
        first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held = _socket(host)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind((host, port))
        # It was for connections of before that are still closing; from here on it would let others in.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        held.set_inheritable(True)
    return held


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((LOOPBACK.get(host, host), port), timeout=1).close()
    except OSError:
        return False
    return True


def _listening(host: str, port: int) -> socket.socket:
    opened = _socket(host)
    try:
        opened.bind((host, port))
        opened.listen(1)
    except OSError:
        opened.close()
        raise
    return opened


def _socket(host: str) -> socket.socket:
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    # A port that was just given up is free; without the option it looks busy for a minute.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return opened
