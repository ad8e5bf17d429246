"""Tasks in the queues that a site may have already, each with its own worker: RQ and Celery, on Redis.

Their backends for Django's Tasks framework are installed for these tests alone, beside this run's packages.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import redis

from tests.live import PATIENCE, ROOT, Site
from tests.tasks.probe import site
from tests.tasks.test_live import send, start, wait_for

__all__ = ["site"]

SETTINGS = """
import os
from zolinga_site.settings import *

QUEUE = os.environ["TASK_QUEUE"]
REDIS = os.environ["REDIS_URL"]
ZOLINGA["TASK_QUEUE"] = QUEUE
INSTALLED_APPS.remove("django_tasks_db")
"""


@dataclass(frozen=True)
class Queue:
    """How a site has it: the package, the lines of its settings, and how ``python`` starts a worker."""

    package: str
    settings: str
    worker: tuple[str, ...]


RQ = Queue(
    "django-tasks-rq==0.12.0",
    """
INSTALLED_APPS += ["django_rq", "django_tasks_rq"]
TASKS = {"default": {"BACKEND": "django_tasks_rq.RQBackend", "QUEUES": [QUEUE]}}
RQ_QUEUES = {QUEUE: {"URL": REDIS}}
""",
    ("manage.py", "rqworker", "--job-class", "django_tasks_rq.Job"),
)

CELERY = Queue(
    "django-tasks-fennel[django-tasks]==0.1",
    """
INSTALLED_APPS += ["django_tasks_fennel"]
TASKS = {"default": {"BACKEND": "django_tasks_fennel.CeleryBackend", "QUEUES": [QUEUE]}}
CELERY_IMPORTS = ["mcp_gateway.protocol.methods.task_runs"]
CELERY_BROKER_URL = REDIS
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": QUEUE}
""",
    ("-m", "celery", "-A", "django_tasks_fennel.app", "worker", "--concurrency=1", "-Q"),
)


@pytest.fixture(params=[RQ, CELERY], ids=["rq", "celery"])
def queue(request: pytest.FixtureRequest, site: Site, tmp_path: Path) -> Iterator[tuple[Queue, Site]]:
    """A queue of its own, and the site that has it."""
    queue: Queue = request.param
    packages = tmp_path / "packages"
    # Django is here already.
    (tmp_path / "overrides").write_text("Django; python_version < '3'")
    install = [os.environ.get("UV", "uv"), "pip", "install", "--quiet", "--python", sys.executable]
    install += ["--target", str(packages), "--overrides", str(tmp_path / "overrides")]
    subprocess.run([*install, queue.package, "redis"], check=True, timeout=300)
    (packages / "settings_with_queue.py").write_text(SETTINGS + queue.settings)
    name = f"zolinga-{secrets.token_hex(8)}"
    environment = {
        "DJANGO_SETTINGS_MODULE": "settings_with_queue",
        "PYTHONPATH": os.pathsep.join((str(packages), str(ROOT))),
        "REDIS_URL": os.environ["REDIS_URL"],
        "TASK_QUEUE": name,
    }
    yield queue, replace(site, environment={**site.environment, **environment})
    with redis.from_url(os.environ["REDIS_URL"]) as connection:
        for key in connection.scan_iter(f"*{name}*"):
            connection.delete(key)
        connection.srem("rq:queues", f"rq:queue:{name}")


@contextmanager
def working(queue: Queue, site: Site) -> Iterator[None]:
    """Let a worker of the queue run."""
    command = [sys.executable, *queue.worker, site.environment["TASK_QUEUE"]]
    process = subprocess.Popen(command, cwd=ROOT, env=site.env)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.mark.service("REDIS_URL")
def test_tasks_run_in_the_queue_of_the_site(queue: tuple[Queue, Site], tmp_path: Path) -> None:
    kind, site = queue
    with site.up("--workers", "2"):
        first, unwanted = start(site, tmp_path / "done"), start(site, tmp_path / "never")
        assert send(site, "tasks/get", taskId=first)["status"] == "working"
        send(site, "tasks/cancel", taskId=unwanted)
        with working(kind, site):
            wait_for(site, first, "working", "at it")
            (tmp_path / "done").touch()
            assert wait_for(site, first, "completed")["result"]["structuredContent"]["pid"]

            cancelled = start(site, tmp_path / "never")
            wait_for(site, cancelled, "working", "at it")
            send(site, "tasks/cancel", taskId=cancelled)
            wait_for(site, cancelled, "cancelled")

            asking = start(site, tmp_path / "done", ask=True)
            assert set(wait_for(site, asking, "input_required")["inputRequests"]) == {"sure"}
            answer = {"sure": {"action": "accept", "content": {"sure": True}}}
            send(site, "tasks/update", taskId=asking, inputResponses=answer)
            wait_for(site, asking, "completed")
        assert send(site, "tasks/get", taskId=unwanted)["status"] == "cancelled"
    assert "Traceback" not in site.output
