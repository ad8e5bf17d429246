"""What a client can be asked for: the capabilities it declares, and the names that manifests give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Names of capabilities: a part of one has a dot in it.
ELICITATION = "elicitation"
FORM = "elicitation.form"
URL = "elicitation.url"
SAMPLING = "sampling"
SAMPLING_TOOLS = "sampling.tools"
SAMPLING_CONTEXT = "sampling.context"
ROOTS = "roots"

KNOWN = frozenset({ELICITATION, FORM, URL, SAMPLING, SAMPLING_TOOLS, SAMPLING_CONTEXT, ROOTS})


def declares(capabilities: Mapping[str, Any], name: str) -> bool:
    """Whether a ``ClientCapabilities`` object declares the capability of that name.

    An ``elicitation`` without modes means forms (Elicitation, “Capabilities”).
    """
    head, _dot, part = name.partition(".")
    declared = capabilities.get(head)
    if not isinstance(declared, Mapping):
        return False
    if name == FORM:
        return "form" in declared or "url" not in declared
    return not part or isinstance(declared.get(part), Mapping)


def required(names: Iterable[str]) -> dict[str, Any]:
    """The ``ClientCapabilities`` object that declares all of those names."""
    wanted: dict[str, Any] = {}
    for name in names:
        head, _dot, part = name.partition(".")
        inner = wanted.setdefault(head, {})
        if part:
            inner[part] = {}
    return wanted
