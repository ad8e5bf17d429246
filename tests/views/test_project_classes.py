"""A project's own permission, throttle and authentication classes on a view of its own."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.urls import path
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.throttling import SimpleRateThrottle

from mcp_gateway.views import McpView
from tests.demo import Demo
from tests.wire import Wire, issue_token

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Office(BasePermission):
    """Lets in who knows the word."""

    def has_permission(self, request: Any, view: Any) -> bool:
        """Look at a header, as permissions do."""
        assert view.kwargs == {}
        return bool(request.headers.get("X-Word") == "please")


class Once(SimpleRateThrottle):
    """One request for everyone together."""

    rate = "1/hour"
    cache_key = ""

    def get_cache_key(self, request: Any, view: Any) -> str:
        """One key for all."""
        return self.cache_key


class KeyAuthentication(BaseAuthentication):
    """Knows its users by a header."""

    def authenticate(self, request: Any) -> Any:
        """The user whose name is the key."""
        key = request.headers.get("X-Key")
        return (get_user_model().objects.get(username=key), None) if key else None


class OfficeView(McpView):
    """An endpoint with a permission."""

    permission_classes = (Office,)


class MembersView(McpView):
    """An endpoint for the authenticated."""

    permission_classes = (IsAuthenticated,)


class ThrottledView(McpView):
    """An endpoint with a throttle."""

    throttle_classes = (Once,)


class KeyView(McpView):
    """An endpoint with authentication of its own."""

    authentication_classes = (KeyAuthentication,)


urlpatterns = [
    path("office", OfficeView.as_view()),
    path("members", MembersView.as_view()),
    path("throttled", ThrottledView.as_view()),
    path("key", KeyView.as_view()),
]


@pytest.fixture
def own(wire: Wire, settings: Any) -> Wire:
    """A client of a project that wrote views of its own; the stock endpoint is there too."""
    settings.ROOT_URLCONF = "tests.views.project_urls"
    return wire


def test_a_projects_permission_is_asked_before_the_body_is_read(own: Wire) -> None:
    own.path = "/own/office"
    assert own.post("{", {"X-Word": "please"}).code == -32700
    refused = own.post("{")
    assert refused.status == 401
    own.token = issue_token(get_user_model().objects.create_user("ann"), "mcp:tools")
    refused = own.post("{")
    assert (refused.status, refused.code, refused.challenge) == (403, 403, "")


def test_is_authenticated_means_a_token(own: Wire) -> None:
    own.path = "/own/members"
    refused = own.post(LIST)
    assert refused.status == 401
    assert 'scope="mcp:tools"' in refused.challenge
    own.token = issue_token(get_user_model().objects.create_user("ann"), "mcp:tools")
    assert own.post(LIST).result["tools"]


def test_a_throttle_says_when_to_come_back(own: Wire, monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    monkeypatch.setattr(Once, "cache_key", f"throttle-{request.node.nodeid}-{id(own)}")
    own.path = "/own/throttled"
    assert own.post(LIST).status == 200
    refused = own.post(LIST)
    assert (refused.status, refused.code) == (429, 429)
    assert 3500 < int(refused.response["Retry-After"]) <= 3600


def test_a_projects_authentication_replaces_the_bearer_token(own: Wire, demo: Demo) -> None:
    get_user_model().objects.create_user("ann", is_staff=True)
    demo.add("demo-signed", lambda event: {"user": event.user.username}, right="authenticated")
    own.path = "/own/key"
    assert own.call("legacy", "demo-signed").status == 401
    # A right that names no scope needs the baseline scopes, which a key does not carry.
    assert own.call("legacy", "demo-signed", headers={"X-Key": "ann"}).status == 403
    assert own.call("legacy", "demo-ping", headers={"X-Key": "ann"}).result["isError"] is False
    assert demo.calls[-1].user.username == "ann"


def test_a_project_whose_urls_lack_the_endpoints_still_answers_in_json(wire: Wire, demo: Demo, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.views.test_project_classes"
    demo.add("demo-secret", lambda event: {}, right="oauth2:scope mcp:tools")
    wire.path = "/members"
    answer = wire.post(LIST)
    assert (answer.status, answer.code) == (500, -32603)
