"""A variable that cannot be meant is refused in one sentence: its name, what was found, what to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.live import Site
from zolinga_site.environment import Environment

READERS: dict[str, Callable[[Environment], Any]] = {
    "DATABASE_URL": lambda env: env.database("DATABASE_URL", {}),
    "CACHE_URL": lambda env: env.cache("CACHE_URL", "locmemcache://"),
    "PUBLIC_URL": lambda env: env.site("PUBLIC_URL", ""),
    "HSTS_SECONDS": lambda env: env.seconds("HSTS_SECONDS", 3600),
    "DEBUG": lambda env: env.switch("DEBUG"),
    "ISSUERS": lambda env: env.json_object("ISSUERS"),
}


def read(name: str, value: str | None) -> Any:
    variables = {} if value is None else {name: value}
    return READERS[name](type("Given", (Environment,), {"ENVIRON": variables})())


@pytest.mark.parametrize(
    ("name", "value", "cure"),
    [
        ("DATABASE_URL", "garbage", "write postgres://user:password@host:5432/name"),
        ("DATABASE_URL", "https://db.example/shop", "write postgres://"),
        ("DATABASE_URL", "postgres://db.example:port/shop", "write postgres://"),
        ("DATABASE_URL", "postgres://db.example", "write postgres://"),
        ("DATABASE_URL", "postgres://[::1/shop", "write postgres://"),
        ("CACHE_URL", "garbage", "write redis://host:6379/0"),
        ("CACHE_URL", "redis://[::1", "write redis://host:6379/0"),
        ("PUBLIC_URL", "garbage", 'for example "https://mcp.example.com"'),
        ("PUBLIC_URL", "ftp://x", 'for example "https://mcp.example.com"'),
        ("PUBLIC_URL", "http://[::1", 'for example "https://mcp.example.com"'),
        ("PUBLIC_URL", "http://x:port", 'for example "https://mcp.example.com"'),
        ("HSTS_SECONDS", "abc", "write a whole number of seconds"),
        ("HSTS_SECONDS", "-1", "write a whole number of seconds"),
        ("DEBUG", "maybe", "write “on” or “off”"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_what_to_write(name: str, value: str, cure: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        read(name, value)
    said = str(caught.value)
    assert said.startswith(f"{name} is {value!r}: ")
    assert cure in said
    assert "\n" not in said


def test_a_refusal_repeats_no_password() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"DATABASE_URL is '…@db.example:port/shop'") as caught:
        read("DATABASE_URL", "postgres://user:s3cr@t-word@db.example:port/shop")
    assert "s3cr" not in str(caught.value)
    assert "t-word" not in str(caught.value)


@pytest.mark.parametrize("value", ["{'s3cr3t': 1}", '["s3cr3t"]', "s3cr3t", '{"a": "s3cr3t'])
def test_what_is_no_json_object_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="ISSUERS is no JSON object: write") as caught:
        read("ISSUERS", value)
    assert "s3cr3t" not in str(caught.value)


def test_a_json_object_is_taken_as_it_is() -> None:
    assert read("ISSUERS", '{"": {"TIMEOUT_SECONDS": 5}}') == {"": {"TIMEOUT_SECONDS": 5}}
    assert read("ISSUERS", None) == {}


@pytest.mark.parametrize(
    ("value", "on"), [("on", True), ("True", True), ("1", True), ("off", False), ("NO", False), (None, False)]
)
def test_a_switch_is_on_or_off(value: str | None, on: bool) -> None:
    assert read("DEBUG", value) is on


def test_what_is_not_set_has_its_default() -> None:
    assert read("DATABASE_URL", None) == {}
    assert read("PUBLIC_URL", None) == ""
    assert read("HSTS_SECONDS", None) == 3600
    assert "LocMemCache" in read("CACHE_URL", None)["BACKEND"]


@pytest.mark.parametrize(
    ("command", "variable", "value"),
    [
        ("up", "DATABASE_URL", "garbage"),
        ("migrate", "PUBLIC_URL", "http://[::1"),
        ("import_manifests", "ZOLINGA_DATA_DIR", "/dev/null/var"),
    ],
)
def test_every_command_says_it_in_one_line_and_fails(tmp_path: Path, command: str, variable: str, value: str) -> None:
    done = Site(tmp_path / "var", {variable: value}).manage(command, check=False)
    assert done.returncode == 1
    assert variable in done.stderr
    assert value in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not (tmp_path / "var" / "db.sqlite3").exists()
