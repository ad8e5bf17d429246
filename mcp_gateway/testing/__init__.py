"""Pytest fixtures for the tests of modules; pytest finds them by itself wherever django-zolinga is installed.

A module's own test is three lines, in ``tests/`` of the module::

    def test_hello_greets_by_name(import_module, mcp_client):
        import_module()
        assert mcp_client.call_tool("hello", {"name": "Ada"}).structured == {"greeting": "Hello, Ada!"}

They need pytest-django and use its ``db``: every test starts from an empty database and leaves nothing in it. Where
plugins are not loaded by themselves (``PYTEST_DISABLE_PLUGIN_AUTOLOAD``), a ``conftest.py`` names this one:
``pytest_plugins = ["mcp_gateway.testing"]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Every run of pytest in the environment loads this file, also those that have nothing to do with Django: what needs
# settings is imported when a test asks for it.
import pytest

if TYPE_CHECKING:
    from mcp_gateway.testing.client import McpClient


@pytest.fixture
def mcp_database(db: None) -> Iterator[None]:
    """The test's database, and no memory of the last test's.

    A rolled-back transaction takes the generation's number back, so two tests could have different rows under one
    number.
    """
    from mcp_gateway import registry

    registry.forget()
    yield
    registry.forget()


@pytest.fixture
def import_module(
    mcp_database: None, request: pytest.FixtureRequest, settings: Any
) -> Callable[..., dict[str, list[dict[str, str]]]]:
    """Import a module's manifest, as ``manage.py import_manifests`` does.

    Called without arguments it imports the module that the test lies in; else the module of that id, or the folder
    of that path. A folder that neither ``MODULE_DIRS`` nor an installed app holds is found for this test alone.
    Gives back the report: ``added``, ``changed``, ``removed``, ``unchanged``, ``refused`` and ``warnings``, as
    ``import_manifests --json`` prints it. The test fails with their text where anything is refused, unless it asks
    for ``refused=True``.
    """
    from mcp_gateway.testing.modules import import_one

    def run(module: str | Path | None = None, *, refused: bool = False) -> dict[str, list[dict[str, str]]]:
        return import_one(module, beside=request.path, settings=settings, refused=refused)

    return run


@pytest.fixture
def mcp_client(mcp_database: None) -> McpClient:
    """An anonymous MCP client of the default endpoint; set its ``token`` to call protected tools."""
    from mcp_gateway.testing.client import McpClient

    return McpClient.of_project()


@pytest.fixture
def mcp_token(mcp_database: None) -> Callable[..., str]:
    """Issue an access token: ``mcp_client.token = mcp_token(user, "mcp:tools orders:read")``.

    Parameters: the user it acts as, its scopes with spaces between (default ``mcp:tools``), and by name ``slug``,
    the endpoint it is good at, and ``expires_in``, in seconds (negative: it has expired).
    """
    from mcp_gateway.testing.tokens import issue_token

    return issue_token
