"""JsonErrors: errors outside the view are JSON on the endpoint's paths, and untouched elsewhere.

DirectAnswers: the middlewares after it see no request to an endpoint.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.http import HttpResponse, HttpResponseForbidden
from django.test import AsyncClient, Client

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

pytestmark = pytest.mark.django_db


class BreakDown:
    """A middleware that fails, or answers with a page, as a header says."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        match request.headers.get("X-Break"):
            case "raise":
                raise RuntimeError("password=hunter2")
            case "page":
                return HttpResponseForbidden("<h1>No</h1>")
            case "text":
                return HttpResponse("plain", status=418, content_type="text/plain")
        return self.get_response(request)


@pytest.fixture(autouse=True)
def _middleware(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "mcp_gateway.middleware.JsonErrors",
        *(name for name in settings.MIDDLEWARE if not name.startswith("mcp_gateway.middleware.")),
        "tests.test_middleware.BreakDown",
    ]


def post(path: str = "/mcp", **headers: str) -> HttpResponse:
    client = Client(raise_request_exception=False)
    response = client.post(path, LIST, content_type="application/json", headers=headers)
    assert isinstance(response, HttpResponse)
    return response


def error_of(response: Any) -> Any:
    assert response["Content-Type"] == "application/json"
    message = json.loads(response.content)
    assert set(message) == {"jsonrpc", "error"}
    return message["error"]


# Django's technical pages are plain text to who does not accept HTML, as clients of MCP do not.
ACCEPTED = ["*/*", "application/json, text/event-stream"]


@pytest.mark.parametrize("accept", ACCEPTED)
@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/nowhere"])
def test_a_hostile_host_gets_json(settings: Any, debug: bool, path: str, accept: str) -> None:
    settings.DEBUG = debug
    response = post(path, Host="evil.example", Accept=accept)
    assert response.status_code == 400
    assert error_of(response)["code"] == -32600
    assert "SECRET" not in response.content.decode()


@pytest.mark.parametrize("accept", ACCEPTED)
@pytest.mark.parametrize("debug", [True, False])
def test_a_failing_middleware_gives_an_incident_and_no_trace(
    settings: Any, debug: bool, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DEBUG = debug
    response = post(**{"X-Break": "raise", "Accept": accept})
    assert response.status_code == 500
    error = error_of(response)
    assert error["code"] == -32603
    assert "hunter2" not in response.content.decode()
    assert error["message"].rpartition(" ")[2].rstrip(".") in caplog.text


def test_a_page_of_another_middleware_becomes_json() -> None:
    response = post(**{"X-Break": "page"})
    assert response.status_code == 403
    assert error_of(response)["code"] == -32600


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize(
    ("path", "headers", "status", "error"),
    [
        ("", {"Host": "evil.example"}, 400, "invalid_request"),
        ("/mcp", {"Host": "evil.example"}, 400, "invalid_request"),
        ("/mcp", {"X-Break": "page"}, 403, "invalid_request"),
        ("/mcp", {"X-Break": "raise"}, 500, "server_error"),
        ("/nowhere", {}, 404, "not_found"),
    ],
)
def test_metadata_documents_get_an_error_of_oauth(
    settings: Any, debug: bool, path: str, headers: dict[str, str], status: int, error: str
) -> None:
    settings.DEBUG = debug
    client = Client(raise_request_exception=False)
    response = client.get(f"/.well-known/oauth-protected-resource{path}", headers=headers)
    assert (response.status_code, response["Content-Type"]) == (status, "application/json")
    assert response.json()["error"] == error
    assert "hunter2" not in response.content.decode()
    # A client in a browser reads the error too.
    assert response["Access-Control-Allow-Origin"] == "*"


def test_what_is_no_page_passes() -> None:
    assert post(**{"X-Break": "text"}).content == b"plain"


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("path", ["/mcp/a/b", "/mcp/a.b", "/mcp//", "/mcp/nowhere/x/y/"])
def test_a_path_below_an_endpoint_that_leads_nowhere_gets_json(settings: Any, debug: bool, path: str) -> None:
    settings.DEBUG = debug
    response = post(path)
    assert response.status_code == 404
    assert error_of(response)["code"] == -32600


@pytest.mark.parametrize("path", ["/nowhere/", "/mcpx", "/x/mcp", "/"])
@pytest.mark.parametrize("headers", [{}, {"Host": "evil.example"}, {"X-Break": "page"}, {"X-Break": "raise"}])
def test_other_paths_keep_their_pages(path: str, headers: dict[str, str]) -> None:
    response = post(path, **headers)
    assert response.status_code >= 400
    assert response["Content-Type"].startswith("text/html")


def test_answers_of_the_endpoint_pass_untouched() -> None:
    assert "result" in json.loads(post().content)


@pytest.mark.django_db(transaction=True)
def test_it_works_under_asgi() -> None:
    async def send(**headers: str) -> Any:
        try:
            return await AsyncClient().post("/mcp", LIST, content_type="application/json", headers=headers)
        finally:
            # The view ran in a thread of its own, with a connection of its own.
            await sync_to_async(connections.close_all)()

    assert error_of(asyncio.run(send(Host="evil.example")))["code"] == -32600
    assert asyncio.run(send()).status_code == 200


@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize(
    ("path", "headers", "status", "name"),
    [
        ("/dist/system/gate", {"X-Break": "raise"}, 500, "ERROR"),
        ("/dist/system/gate/", {"X-Break": "page"}, 403, "FORBIDDEN"),
        ("/dist/system/gate", {"Host": "evil.example"}, 400, "BAD_REQUEST"),
        ("/dist/system/gate/nowhere", {}, 404, "NOT_FOUND"),
    ],
)
def test_on_the_gates_paths_they_are_the_gates_errors(
    settings: Any, debug: bool, path: str, headers: dict[str, str], status: int, name: str
) -> None:
    settings.DEBUG = debug
    response = post(path, **headers)
    assert (response.status_code, response["Content-Type"]) == (status, "application/json")
    said = json.loads(response.content)
    assert (said["status"], said["statusName"], said["ok"]) == (status, name, False)
    assert "hunter2" not in said["message"]


def test_the_endpoint_is_answered_before_the_middlewares_for_browsers(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "mcp_gateway.middleware.JsonErrors",
        "mcp_gateway.middleware.DirectAnswers",
        "tests.test_middleware.BreakDown",
    ]
    response = post(**{"X-Break": "page"})
    assert "result" in json.loads(response.content)
    assert response["Content-Length"] == str(len(response.content))
    assert post("/mcp/nowhere", **{"X-Break": "page"}).status_code == 404
    assert post("/", **{"X-Break": "text"}).content == b"plain"
    assert error_of(post(Host="evil.example"))["code"] == -32600
    settings.ROOT_URLCONF = "mcp_gateway.urls.well_known"
    assert post(**{"X-Break": "text"}).content == b"plain"


def test_the_site_answers_its_endpoint_directly() -> None:
    response = post()
    assert "result" in json.loads(response.content)
    assert "X-Frame-Options" in Client().get("/")
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/oauth/register/", "/oauth/token/", "/oauth/revoke_token/"])
@pytest.mark.parametrize(("broken", "status"), [("raise", 500), ("page", 403)])
def test_on_the_paths_of_oauth_clients_errors_are_oauths(path: str, broken: str, status: int) -> None:
    response = post(path, **{"X-Break": broken})
    assert response.status_code == status
    assert response["Content-Type"] == "application/json"
    document = json.loads(response.content)
    assert document["error"] in ("server_error", "invalid_request")
    assert "hunter2" not in response.content.decode()
