"""Every writer takes the generation's row first, so that no two of them can wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import Model
from django.db.models.signals import m2m_changed, pre_delete, pre_save

from mcp_gateway.models import Scope, Tool

pytestmark = [pytest.mark.service("DATABASE_URL"), pytest.mark.django_db(transaction=True)]


def locked_elsewhere() -> bool:
    """Whether another connection would have to wait for the generation's row."""
    other = connection.copy()
    try:
        other.ensure_connection()
        with other.cursor() as cursor:
            cursor.execute("SELECT id FROM mcp_gateway_generation FOR UPDATE NOWAIT")
    except OperationalError:
        return True
    finally:
        other.close()
    return False


def held_at(signal: Any, sender: type[Model], write: Callable[[], object]) -> list[bool]:
    """Whether the row was held each time the signal came before a write."""
    seen: list[bool] = []

    def look(**kwargs: Any) -> None:
        if kwargs.get("action", "pre_").startswith("pre_"):
            seen.append(locked_elsewhere())

    signal.connect(look, sender=sender)
    try:
        write()
    finally:
        signal.disconnect(look, sender=sender)
    return seen


def test_nothing_is_held_between_writes() -> None:
    assert not locked_elsewhere()


def test_a_save_holds_the_row_before_it_writes() -> None:
    tool = Tool.objects.create(name="first")
    assert held_at(pre_save, Tool, tool.save) == [True]


def test_a_save_inside_a_transaction_holds_it_too() -> None:
    tool = Tool.objects.create(name="first")

    def write() -> None:
        with transaction.atomic():
            tool.save()

    assert held_at(pre_save, Tool, write) == [True]


def test_a_deletion_holds_the_row_before_it_deletes() -> None:
    tool = Tool.objects.create(name="first")
    assert held_at(pre_delete, Tool, tool.delete) == [True]


def test_a_many_to_many_change_holds_the_row_before_it_writes() -> None:
    tool = Tool.objects.create(name="first")
    scope = Scope.objects.create(name="a")
    assert held_at(m2m_changed, Tool.required_scopes.through, lambda: tool.required_scopes.add(scope)) == [True]
