"""The scopes an administrator defined, as the toolkit's scopes backend and for one client.

``Scope`` rows are the source; what a project lists in its own ``SCOPES`` stays beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oauth2_provider.scopes import BaseScopes, SettingsScopes, get_scopes_backend

from mcp_gateway import registry
from mcp_gateway.conf import SCOPES_PLACEHOLDER
from mcp_gateway.models import Scope

MANUAL = "manual"


class GatewayScopes(BaseScopes):  # type: ignore[misc]
    """``OAUTH2_PROVIDER["SCOPES_BACKEND_CLASS"]``: the enabled rows, and the project's own scopes."""

    def get_all_scopes(self) -> dict[str, str]:
        """Every scope with its consent text; where both define one, the row's text."""
        rows = {name: scope.description or name for name, scope in registry.snapshot().scopes.items()}
        return {**own_scopes(), **rows}

    def get_available_scopes(
        self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        """What a client may ask for: the project's own scopes, and the rows that `requestable` leaves it."""
        return available(application, request, registry.snapshot())

    def get_default_scopes(self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any) -> list[str]:
        """What a client gets that asks for nothing in particular: as the project says, else the default rows."""
        own = own_scopes()
        if own:
            return list(own_backend().get_default_scopes(application, request, *args, **kwargs))
        return defaults(application, registry.snapshot())


def is_manual(application: Any) -> bool:
    """Whether an administrator made a client, and not the client itself."""
    return bool(getattr(application, "registration_source", MANUAL) == MANUAL)


def own_backend() -> BaseScopes:
    """The project's scopes backend, without the rows."""
    backend = get_scopes_backend()
    return SettingsScopes() if isinstance(backend, GatewayScopes) else backend


def own_scopes() -> Mapping[str, str]:
    """The scopes the project defines itself; none where ``SCOPES`` only holds what the toolkit insists on."""
    scopes: Mapping[str, str] = own_backend().get_all_scopes()
    return {} if scopes == SCOPES_PLACEHOLDER else scopes


def available(application: Any, request: Any, snapshot: registry.Snapshot) -> list[str]:
    """The scopes a client may ask for at our endpoints: its rows, and the project's own that no row disables."""
    may = requestable(application, snapshot)
    rows = [name for name in snapshot.scopes if may is None or name in may]
    if not is_manual(application):
        # What a project guards with its own scopes, nobody meant for clients that nobody knows.
        return rows
    disabled = _disabled(own_scopes())
    own = own_backend().get_available_scopes(application=application, request=request) if own_scopes() else ()
    return list(dict.fromkeys([*rows, *(name for name in own if name not in snapshot.scopes and name not in disabled)]))


def defaults(application: Any, snapshot: registry.Snapshot, slug: str = "") -> list[str]:
    """The scopes of a request that names none: the default rows, else the endpoint's baseline."""
    may = requestable(application, snapshot)

    def allowed(names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if name in snapshot.scopes and (may is None or name in may))

    endpoint = snapshot.endpoints.get(slug)
    return allowed(name for name, scope in snapshot.scopes.items() if scope.is_default) or allowed(
        endpoint.baseline if endpoint else ()
    )


def requestable(application: Any, snapshot: registry.Snapshot) -> frozenset[str] | None:
    """The rows a client may ask for, None for all: what an administrator allowed it, and for a client that
    registered itself only the self-service ones.
    """
    if application is None:
        return None
    client = snapshot.clients.get(application.pk)
    allowed = client.allowed_scopes if client is not None and client.allowed_scopes else None
    if is_manual(application):
        return allowed
    own = self_service(snapshot)
    return own if allowed is None else own & allowed


def self_service(snapshot: registry.Snapshot | None = None) -> frozenset[str]:
    """The rows that a client may ask for which registered itself."""
    rows = (snapshot or registry.snapshot()).scopes
    return frozenset(name for name, scope in rows.items() if scope.self_service)


def still_allowed(
    issued: Iterable[str], requestable: frozenset[str] | None, snapshot: registry.Snapshot
) -> frozenset[str]:
    """Of the scopes a token was issued with, those that its client may still ask for.

    Parameters: the token's scopes; what `requestable` says of the client now. The project's own scopes stay.
    """
    if requestable is None:
        return frozenset(issued)
    return frozenset(name for name in issued if name in requestable or name not in snapshot.scopes)


def _disabled(names: Iterable[str]) -> frozenset[str]:
    names = list(names)
    if not names:
        return frozenset()
    return frozenset(Scope.objects.filter(name__in=names, enabled=False).values_list("name", flat=True))
