"""Threads that wait for work, and are used again: starting one for every call would cost more than many calls do."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from django.db.backends.base.base import BaseDatabaseWrapper

#: What a thread does: it is given the connections that the thread borrowed last, and must not raise. What it gives
#: back is called once the thread is free again, so that whoever waits for the job can use the thread for the next.
Job = Callable[[dict[str, BaseDatabaseWrapper]], Callable[[], object]]

_parked: list[_Parked] = []


class _Parked(threading.Thread):
    """Does one job at a time and then waits for the next."""

    def __init__(self) -> None:
        # A daemon: a server that has waited long enough ends while a handler still runs.
        super().__init__(name="mcp-call", daemon=True)
        self.wake = threading.Lock()
        self.wake.acquire()
        self.job: Job | None = None

    def run(self) -> None:
        held: dict[str, BaseDatabaseWrapper] = {}
        while True:
            self.wake.acquire()
            job, self.job = self.job, None
            if job is not None:
                tell = job(held)
                _parked.append(self)
                tell()
                # Or what the job holds would live until the next one.
                del job, tell


def start(job: Job) -> None:
    """Run a job on another thread, at once.

    There are never more threads than jobs at a time, which the threads of the server bound.
    """
    try:
        thread = _parked.pop()
    except IndexError:
        thread = _Parked()
        thread.start()
    thread.job = job
    thread.wake.release()


# A child process has none of its parent's threads.
os.register_at_fork(after_in_child=_parked.clear)
