"""Fixtures for tests that speak MCP: import them in a room's conftest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import demo as demo_tools
from tests.demo import Demo
from tests.wire import Wire


@pytest.fixture
def demo(db: None, settings: Any, write_module: Callable[..., Path]) -> Demo:
    """The demo tools, with nothing called yet."""
    write_module({})
    settings.ZOLINGA = {**settings.ZOLINGA, "HANDLER_PACKAGES": ["tests"]}
    return demo_tools.make()


@pytest.fixture
def wire(demo: Demo) -> Wire:
    """An anonymous client of the default endpoint, beside the demo tools."""
    return Wire()


@pytest.fixture(params=["modern", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    """Runs a test once in each era."""
    return str(request.param)
