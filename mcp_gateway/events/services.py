"""Services: objects that modules offer each other by name, one per process."""

from __future__ import annotations

from typing import Any

PREFIX = "system:service:"


def service(name: str) -> Any:
    """The one instance, in this process, of the class behind ``"service": name``.

    Of several listeners the one with the highest priority offers it; wildcards offer nothing. The instance is made
    without arguments at the first use. Another class takes its place when an import says so: costs no statement,
    because the manifests are those that this process last looked at.

    Raises ``LookupError`` where no module offers the service, `mcp_gateway.events.handlers.HandlerNotFound` where
    its class is missing or cannot be instantiated.
    """
    # These need settings and apps, as the package must not.
    from mcp_gateway import registry
    from mcp_gateway.events.handlers import load_instance
    from mcp_gateway.events.status import Origin

    snapshot = registry.latest()
    event = f"{PREFIX}{name}"
    found = snapshot.derived(
        ("service", name),
        lambda: next(
            (entry for entry in snapshot.matching(event, Origin.INTERNAL) if entry.event == event and "*" not in event),
            None,
        ),
    )
    if found is None:
        raise LookupError(
            f'No module offers the service {name!r:.100}. Add {{"service": …, "class": …}} to a manifest and import it.'
        )
    return load_instance(found.module, found.class_name)
