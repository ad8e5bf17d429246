"""``ZOLINGA["MAX_CONCURRENT_CALLS"]``: numbers above 0 by the names of tools, ``*`` for each other tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ImproperlyConfigured


def limits(value: Any) -> Mapping[str, int]:
    """The setting's value. Raises ``ImproperlyConfigured`` for anything else."""
    if not isinstance(value, dict) or not all(
        isinstance(name, str) and isinstance(limit, int) and not isinstance(limit, bool) and limit > 0
        for name, limit in value.items()
    ):
        raise ImproperlyConfigured(
            f'ZOLINGA["MAX_CONCURRENT_CALLS"] is {value!r}: write numbers above 0 by the names of tools, for '
            'example {"slow_report": 4, "*": 12}.'
        )
    return value
