"""Refresh tokens and codes, used once, twice and at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from mcp_gateway.models import OAuthEvent
from mcp_gateway.oauth.authentication import InvalidToken, check_request
from mcp_gateway.oauth.rotation import FamilyValidator
from mcp_gateway.oauth.validator import REFRESH_TOKEN_IDLE
from tests.oauth.flow import MCP, REDIRECT, Flow


def works(answer: dict[str, Any]) -> bool:
    """Whether an access token opens the endpoint."""
    try:
        return check_request(f"Bearer {answer['access_token']}", "").principal.authenticated
    except InvalidToken:
        return False


def refresh(answer: dict[str, Any], **parameters: Any) -> Any:
    """Use a refresh token, as a program without a session."""
    form = {"grant_type": "refresh_token", "refresh_token": answer["refresh_token"], **parameters}
    return Flow(Client()).token(**form)


def let_grace_pass() -> None:
    """As if every refresh token had been replaced longer ago than the grace."""
    for row in get_refresh_token_model().objects.filter(revoked__isnull=False):
        row.revoked -= timedelta(seconds=61)
        row.save()


def at_once(*requests: Callable[[], Any]) -> list[Any]:
    """What requests are answered that run in threads of their own, with connections of their own."""
    answers: list[Any] = [None] * len(requests)

    def run(number: int) -> None:
        try:
            answers[number] = requests[number]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


@pytest.fixture
def meet_before_saving(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let so many requests find that they may, before the first of them stores anything."""

    def meet(count: int) -> None:
        barrier = threading.Barrier(count)
        save = FamilyValidator.save_bearer_token

        def wait_and_save(self: Any, *args: Any, **kwargs: Any) -> None:
            barrier.wait(60)
            save(self, *args, **kwargs)

        monkeypatch.setattr(FamilyValidator, "save_bearer_token", wait_and_save)

    return meet


# One after the other


def test_a_second_use_within_the_grace_gets_tokens_of_its_own(flow: Flow) -> None:
    first = flow.token(code=flow.code()).json()
    one, other = refresh(first).json(), refresh(first).json()
    assert one["refresh_token"] != other["refresh_token"]
    assert (works(first), works(one), works(other)) == (False, True, True)
    assert (one["scope"], one["expires_in"]) == (other["scope"], other["expires_in"]) == ("mcp:tools", 900)
    assert works(refresh(one).json())
    assert works(refresh(other).json())


def test_a_use_after_the_grace_ends_the_family(flow: Flow) -> None:
    first = flow.token(code=flow.code()).json()
    one, other = refresh(first).json(), refresh(first).json()
    let_grace_pass()
    replay = refresh(first)
    assert (replay.status_code, replay.json()["error"]) == (400, "invalid_grant")
    assert (works(one), works(other)) == (False, False)
    for answer in (one, other):
        assert refresh(answer).json()["error"] == "invalid_grant"


def test_a_use_after_its_successor_was_used_too_ends_the_family(flow: Flow) -> None:
    """Whoever has the successor has heard the answer; this is somebody else."""
    first = flow.token(code=flow.code()).json()
    latest = refresh(refresh(first).json()).json()
    assert refresh(first).json()["error"] == "invalid_grant"
    assert not works(latest)


def test_without_a_grace_the_second_use_ends_the_family(flow: Flow, settings: Any) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "REFRESH_GRACE_SECONDS": 0}
    first = flow.token(code=flow.code()).json()
    one = refresh(first).json()
    assert refresh(first).json()["error"] == "invalid_grant"
    assert not works(one)


def test_other_families_live_on(flow: Flow) -> None:
    first, second = flow.token(code=flow.code()).json(), flow.token(code=flow.code()).json()
    refresh(first)
    let_grace_pass()
    refresh(first)
    assert works(second)


def test_a_refresh_token_of_another_client_is_none_and_ends_nothing(flow: Flow) -> None:
    get_application_model().objects.create(
        client_id="other", client_type="public", authorization_grant_type="authorization-code", redirect_uris=REDIRECT
    )
    first = flow.token(code=flow.code()).json()
    assert refresh(first, client_id="other").json()["error"] == "invalid_grant"
    assert works(refresh(first).json())


