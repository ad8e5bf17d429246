"""The site's fixtures."""

from tests.site.conftest import site

__all__ = ["site"]
