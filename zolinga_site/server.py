"""The site's server: granian, with the site's defaults.

``python -m zolinga_site.server`` is what ``manage.py up`` becomes once everything is ready. This process never
imports Django: its workers load the code themselves, so that a reload loads it anew.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server import Server

from zolinga_site.port import answers
from zolinga_site.reloading import import_until_sound
from zolinga_site.task_worker import TaskWorkers

# Requests that one worker handles at a time. A handler that waits holds a thread, and each thread holds a
# database connection.
THREADS = 16

# How long a stopping worker may finish its requests, in seconds.
GRACE = 10

# How often is looked whether the first worker listens, in seconds.
LOOK = 0.1

# A worker that dies within so many seconds of being made anew is granian's sign of a loop, and how long is waited then.
LOOP = 5.5
PAUSE = 1.0


def serve(
    host: str, port: int, workers: int, threads: int, watch: Sequence[Path], ready: str, task_workers: int
) -> None:
    """Serve until a signal says stop; ``ready`` is printed once the server answers.

    A change in a folder of ``watch`` imports the manifests and starts the workers anew, those for tasks too, once they
    have all the code that is served.
    """
    # The workers' settings read it: changes are announced where streams leave threads for other requests.
    os.environ["ZOLINGA_SERVER_THREADS"] = str(threads)
    server: Any = Server(
        "zolinga_site.wsgi:application",
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        workers=workers,
        blocking_threads=threads,
        websockets=False,
        log_level=LogLevels.warning,
        respawn_failed_workers=True,
        workers_kill_timeout=GRACE,
        reload=bool(watch),
        reload_paths=watch,
        reload_ignore_worker_failure=True,
    )
    tasks = TaskWorkers(task_workers, GRACE)
    server.respawned_wrks = remade = Remade()
    logging.getLogger("_granian").addFilter(_is_news)
    if watch:
        server.on_reload(lambda: import_until_sound(watch, server.main_loop_interrupt))
        server.on_reload(tasks.restart)
    # A SIGTERM for a worker that has just been made waits until the worker can die of it.
    os.register_at_fork(
        before=lambda: _mask(signal.SIG_BLOCK),
        after_in_parent=lambda: _mask(signal.SIG_UNBLOCK),
        after_in_child=_leave_signals_to_parent,
    )

    def started() -> None:
        # Where ``up`` held a Ctrl-C back, the server stops for it now.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        threading.Thread(target=_announce, args=(host, port, ready, remade), daemon=True).start()

    server.on_startup(started)
    shutdown = server.shutdown

    def stop(exit_code: int = 0) -> None:
        # Those for tasks come to their end while the server's own do.
        tasks.ask_to_stop()
        shutdown(exit_code)

    server.shutdown = stop
    tasks.start()
    try:
        server.serve(target_loader=load)
    finally:
        tasks.stop()
        # Another Ctrl-C changes nothing, also while Python, which gives up its handlers first, comes to its end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Remade(dict[int, float]):
    """When which worker was made anew; granian asks it for a loop of crashes, and then ends with all workers.

    Before the site has ever answered, its code cannot be served, and that is right. Later it is a call that kills its
    worker (a fault in a library, too little memory), and a client that tries it again must not end everybody's site.
    """

    has_answered = False

    def get(self, worker: int, default: Any = None) -> Any:
        """When the worker was made anew, or ``default`` where it is to be made once more."""
        made = super().get(worker, default)
        if not self.has_answered:
            return made
        if time.monotonic() - made <= LOOP:
            time.sleep(PAUSE)
        return default


def load(target: str) -> Any:
    """What a worker serves; it runs in the worker's process."""
    _leave_signals_to_parent()
    module, _, name = target.partition(":")
    application = getattr(import_module(module), name)
    _end_streams_on_signals()
    return application


def _end_streams_on_signals() -> None:
    """End streams of changes when the worker is to stop: they would go on until it is killed.

    The handlers of signals are granian's. What they leave in this pipe wakes a thread.
    """
    changes = import_module("mcp_gateway.streams.changes")
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)

    def wait() -> None:
        while os.read(woken, 1)[0] not in (signal.SIGTERM, signal.SIGINT):
            pass
        changes.finish_all()

    threading.Thread(target=wait, name="end-streams", daemon=True).start()


def _leave_signals_to_parent() -> None:
    # A terminal sends Ctrl-C to every process. Workers stop when their parent says so, after their requests.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # While it loads, a worker has no requests. The handler that it inherits would only take note, and the parent wait.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _mask(signal.SIG_UNBLOCK)


def _mask(how: int) -> None:
    signal.pthread_sigmask(how, {signal.SIGTERM})


def _announce(host: str, port: int, text: str, remade: Remade) -> None:
    while True:
        # First, so that the workers are made while this thread does nothing.
        time.sleep(LOOK)
        if answers(host, port):
            remade.has_answered = True
            if text:
                print(text, flush=True)
            return


def _is_news(record: logging.LogRecord) -> bool:
    # Granian advises two threads per core. Handlers wait for databases and other services more than they compute.
    return "which seems quite high" not in record.getMessage()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m zolinga_site.server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--watch", type=Path, action="append", default=[])
    parser.add_argument("--ready", default="")
    parser.add_argument("--task-workers", type=int, default=0)
    serve(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
