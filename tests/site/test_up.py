"""``manage.py up``: one command from a fresh copy to a serving site."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.live import LIST_TOOLS, PATIENCE, ROOT, Site, database, lines, until
from zolinga_site.port import answers, cannot_listen, hold


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Site]:
    """A fresh copy's data directory, nothing in it."""
    with database() as environment:
        yield Site(tmp_path / "var", environment)


def test_a_first_run_serves_the_example_and_a_second_makes_nothing_new(fresh: Site) -> None:
    with fresh.up() as process:
        assert {"getPricingList", "echo", "my-tool"} <= fresh.tools()
    assert process.returncode == 0, fresh.output
    assert "Unexpected" not in fresh.output
    assert f"Endpoint: {fresh.endpoint}\n" in fresh.output
    assert f"Admin:    {fresh.url}/admin/\n" in fresh.output
    assert f"curl -X POST {fresh.endpoint} " in fresh.output
    assert "Administrator: admin was made." in fresh.output
    password = fresh.password

    with fresh.up(), fresh.client() as client:
        form = client.get("/admin/login/")
        entered = client.post(
            "/admin/login/",
            data={
                "username": "admin",
                "password": password,
                "csrfmiddlewaretoken": form.cookies["csrftoken"],
                "next": "/admin/",
            },
        )
        assert entered.status_code == 302
        assert "Site administration" in client.get("/admin/").text
    assert "Database: up to date." in fresh.output
    assert "Administrator: admin is kept." in fresh.output
    assert "Password" not in fresh.output
    assert "added" not in fresh.output.lower()

    beside = fresh.manage("shell", "-c", "from mcp_gateway.conf import gateway_settings as g; print(g.public_url)")
    assert beside.stdout.splitlines()[-1] == fresh.url


def test_a_busy_port_is_refused_before_anything_else_with_the_flag_to_use(fresh: Site) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", fresh.port))
        busy.listen()
        done = fresh.manage("up", "--port", str(fresh.port), check=False)
    assert done.returncode == 1
    assert f"Port {fresh.port} on 127.0.0.1 is in use" in done.stderr
    assert "manage.py up --port " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (fresh.data / "db.sqlite3").exists()


def test_of_two_on_one_port_at_once_one_serves_and_the_other_is_refused(site: Site, tmp_path: Path) -> None:
    both = [
        subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(site.port)],
            cwd=ROOT,
            env={**site.env, "ZOLINGA_DATA_DIR": str(tmp_path / name), "DATABASE_URL": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        for name in ("one", "two")
    ]
    printed = {}
    for process in both:
        said = []
        for line in lines(process):
            said.append(line)
            if line.startswith("Ctrl-C"):
                os.killpg(process.pid, signal.SIGINT)
        printed[process] = "".join(said)
        process.communicate(timeout=60)
    codes = sorted(process.returncode for process in both)
    assert codes == [0, 1], printed
    refused = next(text for process, text in printed.items() if process.returncode == 1)
    assert f"Port {site.port} on 127.0.0.1 is in use" in refused


def test_the_address_is_printed_once_it_answers(site: Site) -> None:
    # The fixture's client tries again while nobody listens, so here is one that looks before it.
    seen = []
    site.on_ready = lambda: seen.append(answers("127.0.0.1", site.port))
    with site.up("--workers", "2"):
        pass
    assert seen == [True]
    assert site.output.index("Server: starting.") < site.output.index("Try it:")


def test_a_held_port_lets_the_workers_in_and_nobody_else() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with hold("127.0.0.1", port):
        assert cannot_listen("127.0.0.1", port)
        assert not answers("127.0.0.1", port)
        with pytest.raises(OSError, match="in use"):
            hold("127.0.0.1", port)
        with socket.socket() as worker:
            worker.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            worker.bind(("127.0.0.1", port))
            worker.listen()
            assert answers("127.0.0.1", port)
    assert not cannot_listen("127.0.0.1", port)


