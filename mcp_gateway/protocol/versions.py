"""The versions of the protocol that are served, and which of them knows which field."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

MODERN = "2026-07-28"

# Newest first.
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")
SUPPORTED = (MODERN, *LEGACY)

# Streamable HTTP, “Protocol Version Header”: a request that names no version is from before there was a header.
ASSUMED = "2025-03-26"

# Field or content type: first and last version that has it. A version's name is its date, so names compare.
_FIELDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "BaseMetadata.title": ("2025-06-18", MODERN),
        "Icons.icons": ("2025-11-25", MODERN),
        "Resource._meta": ("2025-06-18", MODERN),
        "Implementation.title": ("2025-06-18", MODERN),
        "Tool.title": ("2025-06-18", MODERN),
        "Tool.outputSchema": ("2025-06-18", MODERN),
        "Tool.annotations": ("2025-03-26", MODERN),
        "Tool.icons": ("2025-11-25", MODERN),
        "Tool._meta": ("2025-06-18", MODERN),
        "Annotations.lastModified": ("2025-06-18", MODERN),
        "ContentBlock._meta": ("2025-06-18", MODERN),
        "ContentBlock.audio": ("2025-03-26", MODERN),
        "ContentBlock.image": ("2025-03-26", MODERN),
        "ContentBlock.resource": ("2025-03-26", MODERN),
        "ContentBlock.resource_link": ("2025-06-18", MODERN),
        "ContentBlock.text": ("2025-03-26", MODERN),
        "ResourceContents._meta": ("2025-06-18", MODERN),
        "ResourceLink.icons": ("2025-11-25", MODERN),
        "CallToolResult.structuredContent": ("2025-06-18", MODERN),
        "ElicitRequest": ("2025-06-18", MODERN),
        "ElicitRequest.mode": ("2025-11-25", MODERN),
        "ElicitRequest.elicitationId": ("2025-11-25", "2025-11-25"),
        "ElicitRequest.defaults": ("2025-11-25", MODERN),
        "ElicitRequest.multiSelect": ("2025-11-25", MODERN),
        "ElicitRequest.titledOptions": ("2025-11-25", MODERN),
        "SamplingMessage.contents": ("2025-11-25", MODERN),
        "Result.resultType": (MODERN, MODERN),
        "Result._meta.serverInfo": (MODERN, MODERN),
        "CacheableResult.ttlMs": (MODERN, MODERN),
        "CacheableResult.cacheScope": (MODERN, MODERN),
    }
)


def has(field: str, version: str) -> bool:
    """Whether a version has a field (``Tool.icons``) of the table."""
    first, last = _FIELDS[field]
    return first <= version <= last
