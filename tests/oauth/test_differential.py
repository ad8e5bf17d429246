"""Our check and the toolkit's ``validate_bearer_token`` come to one verdict, but where we are stricter on purpose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone
from oauth2_provider.models import get_access_token_model, get_application_model
from oauth2_provider.oauth2_backends import get_oauthlib_core

from mcp_gateway.models import Client
from mcp_gateway.oauth import personal, token_query
from mcp_gateway.oauth.authentication import Checked, InvalidToken, check_request
from tests.oauth.flow import MCP


def ours(header: str) -> Checked | None:
    try:
        return check_request(header, "")
    except InvalidToken:
        return None


def toolkits(header: str) -> Any:
    request = RequestFactory().post("/mcp", HTTP_AUTHORIZATION=header)
    valid, verified = get_oauthlib_core().verify_request(request, scopes=[])
    return verified if valid else None


@pytest.mark.parametrize("hashed", [True, False])
@pytest.mark.parametrize("usable", [True, False])
def test_verdicts_agree(
    make_token: Callable[..., str],
    user: Any,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    hashed: bool,
    usable: bool,
) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": hashed}
    monkeypatch.setattr(get_application_model(), "is_usable", lambda self, request: usable)
    token_query.forget()
    now = timezone.now()
    made, nobodys = [], set()
    choices = product(
        (now + timedelta(hours=1), now + timedelta(milliseconds=-1), now - timedelta(days=400)),
        ([MCP], ["https://other.example/mcp"], ["https://other.example/x", MCP], ["urn:x"]),
        (True, False),
        ("mcp:tools", "", "a b  c"),
        (True, False),
    )
    for number, (expires, resource, has_user, scope, has_application) in enumerate(choices):
        fields: dict[str, Any] = {"expires": expires, "resource": resource, "scope": scope}
        if not has_user:
            fields["user"] = None
            nobodys.add(f"token{number}")
        if not has_application:
            fields["application"] = None
        made.append(make_token(f"token{number}", **fields))
    get_access_token_model().objects.get(token_checksum=_checksum(made[0])).revoke()
    stored = set(get_access_token_model().objects.values_list("token", flat=True))
    assert (stored == {""}) is hashed

    accepted = 0
    for text in made:
        mine, theirs = ours(f"Bearer {text}"), toolkits(f"Bearer {text}")
        if text in nobodys:
            # The toolkit lets a client act as nobody; here it has a service user.
            assert mine is None
            continue
        assert (mine is None) == (theirs is None), text
        if mine is not None:
            accepted += 1
            assert mine.principal.user == theirs.user
            assert mine.principal.application_id == getattr(theirs.client, "pk", None)
            assert mine.principal.scopes == set(theirs.access_token.scope.split())
    assert 0 < accepted < len(made)
    monkeypatch.undo()
    token_query.forget()


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_we_refuse_what_the_toolkit_lets_through(make_token: Callable[..., str], user: Any, application: Any) -> None:
    """Disabled users and clients, tokens without an audience, and an audience that is only a prefix."""
    made = {
        "no audience": make_token("a", resource=[]),
        "prefix": make_token("b", resource=["http://testserver/"]),
        "fine": make_token("c"),
    }
    verdicts = {name: (bool(ours(f"Bearer {text}")), bool(toolkits(f"Bearer {text}"))) for name, text in made.items()}
    assert verdicts == {"no audience": (False, True), "prefix": (False, True), "fine": (True, True)}

    Client.objects.create(application=application, enabled=False)
    assert (ours("Bearer c"), bool(toolkits("Bearer c"))) == (None, True)
    Client.objects.all().delete()
    user.is_active = False
    user.save()
    assert (ours("Bearer c"), bool(toolkits("Bearer c"))) == (None, True)


def test_verdicts_on_personal_tokens_agree(user: Any) -> None:
    token, text = personal.make(user=user, name="Editor", slug="", scopes=["mcp:tools"], days=7, made_by=user, meta={})
    mine, theirs = ours(f"Bearer {text}"), toolkits(f"Bearer {text}")
    assert mine is not None
    assert (mine.principal.user, mine.principal.application_id) == (theirs.user, theirs.client.pk)
    assert mine.principal.scopes == set(theirs.access_token.scope.split())
    get_access_token_model().objects.update(expires=timezone.now())
    assert (ours(f"Bearer {text}"), toolkits(f"Bearer {text}")) == (None, None)
    get_access_token_model().objects.update(expires=timezone.now() + timedelta(days=1))
    token.delete()
    assert (ours(f"Bearer {text}"), toolkits(f"Bearer {text}")) == (None, None)
