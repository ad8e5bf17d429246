"""The load generator believes no server: it checks status and length of every answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.benchmarks.http_client import BadAnswer, Request, ask, run

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


def _plain(body: bytes, status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)


@contextmanager
def _server(answers: list[bytes]) -> Iterator[int]:
    """Gives the answers in turn, then the last one for ever; one request per read, on any number of connections."""
    lock = threading.Lock()

    def serve(connection: socket.socket) -> None:
        # A client that has seen enough hangs up.
        with connection, suppress(ConnectionError):
            while connection.recv(65536):
                with lock:
                    answer = answers.pop(0) if len(answers) > 1 else answers[0]
                # In two pieces, as a network may deliver it.
                connection.sendall(answer[:20])
                connection.sendall(answer[20:])

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _request(port: int) -> Request:
    return Request.post(port, "/mcp", {"Content-Type": "application/json"}, b"{}")


def test_a_request_carries_its_length_and_headers() -> None:
    assert Request.post(80, "/mcp", {"A": "b"}, b"{}").data == (
        b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:80\r\nContent-Length: 2\r\nA: b\r\n\r\n{}"
    )


@pytest.mark.parametrize(("answer", "body"), [(_plain(b"abc"), b"abc"), (CHUNKED, b"abcde"), (_plain(b""), b"")])
def test_an_answer_is_read_whole(answer: bytes, body: bytes) -> None:
    with _server([answer]) as port:
        got = ask(_request(port))

    assert (got.status, got.body) == (200, body)


WAYS = [(1, False), (1, True), (4, False)]


@pytest.mark.parametrize(("connections", "awake"), WAYS)
def test_load_counts_every_answer(connections: int, awake: bool) -> None:
    with _server([_plain(b"abc")]) as port:
        load = run(_request(port), connections, 0, at_least=40, awake=awake)

    assert len(load.latencies) >= 40
    assert 0 < load.p50 <= max(load.latencies)
    assert load.per_second > 0
    assert 0 <= load.busy <= 1


@pytest.mark.parametrize(("connections", "awake"), WAYS)
@pytest.mark.parametrize("wrong", [_plain(b"abc", b"500 Oops"), _plain(b"abcd")])
def test_an_answer_unlike_the_first_ends_the_measurement(connections: int, awake: bool, wrong: bytes) -> None:
    with _server([_plain(b"abc"), _plain(b"abc"), wrong]) as port, pytest.raises(BadAnswer):
        run(_request(port), connections, 0, at_least=10, awake=awake)


def test_a_connection_closed_in_the_middle_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def half() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")

        threading.Thread(target=half, daemon=True).start()
        with pytest.raises(BadAnswer, match="closed the connection"):
            ask(_request(listener.getsockname()[1]))
