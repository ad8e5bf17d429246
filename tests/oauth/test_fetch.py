"""Fetching from a stranger's URL: nothing but public https, within time and size, and never where it is sent on."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from mcp_gateway.oauth import fetch
from mcp_gateway.oauth.fetch import FetchError, SafeFetcher, is_public
from tests.oauth.web import LocalFetcher, Web


def get(url: str, max_bytes: int = 1000, fetcher: SafeFetcher | None = None) -> fetch.Fetched:
    return (fetcher or LocalFetcher()).fetch(url, max_bytes=max_bytes)


def test_a_json_object_comes_back(internet: Web) -> None:
    url = internet.put("/client.json?v=1", {"client_id": "x"}, headers={"Cache-Control": "max-age=600"})
    assert get(url) == fetch.Fetched({"client_id": "x"}, 600)
    path, headers = internet.asked[-1]
    assert (path, headers["Host"]) == ("/client.json?v=1", "client.test")
    assert "application/json" in headers["Accept"]
    assert not {"Cookie", "Authorization", "Referer"} & set(headers)


@pytest.mark.parametrize(
    "url",
    [
        "http://client.test/x",
        "HTTPS://client.test/x",
        "ftp://client.test/x",
        "file:///etc/passwd",
        "//client.test/x",
        "https:///x",
        "https://client.test:8443/x",
        "https://client.test:22/x",
        "https://client.test:99999/x",
        "https://user@client.test/x",
        "https://client.test@127.0.0.1/x",
        "https://client.test/x#y",
        "https://client.test\\@127.0.0.1/x",
        "https://client.test/x y",
        "https://client.test/\r\nHost: x",
        "https://clïent.test/x",
        "https://client.test/" + "x" * 2000,
        "https://[::1/x",
        "",
    ],
)
def test_a_url_that_is_not_plain_https_is_refused_unasked(internet: Web, url: str) -> None:
    before = len(internet.asked)
    with pytest.raises(FetchError):
        get(url)
    assert len(internet.asked) == before


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "169.254.169.254",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "0.0.0.0",  # noqa: S104
        "224.0.0.1",
        "255.255.255.255",
    ],
)
def test_no_address_of_ours_is_ever_connected_to(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    def connect(*_arguments: Any) -> Any:
        raise AssertionError("it connected")

    monkeypatch.setattr(SafeFetcher, "connect", connect)
    with pytest.raises(FetchError, match="could not be reached"):
        get(f"https://{host}/latest/meta-data", fetcher=SafeFetcher())


@pytest.mark.parametrize("resolved", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["93.184.215.14", "::1"], []])
def test_a_name_with_an_address_of_ours_among_others_is_refused(
    monkeypatch: pytest.MonkeyPatch, resolved: list[str]
) -> None:
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_a, **_k: [(0, 0, 0, "", (address, 443)) for address in resolved]
    )
    with pytest.raises(FetchError):
        SafeFetcher().addresses("rebind.example", 443)


def test_the_connection_goes_to_the_address_that_was_judged(internet: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    connect = LocalFetcher.connect

    def remember(self: LocalFetcher, address: str, port: int, timeout: float) -> Any:
        seen.append(address)
        return connect(self, address, port, timeout)

    def look_up(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("the name was looked up again")

    monkeypatch.setattr(LocalFetcher, "connect", remember)
    monkeypatch.setattr(LocalFetcher, "resolved", ["203.0.113.9"])
    url = internet.put("/a", {})
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: real(host, *a, **k) if host == "127.0.0.1" else look_up()
    )
    get(url)
    assert seen == ["203.0.113.9"]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("64:ff9b::5db8:d70e", True),
        ("64:ff9b::a00:1", False),
        ("64:ff9b:1::a00:1", False),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
        ("2002:a00:1::1", False),
        ("::127.0.0.1", False),
        ("::", False),
        ("ff02::1", False),
        ("fec0::1", False),
        ("2001:db8::1", False),
        ("198.18.0.1", False),
        ("192.0.2.1", False),
        ("240.0.0.1", False),
        ("fe80::1%eth0", False),
        ("nonsense", False),
    ],
)
def test_what_a_public_address_is(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize("status", [201, 204, 301, 302, 307, 308, 401, 404, 500])
def test_only_200_counts_and_no_redirect_is_followed(internet: Web, status: int) -> None:
    target = internet.put("/target", {"client_id": "x"})
    url = internet.put(f"/{status}", b"", status=status, headers={"Location": target})
    before = len(internet.asked)
    with pytest.raises(FetchError, match=str(status)):
        get(url)
    assert internet.paths[before:] == [f"/{status}"]


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        (b"<html>", {"Content-Type": "text/html"}, "Content-Type"),
        (b"{}", {"Content-Type": ""}, "Content-Type"),
        (b"{}", {"Content-Type": "application/jsonp"}, "Content-Type"),
        (b"\x1f\x8b", {"Content-Encoding": "gzip"}, "compressed"),
        (b"[1]", {}, "object"),
        (b"{", {}, "object"),
        (b'{"a": "\xff"}', {}, "object"),
        (b'{"a": NaN}', {}, "object"),
        (b'{"a": "' + b"x" * 1000 + b'"}', {}, "1000 bytes"),
    ],
)
def test_what_is_no_small_json_object_is_refused(
    internet: Web, body: bytes, headers: dict[str, str], says: str
) -> None:
    with pytest.raises(FetchError, match=says):
        get(internet.put("/odd", body, headers=headers))


def test_a_body_without_end_is_left_alone_at_the_limit(internet: Web) -> None:
    stopped = threading.Event()

    def pour(stream: Any) -> None:
        try:
            while True:
                stream.write(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
        except OSError:
            stopped.set()

    headers = {"Content-Length": "", "Transfer-Encoding": "chunked"}
    with pytest.raises(FetchError):
        get(internet.put("/endless", b"", headers=headers, write=pour))
    assert stopped.wait(30)


def test_a_server_that_dawdles_is_left_alone(internet: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalFetcher, "timeout", 0.2)
    released, ended = threading.Event(), threading.Event()

    def dawdle(stream: Any) -> None:
        released.wait(30)
        ended.set()

    with pytest.raises(FetchError, match=r"in time|reached"):
        get(internet.put("/slow", b"{}", write=dawdle))
    released.set()
    assert ended.wait(30)


def test_only_so_many_are_under_way_at_once(internet: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch.SafeFetcher, "at_once", threading.BoundedSemaphore(1))
    url = internet.put("/a", {})
    fetch.SafeFetcher.at_once.acquire()
    with pytest.raises(FetchError, match="too much"):
        get(url)
    fetch.SafeFetcher.at_once.release()
    assert get(url)
    # Each gives its place back.
    assert get(url)


def test_a_certificate_of_another_name_or_authority_is_refused(internet: Web, tmp_path: Path) -> None:
    internet.put("/a", {})
    with pytest.raises(FetchError, match="certificate"):
        get("https://other.test/a")

    class Distrustful(LocalFetcher):
        def context(self) -> Any:
            return SafeFetcher.context(self)

    with pytest.raises(FetchError, match="certificate"):
        get("https://client.test/a", fetcher=Distrustful())


@pytest.mark.parametrize(
    ("headers", "age"),
    [
        ({}, fetch.USUAL_AGE),
        ({"Cache-Control": "max-age=1"}, fetch.LEAST_AGE),
        ({"Cache-Control": "public, max-age=999999999"}, fetch.LARGEST_AGE),
        ({"Cache-Control": "s-maxage=5, max-age=1000"}, 1000),
        ({"Cache-Control": "no-store"}, fetch.LEAST_AGE),
        ({"Cache-Control": "no-cache, max-age=1000"}, fetch.LEAST_AGE),
        ({"Expires": "Thu, 01 Jan 1970 00:00:00 GMT"}, fetch.LEAST_AGE),
        ({"Expires": "Fri, 01 Jan 2100 00:00:00 GMT"}, fetch.LARGEST_AGE),
        ({"Expires": "0"}, fetch.LEAST_AGE),
    ],
)
def test_the_headers_say_how_long_it_may_be_held_within_bounds(
    internet: Web, headers: dict[str, str], age: int
) -> None:
    assert get(internet.put("/aged", {}, headers=headers)).max_age == age
