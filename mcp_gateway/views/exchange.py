"""One request to an MCP endpoint, as far as it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_gateway.views import admission

if TYPE_CHECKING:
    from django.http import HttpRequest

    from mcp_gateway.protocol.jsonrpc import RequestId
    from mcp_gateway.protocol.sessions import Session
    from mcp_gateway.registry import EndpointEntry, Snapshot
    from mcp_gateway.rights import Principal


@dataclass(slots=True)
class Exchange:
    """What is known of a request is written here as soon as it is, so that an error can be answered at any point."""

    request: HttpRequest
    slug: str
    accepted: admission.Accepted = admission.ONLY_JSON
    id: RequestId | None = None
    modern: bool = True
    session: Session | None = None
    principal: Principal | None = None
    snapshot: Snapshot | None = None
    endpoint: EndpointEntry | None = None

    def known(self) -> tuple[Snapshot, EndpointEntry, Principal]:
        """What is served, where, and to whom, once the caller has entered."""
        if self.snapshot is None or self.endpoint is None or self.principal is None:
            raise RuntimeError("a method was called before the caller entered")
        return self.snapshot, self.endpoint, self.principal
