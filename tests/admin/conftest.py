"""What an operator finds: a module with a sound and a refused listener, their tools, and people of several ranks."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client as Browser
from django.urls import reverse

from mcp_gateway.models import Endpoint, ImportRun, Listener, Module, Scope, Tool

OBJECT = '{"type": "object"}'


@pytest.fixture
def module(db: None) -> Module:
    """A module that serves."""
    return Module.objects.create(
        module_id="shop", name="Shop", version="1.2", manifest='{"name": "Shop", "listen": []}'
    )


@pytest.fixture
def listener(module: Module) -> Listener:
    """A sound listener whose right names a scope."""
    return Listener.objects.create(
        module=module,
        event="find-order",
        class_name="\\Shop\\Orders",
        method="onFind",
        origins=["mcp"],
        identity="shop-find",
        right="oauth2:scope orders:read",
        response_schema=OBJECT,
    )


@pytest.fixture
def refused(module: Module) -> Listener:
    """A listener that the import refused."""
    return Listener.objects.create(
        module=module,
        event="lost-order",
        class_name="\\Shop\\Orders",
        method="onLost",
        origins=["remote", "mcp"],
        identity="shop-lost",
        position=1,
        problem="/listen/1/schema/response: the file is missing.",
    )


@pytest.fixture
def scope(db: None) -> Scope:
    """The scope that the listener's right names."""
    return Scope.objects.create(name="orders:read", description="Read your orders")


@pytest.fixture
def tool(listener: Listener, scope: Scope) -> Tool:
    """The tool of the sound listener."""
    return Tool.objects.create(
        name="find-order", listener=listener, title="Find an order", description="By number.", output_schema=OBJECT
    )


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    """The default endpoint."""
    return Endpoint.objects.get(slug="")


@pytest.fixture
def run(db: None) -> ImportRun:
    """An import that changed and refused something."""
    entry = {"module": "shop", "kind": "tool", "name": "find-order", "pointer": "/listen/0", "message": "new"}
    fault = {**entry, "name": "lost-order", "pointer": "/listen/1", "file": "zolinga.json", "message": "No such file."}
    return ImportRun.objects.create(
        outcome=ImportRun.Outcome.APPLIED,
        refused=1,
        started_by="root",
        folders=["modules"],
        plan=json.dumps(
            {"added": [entry], "changed": [], "removed": [], "unchanged": [entry], "refused": [fault], "warnings": []}
        ),
    )


@pytest.fixture
def staff(db: None) -> Callable[..., Browser]:
    """A logged-in browser of a staff member of the ready-made group, with further permissions of the gateway."""

    def log_in(*codenames: str) -> Browser:
        user = User.objects.create_user("operator", is_staff=True)
        user.groups.add(Group.objects.get(name="MCP administrators"))
        user.user_permissions.add(
            *Permission.objects.filter(content_type__app_label="mcp_gateway", codename__in=codenames)
        )
        browser = Browser()
        browser.force_login(user)
        return browser

    return log_in


@pytest.fixture
def page() -> Callable[..., str]:
    """The address of an admin page: ``page("tool")`` is the list, ``page("tool", row)`` that row's."""

    def address(model: str, row: object = None, view: str = "") -> str:
        name = f"admin:mcp_gateway_{model}_{view or ('change' if row is not None else 'changelist')}"
        return reverse(name, args=[row.pk] if row is not None else [])  # type: ignore[attr-defined]

    return address
