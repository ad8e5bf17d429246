"""The load generator: one thread, plain sockets, keep-alive connections, one request at a time on each.

It is written for this use because the usual clients are the bottleneck here: httpx spends about a millisecond of
CPU per request, more than the servers under test. This one sends the same prepared bytes again and again and looks
only for the status and the length of an answer. Every measurement records the share of time in which the client itself
was busy with other than waiting, so that a client at its limit shows.

On a core of its own it need not sleep while it waits (``awake``): what it takes a core to wake up, longer than some
servers take to answer, is then in nobody's numbers.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

_HEAD_END = b"\r\n\r\n"
_TIMEOUT = 60.0  # seconds
_PIECE = 1 << 17  # bytes read at a time


class BadAnswer(Exception):
    """A server answered something else than the first, checked answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of one HTTP request to ``127.0.0.1:port``."""

    port: int
    data: bytes

    @classmethod
    def post(cls, port: int, path: str, headers: dict[str, str], body: bytes) -> Request:
        lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return cls(port, "\r\n".join(lines).encode() + _HEAD_END + body)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, head and body (chunks joined) of one HTTP answer."""

    status: int
    head: bytes
    body: bytes


@dataclass(slots=True)
class Load:
    """What one run of load gave: the wall seconds it took, the client's busy share (0 to 1), seconds per answer.

    The busy share of one that stays awake is what passes between an answer and the next request.
    """

    seconds: float
    busy: float
    latencies: list[float] = field(repr=False)

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def p50(self) -> float:
        """The median time to an answer, in seconds."""
        ordered = sorted(self.latencies)
        return ordered[len(ordered) // 2]


def connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(request: Request) -> Answer:
    """One request on a connection of its own; the whole answer."""
    with connect(request.port) as connection:
        connection.sendall(request.data)
        received = b""
        while (end := _answer_end(received)) is None:
            received += _receive(connection)
    head, _, rest = received[:end].partition(_HEAD_END)
    body = _join_chunks(rest) if b"transfer-encoding: chunked" in head.lower() else rest
    return Answer(int(head[9:12]), head, body)


def run(request: Request, connections: int, seconds: float, *, at_least: int = 1, awake: bool = False) -> Load:
    """Keep ``connections`` requests under way for ``seconds``, and until ``at_least`` answers are in.

    ``awake`` has one connection wait for its answers without sleeping; only where no server runs on this core. Raises
    `BadAnswer` when an answer has another status or length than the first one.
    """
    first = ask(request)
    length = len(first.body)
    awake = awake and connections == 1
    sockets = [connect(request.port) for _ in range(connections)]
    try:
        started, busy = time.perf_counter(), time.thread_time()
        if connections == 1:
            sockets[0].setblocking(not awake)
            drive = partial(_alone, sockets[0], _receive_awake if awake else _receive)
        else:
            drive = partial(_together, sockets)
        latencies = drive(request.data, first.status, length, started + seconds, at_least)
        took = time.perf_counter() - started
        worked = took - sum(latencies) if awake else time.thread_time() - busy
        return Load(took, worked / took, latencies)
    finally:
        for connection in sockets:
            connection.close()


def _alone(
    connection: socket.socket,
    receive: Callable[[socket.socket], bytes],
    data: bytes,
    status: int,
    length: int,
    until: float,
    at_least: int,
) -> list[float]:
    latencies: list[float] = []
    now = time.perf_counter
    began = now()
    while began < until or len(latencies) < at_least:
        connection.sendall(data)
        received = receive(connection)
        while (end := _answer_end(received)) is None:
            received += receive(connection)
        ended = now()
        latencies.append(ended - began)
        _check(received, end, status, length)
        began = now()
    return latencies


def _together(
    sockets: list[socket.socket], data: bytes, status: int, length: int, until: float, at_least: int
) -> list[float]:
    latencies: list[float] = []
    now = time.perf_counter
    began: dict[int, float] = {}
    received: dict[int, bytes] = {}
    with selectors.DefaultSelector() as selector:
        for connection in sockets:
            selector.register(connection, selectors.EVENT_READ)
            received[connection.fileno()] = b""
            began[connection.fileno()] = now()
            connection.sendall(data)
        by_number = {connection.fileno(): connection for connection in sockets}
        under_way = len(sockets)
        while under_way:
            ready = selector.select(_TIMEOUT)
            if not ready:
                raise BadAnswer(f"No answer within {_TIMEOUT:.0f} s.")
            for key, _ in ready:
                connection, number = by_number[key.fd], key.fd
                received[number] += _receive(connection)
                end = _answer_end(received[number])
                if end is None:
                    continue
                ended = now()
                latencies.append(ended - began[number])
                _check(received[number], end, status, length)
                received[number] = b""
                if ended < until or len(latencies) < at_least:
                    began[number] = now()
                    connection.sendall(data)
                else:
                    under_way -= 1
    return latencies


def _receive(connection: socket.socket) -> bytes:
    return _something(connection.recv(_PIECE))


def _receive_awake(connection: socket.socket) -> bytes:
    """The same from a connection that does not block, asked again and again until something comes."""
    give_up = time.monotonic() + _TIMEOUT
    while time.monotonic() < give_up:
        try:
            return _something(connection.recv(_PIECE))
        except BlockingIOError:
            continue
    raise BadAnswer(f"No answer within {_TIMEOUT:.0f} s.")


def _something(data: bytes) -> bytes:
    if not data:
        raise BadAnswer("The server closed the connection in the middle of an answer.")
    return data


def _answer_end(received: bytes) -> int | None:
    """Where the answer ends in what was received; None while it is not complete."""
    head_end = received.find(_HEAD_END)
    if head_end < 0:
        return None
    head = received[:head_end].lower()
    at = head.find(b"content-length:")
    if at >= 0:
        line_end = head.find(b"\r\n", at)
        length = int(head[at + 15 : line_end if line_end >= 0 else len(head)])
        end = head_end + 4 + length
        return end if len(received) >= end else None
    if b"transfer-encoding: chunked" in head:
        return len(received) if received.endswith(b"0\r\n\r\n") else None
    return head_end + 4 if head[9:12] in (b"202", b"204") else None


def _join_chunks(data: bytes) -> bytes:
    parts: list[bytes] = []
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if not length:
            break
        parts.append(data[:length])
        data = data[length + 2 :]
    return b"".join(parts)


def _check(received: bytes, end: int, status: int, length: int) -> None:
    if int(received[9:12]) != status:
        raise BadAnswer(f"Status {received[9:12].decode()} after {status}: {received[:600]!r}")
    # A chunked answer carries its chunk sizes too, so only answers with a length can be held to the first one's.
    body = end - received.find(_HEAD_END) - 4
    if body != length and b"chunked" not in received[:400].lower():
        raise BadAnswer(f"A body of {body} bytes after one of {length}: {received[:600]!r}")
