"""What modules are configured with: the ``config`` of every manifest, and over it the site's ``ZOLINGA["CONFIG"]``.

It is one tree, as in the original: a module names its part (``"config": {"mailer": {"retries": 3}}``), another
module may add to it, and the site has the last word::

    from mcp_gateway.manifest.config import config

    retries = config("mailer", "retries")
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from django.db import router

from mcp_gateway.conf import gateway_settings
from mcp_gateway.manifest.dependencies import in_dependency_order
from mcp_gateway.manifest.discovery import same_id
from mcp_gateway.manifest.document import without_comments
from mcp_gateway.models import Module
from mcp_gateway.registry import snapshot


def config(*path: str, default: Any = None) -> Any:
    """The whole tree, or what stands at a path of names in it; ``default`` where nothing does.

    The value is the caller's own copy. The tree is put together once per generation: an import changes it in
    every process, one statement tells whether there was one.
    """
    value: Any = _tree()
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return default
        value = value[name]
    return copy.deepcopy(value)


def module_config(module_id: str) -> dict[str, Any]:
    """The part of the tree whose names the module's own manifest gives in ``config``.

    Raises ``LookupError`` for a module that was not imported.
    """
    tree = _tree()
    for known, own in _manifests().items():
        if same_id(known) == same_id(module_id):
            return {name: copy.deepcopy(tree[name]) for name in own.config if name in tree}
    raise LookupError(f"There is no module {module_id!r}. Import its manifest, or mend the name.")


def merge(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two trees as one: objects are merged name by name; anything else, lists too, is replaced as a whole."""
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        merged[name] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


class _Manifest:
    """What of a stored manifest counts here."""

    def __init__(self, text: str) -> None:
        whole = without_comments(json.loads(text or "{}"))
        own, dependencies = whole.get("config"), whole.get("dependencies")
        self.config: dict[str, Any] = own if isinstance(own, dict) else {}
        self.dependencies = [
            name.partition("@")[0]
            for name in (dependencies if isinstance(dependencies, list) else ())
            if isinstance(name, str)
        ]


def _manifests() -> dict[str, _Manifest]:
    return snapshot().derived("manifests' config", _read)


def _read() -> dict[str, _Manifest]:
    rows = Module.objects.using(router.db_for_write(Module)).filter(present=True)
    read = {module_id: _Manifest(text) for module_id, text in rows.values_list("module_id", "manifest")}
    order, _circles = in_dependency_order({module_id: manifest.dependencies for module_id, manifest in read.items()})
    return {module_id: read[module_id] for module_id in order}


def _tree() -> dict[str, Any]:
    manifests = _manifests()
    site = gateway_settings.config
    cache: dict[int, tuple[Any, dict[str, Any]]] = snapshot().derived("config", dict)
    held = cache.get(0)
    if held is None or held[0] is not site:
        tree: dict[str, Any] = {}
        for manifest in manifests.values():
            tree = merge(tree, manifest.config)
        held = cache[0] = (site, merge(tree, site))
    return held[1]
