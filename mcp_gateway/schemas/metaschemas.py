"""The meta-schemas of the dialects, as the packages of JSON Schema's own authors have them.

Whoever reads manifests needs them, and of those that serve only the rare schema that refers to one. They are loaded at
first use, because that takes longer than all the rest of this package.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def meta_schemas() -> dict[str, Any]:
    """Every meta-schema and vocabulary, by URI without a fragment."""
    from jsonschema_specifications import REGISTRY

    return {uri: REGISTRY[uri].contents for uri in REGISTRY}