def test_a_refresh_token_that_lay_unused_for_a_month_is_none(flow: Flow) -> None:
    first = flow.token(code=flow.code()).json()
    get_access_token_model().objects.update(expires=timezone.now() - REFRESH_TOKEN_IDLE)
    assert refresh(first).json()["error"] == "invalid_grant"


def test_a_projects_own_idle_time_counts(flow: Flow, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "REFRESH_TOKEN_EXPIRE_SECONDS": 365 * 24 * 3600}
    first = flow.token(code=flow.code()).json()
    get_access_token_model().objects.update(expires=timezone.now() - REFRESH_TOKEN_IDLE)
    assert works(refresh(first).json())


def test_refresh_tokens_rotate_whatever_the_project_does_for_others(flow: Flow, settings: Any) -> None:
    settings.OAUTH2_PROVIDER = {**settings.OAUTH2_PROVIDER, "ROTATE_REFRESH_TOKEN": False}
    first = flow.token(code=flow.code()).json()
    assert refresh(first).json()["refresh_token"] != first["refresh_token"]


def test_a_code_that_comes_again_ends_what_was_issued_from_it(flow: Flow) -> None:
    code, other = flow.code(), flow.token(code=flow.code()).json()
    latest = refresh(flow.token(code=code).json()).json()
    assert works(latest)
    again = flow.token(code=code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert (works(latest), works(other)) == (False, True)
    assert refresh(latest).json()["error"] == "invalid_grant"


def test_a_code_that_another_client_shows_ends_nothing(flow: Flow) -> None:
    get_application_model().objects.create(
        client_id="other", client_type="public", authorization_grant_type="authorization-code", redirect_uris=REDIRECT
    )
    code = flow.code()
    first = flow.token(code=code).json()
    assert flow.token(code=code, client_id="other").json()["error"] == "invalid_grant"
    assert works(first)


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
@pytest.mark.parametrize("hint", ["access_token", "refresh_token", None])
def test_what_a_client_revokes_takes_all_of_the_same_consent_along(flow: Flow, kind: str, hint: str | None) -> None:
    first, other = flow.token(code=flow.code()).json(), flow.token(code=flow.code()).json()
    one, two = refresh(first).json(), refresh(first).json()
    form = {"token": one[kind], "client_id": "robot", **({"token_type_hint": hint} if hint else {})}
    assert Client().post("/oauth/revoke_token/", form).status_code == 200
    assert (works(one), works(two), works(other)) == (False, False, True)
    for answer in (first, one, two):
        assert refresh(answer).json()["error"] == "invalid_grant"


def test_nothing_of_a_token_or_code_is_stored_in_plain_text(flow: Flow) -> None:
    code = flow.code()
    answer = refresh(flow.token(code=code).json()).json()
    assert works(answer)
    secrets = {code, answer["access_token"], answer["refresh_token"]}
    for model in (get_access_token_model(), get_refresh_token_model(), get_grant_model()):
        for row in model.objects.values():
            assert not secrets & {str(value) for value in row.values()}


def test_the_audit_trail_tells_of_tokens_and_never_holds_one(flow: Flow) -> None:
    code = flow.code()
    first = flow.token(code=code).json()
    second = refresh(first).json()
    let_grace_pass()
    refresh(first)
    refresh(first)
    third = flow.token(code=flow.code()).json()
    Client().post("/oauth/revoke_token/", {"token": third["access_token"], "client_id": "robot"})
    told = [
        event for event in OAuthEvent.objects.order_by("pk") if event.kind.startswith(("token", "reuse", "revoked"))
    ]
    assert [event.kind for event in told] == [
        "token_issued",
        "token_refreshed",
        "reuse_detected",
        "token_issued",
        "revoked",
    ]
    assert {(event.client_id, event.address) for event in told} == {("robot", "127.0.0.1")}
    assert (told[1].user, told[1].scopes, told[1].resource) == ("ada", "mcp:tools", MCP)
    secrets = [code, *(answer[kind] for answer in (first, second, third) for kind in ("access_token", "refresh_token"))]
    for row in OAuthEvent.objects.values():
        assert not [secret for secret in secrets if any(secret in str(value) for value in row.values())]


# At the same moment


@pytest.mark.django_db(transaction=True)
def test_two_windows_that_refresh_at_the_same_moment_both_go_on(
    flow: Flow, meet_before_saving: Callable[[int], None]
) -> None:
    first = flow.token(code=flow.code()).json()
    meet_before_saving(2)
    answers = at_once(*[lambda: refresh(first)] * 2)
    assert [answer.status_code for answer in answers] == [200, 200]
    one, other = (answer.json() for answer in answers)
    assert (works(one), works(other)) == (True, True)
    assert len({row.token_family for row in get_refresh_token_model().objects.all()}) == 1

    let_grace_pass()
    assert refresh(first).json()["error"] == "invalid_grant"
    assert (works(one), works(other)) == (False, False)


@pytest.mark.django_db(transaction=True)
def test_many_windows_that_refresh_at_once_all_go_on(flow: Flow) -> None:
    first = flow.token(code=flow.code()).json()
    answers = at_once(*[lambda: refresh(first)] * 8)
    assert [answer.status_code for answer in answers] == [200] * 8
    assert all(works(answer.json()) for answer in answers)


@pytest.mark.django_db(transaction=True)
def test_without_a_grace_two_at_the_same_moment_end_the_family(
    flow: Flow, settings: Any, meet_before_saving: Callable[[int], None]
) -> None:
    settings.ZOLINGA = {**settings.ZOLINGA, "REFRESH_GRACE_SECONDS": 0}
    first = flow.token(code=flow.code()).json()
    meet_before_saving(2)
    answers = at_once(*[lambda: refresh(first)] * 2)
    assert {answer.status_code for answer in answers} in ({200, 400}, {400})
    for answer in answers:
        assert answer["Content-Type"] == "application/json"
        assert answer["Cache-Control"] == "no-store"
        assert not answer.json().get("access_token") or not works(answer.json())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("meet", [True, False])
def test_a_code_used_twice_at_the_same_moment_is_good_for_nothing(
    flow: Flow, meet_before_saving: Callable[[int], None], meet: bool
) -> None:
    code = flow.code()
    count = 2 if meet else 6
    if meet:
        meet_before_saving(count)
    answers = at_once(*[lambda: Flow(Client()).token(code=code)] * count)
    # Even the first is told no, if another was faster to show the code than its own answer to leave.
    assert sum(answer.status_code == 200 for answer in answers) <= 1
    assert {answer.status_code for answer in answers} <= {200, 400}
    assert not any(works(answer.json()) for answer in answers if answer.status_code == 200)
    assert not get_access_token_model().objects.exists()
    assert not get_refresh_token_model().objects.filter(revoked__isnull=True).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("uses_before", [0, 1])
def test_no_refresh_escapes_a_revocation_at_the_same_moment(
    flow: Flow, monkeypatch: pytest.MonkeyPatch, uses_before: int
) -> None:
    """The refresh has found that it may; then the token is revoked; then it stores, or the other way round."""
    first = flow.token(code=flow.code()).json()
    held = [first, *(refresh(first).json() for _ in range(uses_before))]
    form = {"token": held[-1]["refresh_token"], "client_id": "robot"}
    barrier = threading.Barrier(2)
    save = FamilyValidator.save_bearer_token

    def wait_and_save(self: Any, *args: Any, **kwargs: Any) -> None:
        barrier.wait(60)
        save(self, *args, **kwargs)

    def wait_and_revoke() -> Any:
        barrier.wait(60)
        return Client().post("/oauth/revoke_token/", form)

    monkeypatch.setattr(FamilyValidator, "save_bearer_token", wait_and_save)
    answer, revoked = at_once(lambda: refresh(first), wait_and_revoke)
    assert revoked.status_code == 200
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        held.append(answer.json())
    assert not any(works(entry) for entry in held)
