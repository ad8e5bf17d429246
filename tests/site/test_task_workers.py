"""The workers for tasks as children of the server: replaced when they die, gone when it is gone.

A shell stands for the worker. It says its number and ends when its input is closed, as the worker does.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live import PATIENCE, ROOT
from zolinga_site import task_worker
from zolinga_site.task_worker import TaskWorkers

WORKER = """#!/bin/sh
exec > '{said}'
echo $$
exec cat
"""

# A server that forks a worker of its own in the midst of the start of one for tasks, as soon as the pipes are made.
SERVER = """
import os, signal, subprocess, sys, threading
from zolinga_site import task_worker

make = subprocess._fork_exec
midway, forking = threading.Semaphore(0), threading.Lock()

def make_amid_a_fork(*arguments):
    subprocess._fork_exec = make
    midway.release()
    forking.acquire()
    return make(*arguments)

subprocess._fork_exec = make_amid_a_fork
task_worker.COMMAND, task_worker.PAUSE = (sys.argv[1],), 0
workers = task_worker.TaskWorkers(1, 10)
forking.acquire()
workers.start()
midway.acquire()
# Hooks run in reverse order: when this one is done the fork follows, unless it is made to wait for the start.
os.register_at_fork(before=forking.release)
sys.setswitchinterval(1000)
if os.fork():
    print("forked", flush=True)
sys.setswitchinterval(0.005)
signal.pause()
"""


def heard(said: int) -> str:
    """What a worker says next; nothing when it has ended and nobody else could say anything."""
    ready, _none, _none = select.select([said], [], [], PATIENCE)
    assert ready, "no worker says anything"
    return os.read(said, 100).decode().strip()


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """The shell that stands for the worker."""
    os.mkfifo(tmp_path / "said")
    command = tmp_path / "worker"
    command.write_text(WORKER.format(said=tmp_path / "said"))
    command.chmod(0o700)
    return command


@contextmanager
def listening(command: Path, how: int) -> Iterator[int]:
    """The end of the pipe that hears what the workers say."""
    said = os.open(command.with_name("said"), how)
    try:
        yield said
    finally:
        os.close(said)


@pytest.fixture
def server(command: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The server when it has forked. All that it makes is in a group of its own."""
    starting = [sys.executable, "-c", SERVER, str(command)]
    with subprocess.Popen(starting, cwd=ROOT, stdout=subprocess.PIPE, start_new_session=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"forked\n"
        yield server
        os.killpg(server.pid, signal.SIGKILL)


@pytest.mark.usefixtures("server")
def test_a_worker_that_dies_is_replaced_though_the_server_forked_while_it_was_made(command: Path) -> None:
    with listening(command, os.O_RDWR) as said:
        first = heard(said)
        os.kill(int(first), signal.SIGKILL)
        assert heard(said) != first


def test_a_worker_ends_with_the_server_though_what_that_forked_goes_on(
    command: Path, server: subprocess.Popen[bytes]
) -> None:
    with listening(command, os.O_RDONLY | os.O_NONBLOCK) as said:
        assert heard(said)
        server.kill()
        assert not heard(said)


def test_who_stops_the_server_is_told_of_a_task_that_is_not_done(
    command: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    script = command.read_text().replace("echo $$", "trap '' TERM\necho $$")
    command.write_text(script)
    monkeypatch.setattr(task_worker, "COMMAND", (str(command),))
    monkeypatch.setattr(task_worker, "AT_ONCE", 0)
    workers = TaskWorkers(1, 0)
    with listening(command, os.O_RDWR) as said:
        workers.start()
        assert heard(said)
        workers.stop()
    assert capfd.readouterr().out == (
        "Waiting up to 0 seconds for one task to end.\nOne task broken off; clients are told so in a minute.\n"
    )


def test_a_worker_that_could_not_be_started_is_tried_again(command: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = command.rename(command.with_name("not-yet"))
    monkeypatch.setattr(task_worker, "COMMAND", (str(command),))
    monkeypatch.setattr(task_worker, "PAUSE", 0)
    logged = []

    def error(message: str, problem: str) -> None:
        logged.append(message % problem)
        missing.rename(command)

    monkeypatch.setattr(task_worker.logger, "error", error)
    workers = TaskWorkers(1, PATIENCE)
    with listening(command, os.O_RDWR) as said:
        workers.start()
        assert heard(said)
        workers.stop()
    assert "could not be started" in logged[0]
