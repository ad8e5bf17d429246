"""The wire's fixtures."""

from tests.wire_fixtures import demo, era, wire

__all__ = ["demo", "era", "wire"]
