"""The settings as the environment makes them, each read in a fresh process."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.live import ROOT, Migrated, Site

READ = """
import json, sys
from zolinga_site import settings
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))
"""


def read(tmp_path: Path, *names: str, **environment: str) -> Any:
    """The values of settings under an environment."""
    done = subprocess.run(
        [sys.executable, "-c", READ, *names],
        cwd=ROOT,
        env=Site(tmp_path, environment).env,
        capture_output=True,
        text=True,
        check=True,
    )
    values = json.loads(done.stdout)
    return values[names[0]] if len(names) == 1 else [values[name] for name in names]


def test_without_any_environment_the_site_is_closed_and_local(tmp_path: Path) -> None:
    debug, hosts, zolinga = read(tmp_path, "DEBUG", "ALLOWED_HOSTS", "ZOLINGA")
    assert debug is False
    assert hosts == ["127.0.0.1", "localhost", "[::1]"]
    assert zolinga["MODULE_DIRS"] == [str(ROOT / "modules")]


def test_an_empty_variable_is_one_that_is_not_set(tmp_path: Path) -> None:
    names = ("DEBUG", "ALLOWED_HOSTS", "ZOLINGA", "DATABASES", "CACHES", "SECRET_KEY", "SECURE_HSTS_SECONDS")
    variables = (
        "DEBUG",
        "ALLOWED_HOSTS",
        "PUBLIC_URL",
        "DATABASE_URL",
        "CACHE_URL",
        "SECRET_KEY",
        "HSTS_SECONDS",
        "ZOLINGA_MODULE_DIRS",
    )
    assert read(tmp_path, *names, **dict.fromkeys(variables, "")) == read(tmp_path, *names)


def test_sqlite_waits_for_its_turn_instead_of_failing(tmp_path: Path) -> None:
    default = read(tmp_path, "DATABASES")["default"]
    assert default["NAME"] == str(tmp_path / "db.sqlite3")
    assert default["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert default["OPTIONS"]["timeout"] == 20
    assert "journal_mode=WAL" in default["OPTIONS"]["init_command"]
    assert "synchronous=NORMAL" in default["OPTIONS"]["init_command"]


def test_a_database_url_is_followed_and_its_connections_last(tmp_path: Path) -> None:
    default = read(tmp_path, "DATABASES", DATABASE_URL="postgres://user:word@db.example:5433/shop")["default"]
    assert (default["ENGINE"], default["HOST"], default["PORT"], default["NAME"]) == (
        "django.db.backends.postgresql",
        "db.example",
        5433,
        "shop",
    )
    assert default["CONN_MAX_AGE"] == 60
    assert default["CONN_HEALTH_CHECKS"] is True
    assert "transaction_mode" not in default.get("OPTIONS", {})


def test_a_database_url_for_sqlite_gets_the_same_options(tmp_path: Path) -> None:
    default = read(tmp_path, "DATABASES", DATABASE_URL=f"sqlite:///{tmp_path}/other.sqlite3")["default"]
    assert default["NAME"] == f"{tmp_path}/other.sqlite3"
    assert default["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_the_secret_key_of_the_environment_comes_first(tmp_path: Path) -> None:
    assert read(tmp_path, "SECRET_KEY", SECRET_KEY="given") == "given"
    assert not (tmp_path / "secret_key").exists()
    made = read(tmp_path, "SECRET_KEY")
    assert made == (tmp_path / "secret_key").read_text().strip()
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600


def test_the_public_url_names_the_host_and_its_prefix(tmp_path: Path) -> None:
    hosts, prefix, trusted = read(
        tmp_path,
        "ALLOWED_HOSTS",
        "FORCE_SCRIPT_NAME",
        "CSRF_TRUSTED_ORIGINS",
        PUBLIC_URL="https://mcp.example.com/tools/",
    )
    assert "mcp.example.com" in hosts
    assert prefix == "/tools"
    assert trusted == ["https://mcp.example.com"]


def test_allowed_hosts_of_the_environment_are_all_there_are(tmp_path: Path) -> None:
    hosts = read(tmp_path, "ALLOWED_HOSTS", PUBLIC_URL="https://mcp.example.com", ALLOWED_HOSTS="a.example,b.example")
    assert hosts == ["a.example", "b.example"]


def test_without_a_public_url_it_is_where_up_last_served(tmp_path: Path) -> None:
    (tmp_path / "served_url").write_text("http://127.0.0.1:8080\n")
    assert read(tmp_path, "PUBLIC_URL") == "http://127.0.0.1:8080"
    assert read(tmp_path, "PUBLIC_URL", PUBLIC_URL="https://mcp.example.com") == "https://mcp.example.com"


def test_several_module_folders_stand_with_colons_between(tmp_path: Path) -> None:
    folders = read(tmp_path, "ZOLINGA", ZOLINGA_MODULE_DIRS="modules:/srv/more:")["MODULE_DIRS"]
    assert folders == [str(ROOT / "modules"), "/srv/more"]


def test_a_site_behind_https_passes_djangos_deployment_check(tmp_path: Path) -> None:
    site = Site(tmp_path, {"PUBLIC_URL": "https://mcp.example.com"})
    done = site.manage("check", "--deploy", "--fail-level", "ERROR")
    # Desktop clients listen at http://127.0.0.1, so plain http stays a scheme to redirect to.
    assert re.findall(r"\((\w+\.[EW]\d+)\)", done.stderr) == ["oauth2_provider.W008"]


VISIT = """
import json, sys
import django
django.setup()
from django.test import Client
statuses = [Client().get(path, HTTP_HOST="mcp.example.com").status_code for path in sys.argv[1:]]
print(json.dumps(statuses))
"""


@pytest.mark.parametrize("prefix", ["", "/tools"])
def test_behind_https_only_pages_for_people_are_redirected(migrated: Migrated, tmp_path: Path, prefix: str) -> None:
    paths = ["/mcp", "/mcp/", "/.well-known/oauth-protected-resource/mcp", "/mcp_x", "/admin/login/", "/"]
    with migrated.copy(tmp_path / "var", {"PUBLIC_URL": f"https://mcp.example.com{prefix}"}) as site:
        done = subprocess.run(
            [sys.executable, "-c", VISIT, *paths],
            cwd=ROOT,
            env={**site.env, "DJANGO_SETTINGS_MODULE": "zolinga_site.settings"},
            capture_output=True,
            text=True,
            check=True,
        )
    found = json.loads(done.stdout)
    assert 301 not in found[:3]
    assert found[3:] == [301, 301, 301]


@pytest.mark.parametrize("public_url", ["", "http://127.0.0.1:8000", "https://mcp.example.com"])
def test_the_system_checks_find_nothing(tmp_path: Path, public_url: str) -> None:
    done = Site(tmp_path, {"PUBLIC_URL": public_url}).manage("check", "--fail-level", "WARNING", check=False)
    assert done.returncode == 0, done.stderr


def test_every_model_has_its_migration(tmp_path: Path) -> None:
    done = Site(tmp_path).manage("makemigrations", "--check", "--dry-run", check=False)
    assert done.returncode == 0, done.stdout


def test_a_password_never_lands_in_a_log_of_the_data_directory(tmp_path: Path) -> None:
    site = Site(tmp_path, {"DATABASE_URL": "postgres://user:s3cret-word@127.0.0.1:1/shop"})
    done = site.manage("migrate", check=False)
    assert done.returncode != 0
    for path in (tmp_path / "log").rglob("*"):
        assert "s3cret-word" not in path.read_text()
