"""A token that was judged before is judged as one that was not, whatever has changed since."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.urls import set_script_prefix
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model

from mcp_gateway import registry
from mcp_gateway.models import Client, Generation, Scope
from mcp_gateway.oauth import token_query, verdicts
from mcp_gateway.oauth.authentication import Checked, InvalidToken, check_request
from tests.oauth.flow import MCP

HEADER = "Bearer t0ken"


def asked() -> Checked | str:
    try:
        return check_request(HEADER, "")
    except InvalidToken as refused:
        return refused.description


def said(verdict: Checked | str) -> Any:
    if isinstance(verdict, str):
        return verdict
    principal = verdict.principal
    return verdict.generation, {field.name: getattr(principal, field.name) for field in fields(principal)}


def tokens(**changes: Any) -> None:
    get_access_token_model().objects.update(**changes)


def users(**changes: Any) -> None:
    get_user_model().objects.update(**changes)


def clients(**changes: Any) -> None:
    client = Client.objects.get()
    for name, value in changes.items():
        setattr(client, name, value)
    client.save()


def registered_itself() -> None:
    get_application_model().objects.update(registration_source="dcr")


def allow_only_another() -> None:
    Client.objects.get().allowed_scopes.set([Scope.objects.create(name="other")])


def disable_the_scope() -> None:
    scope = Scope.objects.get(name="mcp:tools")
    scope.enabled = False
    scope.save()


def keep_to_a_group() -> None:
    Scope.objects.get(name="mcp:tools").groups.add(Group.objects.create(name="Staff"))


def without_a_user(*, service: bool) -> None:
    tokens(user=None)
    if service:
        clients(service_user=get_user_model().objects.create_user("robot"))


CHANGES: dict[str, tuple[Callable[[], object], bool]] = {
    "nothing": (lambda: None, True),
    "expired": (lambda: tokens(expires=timezone.now()), False),
    "revoked": (lambda: get_access_token_model().objects.all().delete(), False),
    "of another endpoint": (lambda: tokens(resource=["https://other.example/mcp"]), False),
    "of several endpoints": (lambda: tokens(resource=["https://other.example/mcp", MCP]), True),
    "of no endpoint": (lambda: tokens(resource=[]), False),
    "other scopes": (lambda: tokens(scope="other"), True),
    "no scope": (lambda: tokens(scope=""), True),
    "manages a registration": (lambda: tokens(scope="dcr:manage mcp:tools"), True),
    "the user was disabled": (lambda: users(is_active=False), False),
    "the user has another name": (lambda: users(username="grace"), True),
    "the user became a superuser": (lambda: users(is_superuser=True), True),
    "the client was disabled": (lambda: clients(enabled=False), False),
    "the client may ask for less": (allow_only_another, True),
    "the client registered itself": (registered_itself, True),
    "the client is gone": (lambda: tokens(application=None), True),
    "the client has another id": (lambda: get_application_model().objects.update(client_id="other"), True),
    "its owner was disabled": (lambda: without_a_user(service=False), False),
    "it acts for itself": (lambda: without_a_user(service=True), True),
    "the scope was disabled": (disable_the_scope, True),
    "the scope is kept to a group": (keep_to_a_group, True),
}


@pytest.mark.parametrize(("change", "counts"), CHANGES.values(), ids=CHANGES)
def test_a_known_token_is_judged_as_a_new_one(
    make_token: Callable[..., str], application: Any, change: Callable[[], object], counts: bool
) -> None:
    Scope.objects.get_or_create(name="mcp:tools")
    Client.objects.create(application=application)
    make_token("t0ken", scope="mcp:tools more")
    first = asked()
    assert said(asked()) == said(first)

    change()
    known = asked()
    verdicts.forget()
    assert said(known) == said(asked())
    assert isinstance(known, Checked) is counts
    assert said(asked()) == said(known)


def test_settings_count_at_once(make_token: Callable[..., str], settings: Any) -> None:
    make_token("t0ken", resource=[])
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOW_TOKENS_WITHOUT_AUDIENCE": True}
    assert isinstance(asked(), Checked)
    assert isinstance(asked(), Checked)
    settings.ZOLINGA = {**settings.ZOLINGA, "ALLOW_TOKENS_WITHOUT_AUDIENCE": False}
    assert "bound to no resource" in str(asked())


def test_a_verdict_holds_at_its_own_address_only(make_token: Callable[..., str]) -> None:
    make_token("t0ken")
    assert isinstance(asked(), Checked)
    try:
        # As one process that serves the site below two prefixes, or in two languages.
        set_script_prefix("/shop/")
        assert "another resource" in str(asked())
    finally:
        set_script_prefix("/")
    assert isinstance(asked(), Checked)


def test_each_request_has_a_user_of_its_own(make_token: Callable[..., str], user: Any) -> None:
    make_token("t0ken")
    found = [check_request(HEADER, "").principal.user for _ in range(3)]
    found[1].username = "somebody else"
    assert [one.username for one in found] == ["ada", "somebody else", "ada"]
    assert all(isinstance(one, get_user_model()) and one == user for one in found)


def test_nothing_that_a_log_says_of_a_caller_is_a_secret(make_token: Callable[..., str], user: Any) -> None:
    make_token("t0ken")
    for _ in range(2):
        principal = check_request(HEADER, "").principal
        assert user.password not in f"{principal!r} {principal.user!r}"


def test_what_was_served_before_is_not_kept_in_memory(make_token: Callable[..., str]) -> None:
    generations = []
    for number in range(3):
        Generation.bump()
        make_token(f"t0ken-{number}")
        generations.append(check_request(f"Bearer t0ken-{number}", "").generation)
    gc.collect()
    held = {found.generation for found in gc.get_objects() if type(found) is registry.Snapshot}
    assert held.intersection(generations) == {generations[-1]}


@pytest.mark.parametrize("where", ["from_db", "__init__"])
def test_a_users_own_code_is_asked_each_time(
    make_token: Callable[..., str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    model = get_user_model()
    banned: list[str] = []
    made = getattr(model, where)

    def from_db(cls: Any, *args: Any) -> Any:
        user = made.__func__(cls, *args)
        user.is_active = user.username not in banned
        return user

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.is_active = self.username not in banned

    make_token("t0ken")
    verdicts.forget()
    monkeypatch.setattr(model, where, classmethod(from_db) if where == "from_db" else __init__)
    assert isinstance(asked(), Checked)
    banned.append("ada")
    assert asked() == "The access token's user is disabled."
    monkeypatch.undo()
    verdicts.forget()


def test_a_token_expires_between_two_requests(make_token: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    make_token("t0ken", expires=timezone.now() + timedelta(hours=1))
    assert isinstance(asked(), Checked)
    later = timezone.now() + timedelta(hours=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert asked() == "The access token has expired."


def test_a_projects_own_word_is_asked_each_time(
    make_token: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [True, True, False]
    monkeypatch.setattr(get_application_model(), "is_usable", lambda self, request: answers.pop(0))
    token_query.forget()
    verdicts.forget()
    make_token("t0ken")
    assert [isinstance(asked(), Checked) for _ in range(3)] == [True, True, False]
    monkeypatch.undo()
    token_query.forget()
    verdicts.forget()
