"""Pages of one row: an address that can be no row's is not found."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404


class RowPage:
    """Mixin before a page of the toolkit, which fails where the address holds what is no primary key."""

    def get_object(self, queryset: Any = None) -> Any:
        """The row, or 404."""
        try:
            return super().get_object(queryset)  # type: ignore[misc]
        except (ValueError, ValidationError):
            raise Http404 from None
