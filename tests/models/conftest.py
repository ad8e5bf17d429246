"""Rows to change: one of each kind that the snapshot is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from oauth2_provider.models import get_application_model

from mcp_gateway.models import Client, Endpoint, Generation, Listener, Module, Prompt, Resource, Scope, Tool


@pytest.fixture
def module(db: None) -> Module:
    """A module that serves."""
    return Module.objects.create(module_id="demo", name="Demo")


@pytest.fixture
def listener(module: Module) -> Listener:
    """A sound listener of the tool ``echo``."""
    return Listener.objects.create(
        module=module,
        event="echo",
        class_name="demo.Handler",
        method="on_echo",
        origins=["mcp"],
        identity="demo-echo",
        response_schema='{"type": "object"}',
    )


@pytest.fixture
def tool(listener: Listener) -> Tool:
    """The tool ``echo``."""
    return Tool.objects.create(
        name="echo", listener=listener, title="Echo", description="Says it again.", output_schema='{"type": "object"}'
    )


@pytest.fixture
def resource(module: Module) -> Resource:
    """The resource ``mcp-system:demo:about.md``."""
    return Resource.objects.create(
        uri="mcp-system:demo:about.md", module=module, file="mcp/resources/about.md.meta.json", name="about.md",
        content=b"x", content_digest="x",
    )  # fmt: skip


@pytest.fixture
def prompt(module: Module) -> Prompt:
    """The prompt ``review``."""
    return Prompt.objects.create(
        name="review", module=module, file="mcp/prompts/review.meta.json", content=b"[]", content_digest="x"
    )


@pytest.fixture
def scope(db: None) -> Scope:
    """A scope nothing needs yet."""
    return Scope.objects.create(name="orders:read", description="Read your orders")


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    """The default endpoint."""
    return Endpoint.objects.get(slug="")


@pytest.fixture
def client_row(db: None) -> Client:
    """The side row of one application."""
    application = get_application_model()._default_manager.create(
        name="Agent", client_type="public", authorization_grant_type="authorization-code"
    )
    return Client.objects.create(application=application)


@pytest.fixture
def rises(db: None) -> Callable[[], AbstractContextManager[None]]:
    """A context in which the generation must rise."""

    @contextmanager
    def check() -> Iterator[None]:
        before = Generation.current()
        yield
        assert Generation.current() > before

    return check


@pytest.fixture
def stays(db: None) -> Callable[[], AbstractContextManager[None]]:
    """A context in which the generation must stay as it is."""

    @contextmanager
    def check() -> Iterator[None]:
        before = Generation.current()
        yield
        assert Generation.current() == before

    return check
