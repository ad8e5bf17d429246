"""Server processes: started on given cores, awaited, measured through ``/proc``, and ended with all their children."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.http_client import connect

_START = 60.0  # seconds a server may take to listen
_STOP = 15.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def cores() -> tuple[set[int], set[int]]:
    """The core for servers and the core for the client; the same one where there is no second.

    Asked before the client is kept to its own.
    """
    usable = sorted(os.sched_getaffinity(0))
    return {usable[0]}, {usable[-1]}


@contextmanager
def kept_to(wanted: set[int]) -> Iterator[None]:
    """Keep this thread to some cores for a while."""
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, usable)


class ServerProcess:
    """A server under test.

    Parameters: ``argv``; ``environment``, added to this process's; ``port`` it will listen on; ``on``, the cores it
    may use (all where None).
    """

    def __init__(
        self, name: str, argv: Sequence[str | Path], port: int, *, environment: dict[str, str], on: set[int] | None
    ) -> None:
        self.name, self.port, self.on = name, port, on
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the server
        # A child inherits the cores of its parent; setting them here needs no code between fork and exec.
        with kept_to(on or os.sched_getaffinity(0)):
            self._process = subprocess.Popen(
                [str(part) for part in argv],
                env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await()

    def _await(self) -> None:
        give_up = time.monotonic() + _START
        while True:
            try:
                connect(self.port).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > give_up:
                    self.stop()
                    raise SystemExit(f"{self.name} did not start:\n{self.output()}") from None
                time.sleep(0.05)

    def output(self) -> str:
        """What the server printed so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    def stop(self) -> None:
        """End the server and all it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(_STOP)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()

    def processes(self) -> list[int]:
        """The server's process and those below it."""
        found, queue = [], [self._process.pid]
        while queue:
            pid = queue.pop()
            found.append(pid)
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                queue += [int(child) for child in children.read_text().split()]
        return found

    def cpu_seconds(self) -> float:
        """CPU time of all processes so far, user and system, with that of threads that have ended."""
        # What clock_getcpuclockid(3) computes: the CPU clock of another process.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.processes())

    def worker_rss(self) -> float:
        """Resident memory of the largest process, the one that runs the application, in MiB."""
        largest = 0
        for pid in self.processes():
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    largest = max(largest, int(line.split()[1]))
        return largest / 1024
