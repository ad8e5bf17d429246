"""The workers for tools that go on in the background, as children of the site's server.

``python -m zolinga_site.task_worker`` is ``manage.py db_worker``, except that it ends with whoever started it: when
its standard input is closed it stops as for a SIGTERM, after the task that it runs.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

BASE_DIR = Path(__file__).resolve().parent.parent

COMMAND = (sys.executable, "-m", "zolinga_site.task_worker")

# Seconds between two looks into the queue while it is empty.
INTERVAL = 0.5

# Seconds in which a worker that has no task ends.
AT_ONCE = 1

# Seconds before a worker that ended by itself is started again.
PAUSE = 1

logger = logging.getLogger("zolinga_site")


class TaskWorkers:
    """Worker processes that are kept running from `start` to `stop`.

    ``count`` is their number, ``grace`` how many seconds a stopping one has for its task.

    This process forks the server's workers too, and what is forked while a worker for tasks is made would keep the
    pipes of that making open: it would never come to its end, and nobody would replace the worker. So each waits for
    the other.
    """

    def __init__(self, count: int, grace: float) -> None:
        self._grace = grace
        self._stopping = threading.Event()
        # Held while a worker is made and while this process forks.
        self._making = threading.Lock()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._threads = [threading.Thread(target=self._keep, args=(number,), daemon=True) for number in range(count)]

    def start(self) -> None:
        """Start them; each has a thread here that waits for its end."""
        os.register_at_fork(
            before=self._making.acquire,
            after_in_parent=self._making.release,
            after_in_child=self._leave_to_parent,
        )
        for thread in self._threads:
            thread.start()

    def restart(self) -> None:
        """Let each finish its task and begin anew, with the code that there is now."""
        with self._making:
            for process in self._processes.values():
                process.terminate()

    def ask_to_stop(self) -> None:
        """Let each end after the task that it runs."""
        self._stopping.set()
        self.restart()

    def stop(self) -> None:
        """End them, and wait until they have: not longer than the grace. What becomes of tasks is printed."""
        self.ask_to_stop()
        deadline = time.monotonic() + self._grace
        self._wait(min(deadline, time.monotonic() + AT_ONCE))
        working = len(self._started())
        if working:
            print(f"Waiting up to {self._grace:g} seconds for {_tasks(working)} to end.", flush=True)
        self._wait(deadline)
        broken = len(self._started())
        for process in self._processes.values():
            process.kill()
        for thread in self._started():
            thread.join()
        if broken:
            print(f"{_tasks(broken).capitalize()} broken off; clients are told so in a minute.", flush=True)
        elif working:
            print("Done.", flush=True)

    def _wait(self, deadline: float) -> None:
        for thread in self._started():
            thread.join(max(0, deadline - time.monotonic()))

    def _started(self) -> list[threading.Thread]:
        return [thread for thread in self._threads if thread.is_alive()]

    def _keep(self, number: int) -> None:
        while not self._stopping.is_set():
            problem = self._run(number)
            if problem and not self._stopping.is_set():
                logger.error("The worker for tasks %s and is started again", problem)
                self._stopping.wait(PAUSE)

    def _run(self, number: int) -> str:
        """Let a worker run to its end; gives what is wrong with that, in words."""
        try:
            with self._making:
                if self._stopping.is_set():
                    return ""
                process = subprocess.Popen(COMMAND, cwd=BASE_DIR, stdin=subprocess.PIPE)  # noqa: S603
                self._processes[number] = process
        except OSError as error:
            # The machine may have no room for it now.
            return f"could not be started ({error})"
        with process:
            code = process.wait()
        return "" if code in (0, -signal.SIGTERM) else f"ended with code {code}"

    def _leave_to_parent(self) -> None:
        # A worker ends when its input is closed, and only the parent is to say when.
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()
        self._making.release()


def _tasks(count: int) -> str:
    return "one task" if count == 1 else f"{count} tasks"


def main() -> None:
    # A terminal sends Ctrl-C to every process: the parent says when to stop.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    threading.Thread(target=_watch_parent, daemon=True).start()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zolinga_site.settings")

    import django
    from django.core.management import call_command

    django.setup()

    from django_tasks_db.management.commands import db_worker

    from mcp_gateway.conf import gateway_settings

    db_worker.Worker = patient(db_worker.Worker)  # type: ignore[misc]
    call_command(
        "db_worker",
        backend_name=gateway_settings.task_backend,
        queue_name="*",
        interval=INTERVAL,
        startup_delay=False,
        reload=False,
        verbosity=0,
    )


def patient(worker: type[Any]) -> type[Any]:
    """A worker that stops for a signal once its task is done, and takes no notice of further ones.

    To the package a signal means at once, which loses a task that is taken and not yet begun, and a second one: break
    the task off. Here two may ask, as the server and the end of the standard input do; whoever cannot wait kills.
    """

    class Patient(worker):  # type: ignore[misc]
        def shutdown(self, signum: int, frame: FrameType | None) -> None:
            # The loop looks at it before the next task, and after `INTERVAL` at the latest.
            self.running = False

    return Patient


def _watch_parent() -> None:
    # Not by way of `sys.stdin`: Python aborts where a thread reads from that while the process ends.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