def test_ctrl_c_while_django_loads_prints_nothing(tmp_path: Path) -> None:
    # Where the tests run in the background of a script, the signal is ignored until somebody takes it.
    settings = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    (tmp_path / "slow_settings.py").write_text(settings + "os.kill(os.getpid(), signal.SIGINT)\n")
    site = Site(tmp_path / "var", {"DJANGO_SETTINGS_MODULE": "slow_settings", "PYTHONPATH": str(tmp_path)})
    done = site.manage("up", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--port", "0"), "no port"),
        (("--port", "99999"), "no port"),
        (("--port", "http"), "no port"),
        (("--workers", "0"), "above 0"),
        (("--host", "203.0.113.77"), "--host takes an address of this machine"),
        (("--host", "no.such.host.invalid"), "--host takes an address of this machine"),
    ],
)
def test_an_address_that_cannot_be_served_is_refused_with_what_to_write(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("up", *arguments)


def test_a_site_told_to_stop_stops_cleanly_and_leaves_nothing_behind(site: Site) -> None:
    with site.up("--workers", "2") as process:
        process.terminate()
        assert process.wait(timeout=30) == 0
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    assert "Traceback" not in site.output


def test_a_refused_manifest_is_told_once_and_named_at_the_end_and_the_site_serves_without_it(
    site: Site, tmp_path: Path
) -> None:
    modules = tmp_path / "modules"
    for name, manifest in (
        ("broken", '{"name": "Broken", "listen": ['),
        ("half", json.dumps({"listen": [{"event": "lost", "class": "\\Half\\No", "method": "a", "origin": ["mcp"]}]})),
        ("odd", '{"authors": [NaN]}'),
    ):
        (modules / name).mkdir(parents=True)
        (modules / name / "zolinga.json").write_text(manifest)
    site.environment = {**site.environment, "ZOLINGA_MODULE_DIRS": f"modules:{modules}"}
    with site.up():
        assert "getPricingList" in site.tools()
    report, end = site.output.split("Server: starting.")
    assert report.count("The manifest cannot be read: it is no JSON") == 1
    assert "ERROR" not in site.output
    assert "module broken (The manifest cannot be read: it is no JSON" in end
    assert "listener lost" in end
    assert "module odd" not in end
    assert "Import refused module broken" in (site.data / "log" / "zolinga.log").read_text()


@pytest.mark.parametrize("url", ["postgres://user:s3cret-word@127.0.0.1:1/shop", "sqlite:////nowhere/at/all.sqlite3"])
def test_a_database_that_cannot_be_reached_is_said_in_one_line(fresh: Site, url: str) -> None:
    fresh.environment = {"DATABASE_URL": url}
    done = fresh.manage("up", "--port", str(fresh.port), check=False)
    assert done.returncode == 1
    assert "The database cannot be used: " in done.stderr
    assert "DATABASE_URL" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "s3cret-word" not in done.stderr + done.stdout


def test_the_administrator_of_the_environment_is_taken(site: Site) -> None:
    site.environment = {
        **site.environment,
        "DJANGO_SUPERUSER_USERNAME": "root",
        "DJANGO_SUPERUSER_PASSWORD": "given-by-hand-2931",
        "DJANGO_SUPERUSER_EMAIL": "root@example.com",
    }
    with site.up():
        pass
    assert "Administrator: root was made." in site.output
    assert "given-by-hand-2931" not in site.output
    done = site.manage(
        "shell",
        "-c",
        "from django.contrib.auth.models import User; u = User.objects.get(); "
        "print(u.username, u.email, u.is_superuser, u.check_password('given-by-hand-2931'))",
    )
    assert done.stdout.splitlines()[-1] == "root root@example.com True True"


def test_serving_for_other_machines_tells_what_else_they_need(site: Site) -> None:
    with site.up("--host", "0.0.0.0"):  # noqa: S104
        assert "getPricingList" in site.tools()
    assert "For clients elsewhere" in site.output
    assert "PUBLIC_URL=" in site.output
    assert "Other machines should come through a proxy" in site.output


def test_a_site_that_knows_its_address_is_told_nothing_about_it(site: Site) -> None:
    site.environment = {**site.environment, "PUBLIC_URL": "http://tools.example.com"}
    with site.up("--host", "0.0.0.0"), site.client() as client:  # noqa: S104
        answer = client.post("/mcp", json=LIST_TOOLS, headers={"Host": "tools.example.com"})
        assert answer.status_code == 200
    assert "For clients elsewhere" not in site.output


def test_ctrl_c_pressed_again_and_again_is_still_a_clean_stop(site: Site) -> None:
    with site.up() as process:
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.005)
    assert process.returncode == 0
    assert "Traceback" not in site.output


# In one write: two workers' lines must not mix.
LOADING = """
import os, signal, sys
from zolinga_site.settings import *

if sys.argv[0].endswith("server.py"):
    os.write(1, b"A worker loads.\\n")
    signal.pause()
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_while_the_workers_load_stops_them_all_and_prints_no_trace(
    site: Site, tmp_path: Path, workers: int
) -> None:
    (tmp_path / "loading_settings.py").write_text(LOADING)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", ""))))
    own = {**site.environment, "DJANGO_SETTINGS_MODULE": "loading_settings", "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--port", str(site.port), "--workers", str(workers)],
        cwd=ROOT,
        env={**site.env, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    for _worker in range(workers):
        until(process, "A worker loads.")
    os.killpg(process.pid, signal.SIGINT)
    rest, _none = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert "Traceback" not in rest
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
