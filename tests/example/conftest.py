"""The wire's fixtures."""

from tests.wire_fixtures import era

__all__ = ["era"]
