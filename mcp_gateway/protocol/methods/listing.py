"""A page of a list: entries in the order of their keys, with the cursor of the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mcp_gateway.conf import gateway_settings
from mcp_gateway.protocol import pagination
from mcp_gateway.protocol.methods.call import Call, cache_fields, members, result_fields


def page(
    call: Call,
    method: str,
    member: str,
    keys: Sequence[str],
    definition: Callable[[str], bytes],
    *,
    after: str | None,
    shared: bool,
    is_told: bool = True,
) -> bytes:
    """The result of a list method.

    Parameters: the keys in order, what makes the JSON of one, the key after which the page begins (None: the first
    page), whether the answer is the same for every caller, and whether its changes are told.
    """
    remaining = keys if after is None else [key for key in keys if key > after]
    shown = remaining[: gateway_settings.page_size]
    fields: dict[str, Any] = {**result_fields(call), **cache_fields(call, same_for_everyone=shared, is_told=is_told)}
    if len(shown) < len(remaining):
        fields["nextCursor"] = pagination.cursor(method, call.endpoint.slug, shown[-1])
    return b'{%b"%b":[%b]}' % (members(fields), member.encode(), b",".join(map(definition, shown)))
