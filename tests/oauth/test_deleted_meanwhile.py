"""Clients and users that are deleted while a request of theirs is answered: refused, and no server error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from oauth2_provider.models import get_access_token_model, get_application_model, get_grant_model

from tests.oauth.flow import Flow

pytestmark = pytest.mark.django_db(transaction=True)


def the_client() -> None:
    get_application_model().objects.all().delete()


def the_user() -> None:
    get_user_model().objects.all().delete()


@contextmanager
def deleted_before(statement: str, delete: Callable[[], None]) -> Iterator[None]:
    """Delete it when the first such statement is about to run."""
    left = [delete]

    def run(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if left and sql.startswith(statement):
            left.pop()()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(run):
        yield
    assert not left


def inserting(model: Any) -> str:
    return f'INSERT INTO "{model._meta.db_table}"'


@pytest.mark.parametrize("delete", [the_client, the_user])
def test_an_answer_to_the_consent_page(flow: Flow, delete: Callable[[], None]) -> None:
    page = flow.open()
    with deleted_before(inserting(get_grant_model()), delete):
        answer = flow.press(page, "Allow")
    assert answer.status_code == 400
    assert "was deleted meanwhile" in answer.content.decode()


@pytest.mark.parametrize("delete", [the_client, the_user])
@pytest.mark.parametrize("refreshed", [False, True])
def test_a_code_and_a_refresh_token(flow: Flow, delete: Callable[[], None], refreshed: bool) -> None:
    sent: dict[str, Any] = {"code": flow.code()}
    if refreshed:
        token = flow.token(**sent).json()["refresh_token"]
        sent = {"grant_type": "refresh_token", "refresh_token": token, "redirect_uri": None, "code_verifier": None}
    with deleted_before(inserting(get_access_token_model()), delete):
        answer = flow.token(**sent)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
